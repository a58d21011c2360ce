// Command openapi writes internal/api/openapi.yaml, the document of the HTTP API.
package main

//go:generate go run .

import (
	"fmt"
	"os"

	"github.com/redrive/redrive/internal/apidoc"
)

func main() {
	text, err := apidoc.Document("../..")
	if err == nil {
		err = os.WriteFile("../../internal/api/openapi.yaml", text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
