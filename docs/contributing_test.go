package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	rowsOfName = regexp.MustCompile(`^Test((?:[A-Z][0-9]+_)+)`)
	rowsOfTag  = regexp.MustCompile(`(?m)^(proves|part of): ([A-Z][0-9]+(?:, [A-Z][0-9]+)*)$`)
)

// tagFaults compares the requirement numbers in the name of a test with those in its
// comment, and returns the differences.
func tagFaults(name, doc string) (faults []string) {
	var named, proved, tagged []string
	if m := rowsOfName.FindStringSubmatch(name); m != nil {
		named = strings.Split(strings.TrimSuffix(m[1], "_"), "_")
	}
	for _, m := range rowsOfTag.FindAllStringSubmatch(doc, -1) {
		rows := strings.Split(m[2], ", ")
		tagged = append(tagged, rows...)
		if m[1] == "proves" {
			proved = append(proved, rows...)
		}
	}
	for _, row := range named {
		if !slices.Contains(tagged, row) {
			faults = append(faults, "the name contains requirement "+row+", but the comment does not")
		}
	}
	if len(proved) > 0 && !slices.ContainsFunc(named, func(row string) bool { return slices.Contains(proved, row) }) {
		faults = append(faults, "the comment says that the test proves "+strings.Join(proved, ", ")+", but the name contains none of these")
	}
	return faults
}

// The name of a test and its comment name the same requirements, so that a search for a
// requirement finds both.
func TestContributing_TestsAreNamedAfterTheirRows(t *testing.T) {
	t.Parallel()
	rows := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			if rowsOfName.MatchString(f.Name.Name) {
				rows++
			}
			for _, fault := range tagFaults(f.Name.Name, f.Doc.Text()) {
				t.Errorf("%s: test %s: %s", path, f.Name.Name, fault)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows < 100 {
		t.Errorf("only %d tests have a requirement number in their names, want at least 100", rows)
	}
}

func TestContributing_TagsThatDoNotFitAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, doc string
		faults    int
	}{
		{"TestQ6_X", "proves: Q6, Q4\n", 0},
		{"TestQ6_Q4_X", "Some words.\n\npart of: Q6, Q4\n", 0},
		{"TestQ6_X", "part of: Q6\nproves: Q9\n", 1},
		{"TestX", "part of: Q6\n", 0},
		{"TestQ6_X", "", 1},
		{"TestQ6_X", "Some words about it: proves: Q6\n", 1},
		{"TestX", "proves: Q6\n", 1},
		{"TestI25_D4_X", "proves: D3, D6\n", 3},
	} {
		if faults := tagFaults(tt.name, tt.doc); len(faults) != tt.faults {
			t.Errorf("name %s with comment %q: got the faults %q, want %d faults", tt.name, tt.doc, faults, tt.faults)
		}
	}
}

// linesMax is the maximum number of lines of a Go file and of a file of rules, as CONTRIBUTING.md says.
const linesMax = 400

func TestContributing_FilesAreShort(t *testing.T) {
	t.Parallel()
	for path, text := range files(t, ".go", ".rules") {
		if n := strings.Count(text, "\n"); n > linesMax {
			t.Errorf("%s has %d lines; at most %d are allowed: move one of its subjects to a file of its own", path, n, linesMax)
		}
	}
}
