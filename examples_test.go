package redrive_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every package that users can import, also of the modules for SDKs, has an example in its
// documentation.
func TestAPI_EveryPublicPackageHasAnExample(t *testing.T) {
	t.Parallel()
	clause, example := regexp.MustCompile(`(?m)^package (\w+)$`), regexp.MustCompile(`(?m)^func Example\w*\(\) \{$`)
	public, shown := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, folder := d.Name(), filepath.ToSlash(filepath.Dir(file))
		if d.IsDir() {
			if name == "testdata" || file != "." && strings.HasPrefix(name, ".") || !isPublic(path.Join(module, filepath.ToSlash(file))) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") {
			shown[folder] = shown[folder] || example.Match(text)
		} else if m := clause.FindSubmatch(text); m != nil && string(m[1]) != "main" {
			public[folder] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !public["."] || !public["retry/sdk/aws"] {
		t.Fatalf("the public packages are %v, want the root and retry/sdk/aws among them", public)
	}
	for folder := range public {
		if !shown[folder] {
			t.Errorf("package %s has no example; write a function Example… in %s/example_test.go", folder, folder)
		}
	}
}
