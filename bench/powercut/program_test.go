package powercut

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the main module.
const root = "../.."

// edit is a replacement in a source file of the main module.
type edit struct{ file, before, after string }

// Changes of the program.
var (
	// smallLog makes SQLite copy the log into the database after every few commits, so that a short
	// record has many check-points.
	smallLog = edit{"store/sqlite/connect.go", "PRAGMA wal_autocheckpoint=4000", "PRAGMA wal_autocheckpoint=16"}
	// normal is the mutant: a commit is not flushed. All three places must agree, or the store
	// refuses to open.
	normal = []edit{
		{"store/sqlite/connect.go", "writerPragmas = `PRAGMA synchronous=FULL", "writerPragmas = `PRAGMA synchronous=NORMAL"},
		{"store/sqlite/connect.go", "readerPragmas = `PRAGMA synchronous=FULL", "readerPragmas = `PRAGMA synchronous=NORMAL"},
		{"store/sqlite/connect.go", "synchronousFull = 2", "synchronousFull = 1"},
	}
)

// build compiles the worker of the torture test, with changes of its source, and returns its path.
func build(t *testing.T, edits ...edit) string {
	t.Helper()
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, e := range edits {
		if _, ok := texts[e.file]; !ok {
			text, err := os.ReadFile(filepath.Join(top, e.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[e.file] = string(text)
		}
		if strings.Count(texts[e.file], e.before) != 1 {
			t.Fatalf("%s does not contain %q once; change the edit in this test", e.file, e.before)
		}
		texts[e.file] = strings.Replace(texts[e.file], e.before, e.after, 1)
	}
	replace := make(map[string]string)
	for file, text := range texts {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(top, file)] = changed
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
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
	program := filepath.Join(dir, "worker")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./tests/torture/worker")
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run %s: %v\n%s", cmd, err, out)
	}
	return program
}
