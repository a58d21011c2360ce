package redrive_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Failure records are made in package job and in internal/decide only, so that a policy decides
// about each failure. Other files may only read stored records.
func TestFailuresAreMadeByJobAndDecide(t *testing.T) {
	t.Parallel()
	makers := []string{"job", "internal/decide", "store/storetest"} // the package storetest is used by tests only
	decoders := []string{"internal/sqlstore/read.go"}               // this file decodes rows of the database
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || path != "." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		name := filepath.ToSlash(path)
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(makers, filepath.ToSlash(filepath.Dir(path))) {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range failuresMade(file) {
			if slices.Contains(decoders, name) {
				used[name] = true
				continue
			}
			t.Errorf("%s: this code makes a job.Failure; only package job and internal/decide may make one", set.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range decoders {
		if !used[name] {
			t.Errorf("%s makes no job.Failure any more; remove it from the list decoders", name)
		}
	}
}

func TestFailuresMadeAreFound(t *testing.T) {
	t.Parallel()
	const head = "package p\nimport (\n j \"" + module + "/job\"\n)\n"
	for source, want := range map[string]int{
		"var f = j.Failure{Class: \"X\"}":                           1,
		"var f = &j.Failure{}":                                      1,
		"var f = new(j.Failure)":                                    1,
		"var f = []j.Failure{{Class: \"X\"}, {}}":                   2,
		"var f = map[int]*j.Failure{1: {Class: \"X\"}}":             1,
		"func g(f j.Failure) []j.Failure { return []j.Failure{f} }": 0,
		"var o = j.Outcome{Failure: nil}":                           0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", head+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(failuresMade(file)); got != want {
			t.Errorf("%s: found %d expressions that make a failure, want %d", source, got, want)
		}
	}
}

// failuresMade returns where a file makes a value of type job.Failure.
func failuresMade(file *ast.File) (found []token.Pos) {
	name := ""
	for _, i := range file.Imports {
		if i.Path.Value == `"`+module+`/job"` {
			if name = "job"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	isFailure := func(e ast.Expr) bool {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		s, ok := e.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Failure" {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == name
	}
	// elements returns the elements of a slice or map of failures that are written without their
	// type.
	elements := func(l *ast.CompositeLit) {
		for _, e := range l.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
			if inner, ok := e.(*ast.CompositeLit); ok && inner.Type == nil {
				found = append(found, inner.Pos())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			switch of := n.Type.(type) {
			case *ast.ArrayType:
				if isFailure(of.Elt) {
					elements(n)
				}
			case *ast.MapType:
				if isFailure(of.Value) {
					elements(n)
				}
			case ast.Expr:
				if isFailure(of) {
					found = append(found, n.Pos())
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "new" && len(n.Args) == 1 && isFailure(n.Args[0]) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}
