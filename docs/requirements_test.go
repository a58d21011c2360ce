package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the lists of tests in requirements.md anew")

const requirementsPage = "requirements.md"

var (
	requirementLine = regexp.MustCompile(`^- \*\*([A-Z][0-9]+)\*\* `)
	tagOfScript     = regexp.MustCompile(`(?m)^# (proves|part of): ([A-Z][0-9]+(?:, [A-Z][0-9]+)*)$`)
)

// evidence lists the tests that prove a requirement, by folder, and counts the tests that
// prove a part of it.
type evidence struct {
	tests map[string][]string
	parts int
}

// String returns the generated line that stands below a requirement.
func (e *evidence) String() string {
	if len(e.tests) == 0 {
		if e.parts == 0 {
			return "  No test proves it."
		}
		return fmt.Sprintf("  No test proves it as a whole; tests of parts: %d.", e.parts)
	}
	var folders []string
	for _, folder := range slices.Sorted(maps.Keys(e.tests)) {
		tests := slices.Sorted(slices.Values(e.tests[folder]))
		if folder == "." {
			folder = "redrive"
		}
		folders = append(folders, folder+": `"+strings.Join(slices.Compact(tests), "`, `")+"`")
	}
	return "  Tests: " + strings.Join(folders, "; ") + "."
}

// evidences holds the evidence for each requirement, by its number.
type evidences map[string]*evidence

func (all evidences) add(folder, test string, tags [][]string) {
	for _, tag := range tags {
		for id := range strings.SplitSeq(tag[2], ", ") {
			e := all[id]
			if e == nil {
				e = &evidence{tests: map[string][]string{}}
				all[id] = e
			}
			if tag[1] == "proves" {
				e.tests[folder] = append(e.tests[folder], test)
			} else {
				e.parts++
			}
		}
	}
}

// goFile adds the tagged functions of a file. A function that is not a test gets its name
// from the table of tests in its package.
func (all evidences) goFile(folder string, f *ast.File, names map[string]string) {
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if named, ok := names[folder+"."+name]; ok {
				name = named
			}
			all.add(folder, name, rowsOfTag.FindAllStringSubmatch(f.Doc.Text(), -1))
		}
	}
}

// namesIn adds the test names from tables such as {"Q1_Bulk", bulk}, where bulk is a
// function.
func namesIn(folder string, f *ast.File, names map[string]string) {
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) != 2 {
			return true
		}
		name, isName := lit.Elts[0].(*ast.BasicLit)
		function, isFunction := lit.Elts[1].(*ast.Ident)
		if isName && isFunction && name.Kind == token.STRING {
			if text, err := strconv.Unquote(name.Value); err == nil {
				names[folder+"."+function.Name] = text
			}
		}
		return true
	})
}

// evidenceOf reads the requirement tags of all tests and scripts.
func evidenceOf(t *testing.T) evidences {
	t.Helper()
	all, names, parsed := evidences{}, map[string]string{}, map[string]*ast.File{}
	for file, text := range files(t, ".go", ".txtar") {
		folder := path.Dir(file)
		if script, ok := strings.CutSuffix(path.Base(file), ".txtar"); ok {
			all.add(strings.TrimSuffix(folder, "/testdata/script"), "Scripts//"+script, tagOfScript.FindAllStringSubmatch(text, -1))
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		namesIn(folder, f, names)
		parsed[file] = f
	}
	for file, f := range parsed {
		all.goFile(path.Dir(file), f, names)
	}
	return all
}

// withEvidence returns the page with the generated line below each requirement, and the
// numbers of all requirements on the page.
func withEvidence(page string, all evidences) (string, []string) {
	var b strings.Builder
	var ids []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "  Tests: ") || strings.HasPrefix(line, "  No test proves it") {
			continue
		}
		b.WriteString(line)
		if m := requirementLine.FindStringSubmatch(line); m != nil {
			ids = append(ids, m[1])
			e := all[m[1]]
			if e == nil {
				e = &evidence{}
			}
			b.WriteString(e.String() + "\n")
		}
	}
	return b.String(), ids
}

func TestRequirements_TestsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	all := evidenceOf(t)
	page := read(t, requirementsPage)
	want, ids := withEvidence(page, all)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(ids, id) {
			t.Errorf("tests are tagged with requirement %s, but %s has no such requirement", id, requirementsPage)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != len(ids) {
		t.Error("a requirement number is on the page twice")
	}
	if *update {
		if err := os.WriteFile(requirementsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(page, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("the lists of tests are out of date; run `make docs` (-page +code):\n%s", diff)
	}
}

func TestRequirements_EvidenceIsFound(t *testing.T) {
	t.Parallel()
	const code = `package x

// proves: Q5, T1
// part of: F3
func TestQ5_T1_X(t *testing.T) {}

// proves: Q5
func bulk(r *rig) {}

var table = []promise{{"Q5_Bulk", bulk}}
`
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", code, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	all, names := evidences{}, map[string]string{}
	namesIn("x", f, names)
	all.goFile("x", f, names)
	all.add("cli", "Scripts//work", tagOfScript.FindAllStringSubmatch("# either store\n# proves: Q5\n", -1))
	got, ids := withEvidence("- **Q5** Limit.\n  Tests: old.\n- **F3** Classes.\n- **S1** Wire.\n", all)
	want := "- **Q5** Limit.\n  Tests: cli: `Scripts//work`; x: `Q5_Bulk`, `TestQ5_T1_X`.\n" +
		"- **F3** Classes.\n  No test proves it as a whole; tests of parts: 1.\n- **S1** Wire.\n  No test proves it.\n"
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(ids, []string{"Q5", "F3", "S1"}) {
		t.Errorf("the page with evidence differs (-want +got):\n%s\ngot the requirements %q, want Q5, F3 and S1", diff, ids)
	}
}
