// Command classes writes docs/classes.md: what is known of each class, and which
// codes say which. The page is made of the code that decides.
package main

import (
	"fmt"
	"os"
)

//go:generate go run .

// target is the page, from this folder, where go generate runs.
const target = "../../docs/classes.md"

func main() {
	if err := os.WriteFile(target, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
