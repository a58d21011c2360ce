// Command classes writes docs/classes.md, the reference of all classes and of the codes
// that lead to them. It reads the data from the classifier.
package main

import (
	"fmt"
	"os"
)

//go:generate go run .

// target is the path of the page, relative to this directory: go generate runs the command
// here.
const target = "../../docs/classes.md"

func main() {
	if err := os.WriteFile(target, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
