package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Go block of a page that begins with a package clause is a whole file: it compiles when a
// reader pastes it.
func TestGoFilesOfThePagesCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short, because this test compiles programs")
	}
	t.Parallel()
	block := regexp.MustCompile("(?s)```go\n(package .*?)```")
	found := 0
	for _, page := range append([]string{"../README.md"}, pages...) {
		for i, match := range block.FindAllStringSubmatch(read(t, page), -1) {
			found++
			name := fmt.Sprintf("block%d.go", i)
			if regexp.MustCompile(`^package \w+_test\n`).MatchString(match[1]) {
				name = fmt.Sprintf("block%d_test.go", i)
			}
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(match[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: gofmt would change the Go file number %d of the page, or fails: %v %s", page, i+1, err, out)
			}
			if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("%s: the Go file number %d of the page does not compile: %v\n%s", page, i+1, err, strings.ReplaceAll(string(out), file, name))
			}
		}
	}
	if found < 2 {
		t.Errorf("the pages have %d whole Go files, want at least 2: the program of README.md and the test of postgres.md", found)
	}
}
