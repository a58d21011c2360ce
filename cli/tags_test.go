package cli_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The JSON shapes that the command prints are types of internal/wire, which the HTTP API uses,
// too. So package cli has no struct tag for JSON.
func TestCLI_HasNoTagForJSON(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files (%v)", len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`) {
				t.Errorf("%s: this field has the tag %s; move its type to internal/wire", set.Position(field.Pos()), field.Tag.Value)
			}
			return true
		})
	}
}
