package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proves: F9
func TestF9_ThePageOfClassesIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(written), "\n"), strings.Split(string(page()), "\n")); diff != "" {
		t.Errorf("docs/classes.md is out of date; run `make docs` (-page +code):\n%s", diff)
	}
}
