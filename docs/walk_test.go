package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// stopsMax is the largest number of stops in the walk, the table of functions in
// ARCHITECTURE.md.
const stopsMax = 12

// stop is one row of the walk: a function and its file.
type stop struct{ file, function string }

func walk(t *testing.T) (stops []stop) {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+\\.go)` \\| `([^`]+)` \\|")
	for i, m := range row.FindAllStringSubmatch(read(t, "../ARCHITECTURE.md"), -1) {
		if m[1] != strconv.Itoa(i+1) {
			t.Errorf("row %d of the walk has the number %s, want the number of the row", i+1, m[1])
		}
		stops = append(stops, stop{m[2], m[3]})
	}
	if len(stops) < 8 || len(stops) > stopsMax {
		t.Fatalf("the walk has %d stops, want 8 to %d", len(stops), stopsMax)
	}
	return stops
}

// body returns the position after the opening brace of a function, such as "Of" or
// "(*Run).handle", or a negative number if there is no such function.
func body(t *testing.T, text, name string) int {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		full := f.Name.Name
		if f.Recv != nil {
			recv := f.Recv.List[0].Type
			full = "(" + text[fset.Position(recv.Pos()).Offset:fset.Position(recv.End()).Offset] + ")." + full
		}
		if full == name {
			return fset.Position(f.Body.Lbrace).Offset + 1
		}
	}
	return -1
}

// A job of examples/quickstart fails permanently. Its program is built from copies of the
// source files. In the copies, each function of the walk first prints the number of its
// stop.
func TestTheWalkIsThePathOfAFailingJob(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test builds a program")
	}
	stops := walk(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	texts := map[string]string{}
	replace := map[string]string{}
	for i, s := range stops {
		text, ok := texts[s.file]
		if !ok {
			text = read(t, filepath.Join(root, s.file))
		}
		at := body(t, text, s.function)
		if at < 0 {
			t.Fatalf("stop %d of the walk: the file %s has no function %s", i+1, s.file, s.function)
		}
		texts[s.file] = text[:at] + fmt.Sprintf(" println(\"stop\", %d); ", i+1) + text[at:]
		replace[filepath.Join(root, s.file)] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
	}
	for file, text := range texts {
		if err := os.WriteFile(replace[filepath.Join(root, file)], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"),
		"-o", filepath.Join(dir, "program"), "./examples/quickstart")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program failed: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "program"))
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("running the program failed: %v\n%s", err, out)
	}
	var passed []int
	for _, m := range regexp.MustCompile(`stop (\d+)`).FindAllStringSubmatch(string(out), -1) {
		n, _ := strconv.Atoi(m[1])
		passed = append(passed, n)
	}
	// Other jobs and calls also pass through some functions of the walk. So other numbers
	// may be printed between two stops.
	rest := passed
	for i := range stops {
		at := slices.Index(rest, i+1)
		if at < 0 {
			t.Fatalf("stop %d (%s in %s) is not called after stop %d; the calls were %v", i+1, stops[i].function, stops[i].file, i, passed)
		}
		rest = rest[at+1:]
	}
}
