package policyfile_test

import (
	"fmt"

	"github.com/redrive/redrive/policy/policyfile"
)

// Parse reports all mistakes of a file at once, each with its line and column.
func ExampleParse() {
	_, err := policyfile.Parse("policy.yaml", []byte("version: 1\nname: shop\nclasses:\n  NetworkTimeout: {max_retires: 3}\n"))
	fmt.Println(err)
	// Output:
	// policy.yaml:4:20: unknown key "max_retires", did you mean "max_retries"?
}
