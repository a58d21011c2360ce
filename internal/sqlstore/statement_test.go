package sqlstore_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/sqlstore"
)

const stores = "../../store"

func textsOf(t *testing.T, name string) sqlstore.Texts {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(stores, name, "statements.sql"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := sqlstore.ParseTexts(string(file))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return all
}

// literal is where a package names a statement of its own.
var literal = regexp.MustCompile(`Query\{Name: "([\w.]+)"`)

// ownOf returns the names of the statements that the package of a store asks for itself.
func ownOf(t *testing.T, name string) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	err := filepath.WalkDir(filepath.Join(stores, name), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range literal.FindAllSubmatch(source, -1) {
			all[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A statement that this package asks for has a text in both stores, or is marked as the own one of the store that has
// it. A store has no text that nobody asks for.
//
// part of: Q10
func TestBothStoresHaveTheStatements(t *testing.T) {
	t.Parallel()
	asked := make(map[string]bool)
	for name := range sqlstore.Asked() {
		asked[name] = true
	}
	for _, name := range []string{"sqlite", "postgres"} {
		other := textsOf(t, map[string]string{"sqlite": "postgres", "postgres": "sqlite"}[name])
		texts, own := textsOf(t, name), ownOf(t, name)
		for statement, text := range texts {
			if text.Own && !own[statement] && !asked[statement] {
				t.Errorf("%s: nothing asks for the statement %s", name, statement)
			}
			if !text.Own && !asked[statement] {
				t.Errorf("%s: package sqlstore does not ask for the statement %s; is it the store's own?", name, statement)
			}
			if _, both := other[statement]; !text.Own && !both {
				t.Errorf("%s: the other store has no statement %s", name, statement)
			} else if text.Own && both && asked[statement] {
				t.Errorf("%s: the statement %s is marked as its own, but both stores have it", name, statement)
			}
		}
		for statement := range own {
			if !texts[statement].Own {
				t.Errorf("%s: the file has no own statement %s", name, statement)
			}
			if asked[statement] {
				t.Errorf("%s: the statement %s is asked for by package sqlstore, too", name, statement)
			}
		}
		for statement := range asked {
			if _, here := texts[statement]; !here && !other[statement].Own {
				t.Errorf("%s: the file has no statement %s", name, statement)
			}
		}
	}
}

func TestParseTexts(t *testing.T) {
	t.Parallel()
	all, err := sqlstore.ParseTexts("-- about the file\n\n-- name: one :own\n-- what it does\nSELECT 1,\n  2; -- no end\nFROM x;\n\n-- name: two\nDELETE;\n")
	if err != nil {
		t.Fatal(err)
	}
	if one := all["one"]; one.SQL != "SELECT 1,\n  2; -- no end\nFROM x" || !one.Own || one.Overtaken {
		t.Errorf("one: %+v", one)
	}
	if two := all["two"]; two.SQL != "DELETE" || two.Own {
		t.Errorf("two: %+v", two)
	}
	for _, wrong := range []string{
		"SELECT 1;\n", "-- name: \nSELECT 1;\n", "-- name: a\nSELECT 1\n", "-- name: a\nSELECT 1\n-- name: b\nSELECT 1;\n",
		"-- name: a\nSELECT 1;\n-- name: a\nSELECT 1;\n", "-- name: a :ours\nSELECT 1;\n", "-- name: a\nSELECT 1;\nFROM x;\n",
	} {
		if _, err := sqlstore.ParseTexts(wrong); err == nil {
			t.Errorf("%q was read without an error", wrong)
		}
	}
}
