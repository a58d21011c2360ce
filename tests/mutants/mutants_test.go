// Package mutants breaks the code on purpose, one place at a time, and demands that a test notices it.
package mutants

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var runFlag = flag.Bool("mutants", false, "build and run each mutant; this takes minutes")

// mutant is a mistake that somebody could make.
type mutant struct {
	name          string
	file          string // the file with the mistake, from the root of the module
	code, mistake string // what is replaced, and by what
	pkg, test     string // the test that must fail
}

var mutants = []mutant{
	{
		"the mark of a batch is taken away after its counts are read", "internal/sqlstore/batch.go",
		`	err := t.rows(unmark, func(r Row) error {
		b, err := scanBatch(r)
		ripe = append(ripe, &b)
		return err
	}, batches)
	if err != nil || len(ripe) == 0 {
		return err
	}
	t.wrote = true
	crashpoint.Hit(crashpoint.BeforeBatchEnd)
	of := make(map[int64]store.BatchCounts, len(ripe))
	err = t.rows(counts, func(r Row) error {
		of[r.Int(4)] = scanCounts(r)
		return nil
	}, batches)
	if err != nil {
		return err
	}
`, `	of := make(map[int64]store.BatchCounts)
	err := t.rows(counts, func(r Row) error {
		of[r.Int(4)] = scanCounts(r)
		return nil
	}, batches)
	if err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.BeforeBatchEnd)
	err = t.rows(unmark, func(r Row) error {
		b, err := scanBatch(r)
		ripe = append(ripe, &b)
		return err
	}, batches)
	if err != nil || len(ripe) == 0 {
		return err
	}
	t.wrote = true
`, "./store/postgres", "TestB2_Trap3_AnEndThatIsFoldedBeforeTheMarkIsTakenIsSeen",
	},
	{
		"the evaluation trusts the folded counts", "store/postgres/statements.sql",
		"  WHERE e.batches[i] = ANY ($1::bigint[])) c\nGROUP BY batch;", "  WHERE false AND e.batches[i] = ANY ($1::bigint[])) c\nGROUP BY batch;",
		"./store/postgres", "TestB2_Trap2_FoldedCountsAloneEndNothing",
	},
	{
		"members that are aside are counted", "internal/sqlstore/txn.go",
		"	if batch <= 0 {\n		return\n	}\n	b := t.batch.at(batch)", "	if batch == 0 {\n		return\n	}\n	b := t.batch.at(max(batch, -batch))",
		"./store/sqlite", "TestQ10_Conformance/B2_Trap27",
	},
	{
		"the key of a notice does not name its recipient", "notify/notice.go",
		`[]byte(n.Channel + "\x00" + n.To)`, `[]byte(n.Channel)`,
		"./notify", "TestPending_EachRecipientHasItsNotice",
	},
	{
		"webhooks are judged by the name in their URL, not by the address that is dialled", "notify/webhook/send.go",
		"Resolver: o.Resolver, ControlContext: check}", "Resolver: o.Resolver}",
		"./notify/webhook", "TestN3_Trap22_ASecondAnswerOfTheNameServerGainsNothing",
	},
	{
		"a death in a window writes no window", "internal/sqlstore/window.go",
		"func (s windows) Keep(w *notify.Window) error {\n", "func (s windows) Keep(w *notify.Window) error {\n	if w.N > 0 {\n		return nil\n	}\n",
		"./store/sqlite", "TestQ10_Conformance/N2_",
	},
}

// Each mistake can still be made: its place in the code is there, once. With -mutants, its test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, m.file)
			code, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(code), m.code); n != 1 {
				t.Fatalf("the place of the mistake is %d times in %s, want once; change the mutant with the code", n, m.file)
			}
			if *runFlag {
				m.run(t, root, path, strings.Replace(string(code), m.code, m.mistake, 1))
			}
		})
	}
}

// run runs the test of a mutant, whose file is replaced for this build only.
func (m *mutant) run(t *testing.T, root, path, code string) {
	dir := t.TempDir()
	broken := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(broken, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: broken}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay", file, m.pkg, "-run", "^"+strings.ReplaceAll(m.test, "/", "$/^"), "-count=1")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+strings.Split(m.test, "/")[0]) {
		t.Errorf("%s: %s did not fail by itself: %v\n%s", m.name, m.test, err, out)
	}
}
