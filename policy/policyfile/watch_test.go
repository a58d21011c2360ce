package policyfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/policy/policyfile"
)

// watched is a Watcher of a policy file that the test rewrites.
type watched struct {
	*testing.T
	path string
	*policyfile.Watcher
}

func startWatch(t *testing.T, text string) *watched {
	t.Helper()
	w := &watched{T: t, path: filepath.Join(t.TempDir(), "policy.yaml")}
	w.write(text)
	var err error
	if w.Watcher, err = policyfile.Watch(w.path); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) write(text string) {
	w.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) reload(changed bool, problems int, name string) {
	w.Helper()
	got, err := w.Reload()
	var list policyfile.Problems
	errors.As(err, &list)
	if got != changed || len(list) != problems || w.File().Spec.Name != name {
		w.Errorf("got changed %v, %d problems (%v) and the policy %s; want changed %v, %d problems and the policy %s", got, len(list), err, w.File().Spec.Name, changed, problems, name)
	}
}

// proves: F9
func TestF9_HotReloadKeepsTheOldPolicyOnAMistake(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "name: a\n")
	w.reload(false, 0, "a")
	w.write("name: b\n")
	w.reload(true, 0, "b")
	w.write("name: b # a comment\n")
	w.reload(false, 0, "b") // the text has changed, but the policy has not
	w.write("name: c\ndefault: {max_retires: 3, retry: 1}\n")
	w.reload(false, 2, "b")
	w.reload(false, 0, "b") // the same mistake is reported only once
	w.write("name: c\ndefault: {max_retires: 3}\n")
	w.reload(false, 1, "b") // the text has another mistake, so a problem is reported again
	w.write("name: c\ndefault: {max_ret")
	w.reload(false, 1, "b") // at this time, the file is only half written
	w.write("")
	w.reload(false, 1, "b") // the text of the file ends too early
	w.write("name: c\ndefault: {max_retries: 3}\n")
	w.reload(true, 0, "c")
	before := w.File()
	w.write("name: a\n")
	w.reload(true, 0, "a")
	if before.Spec.Name != "c" || before.Policy.Name() != "c" {
		t.Errorf("the policy that File returned earlier has changed, want no change")
	}
}

// part of: F9
func TestF9_AFileThatIsAwayKeepsThePolicy(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "name: a\n")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if changed, err := w.Reload(); changed || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Reload of a missing file returned changed %v and the error %v, want false and fs.ErrNotExist", changed, err)
	}
	w.reload(false, 0, "a") // the same error is reported only once
	w.write("name: a\n")
	w.reload(false, 0, "a")
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reload(); err == nil {
		t.Error("Reload returned no error when the file was missing for the second time, want an error")
	}
}

// A file that is still being written is only parsed when it has stopped growing. Otherwise
// its first half could be read as a valid policy.
// proves: F9
func TestF9_HalfWrittenFilesAreNotTakenOver(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "name: a\n")
	look := func(changed, wrong bool, name string) {
		t.Helper()
		got, err := w.Look()
		if got != changed || (err != nil) != wrong || w.File().Spec.Name != name {
			t.Errorf("got changed %v, the policy %s and the error %v; want changed %v, the policy %s and an error: %v", got, w.File().Spec.Name, err, changed, name, wrong)
		}
	}
	for _, text := range []string{"", "name: b\n", "name: b\ndefault: {max_ret", "name: b\ndefault: {max_retries: 1}\n"} {
		w.write(text)
		look(false, false, "a")
	}
	look(true, false, "b")
	look(false, false, "b")
	w.write("")
	look(false, false, "b")
	w.write("name: b\ndefault: {max_retries: 1}\n")
	look(false, false, "b")
	w.write("")
	look(false, false, "b")
	look(false, true, "b") // the text did not change since the last call, so the mistake is reported
	look(false, false, "b")
}

func TestWatchRefusesABadFileAtTheStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := policyfile.Watch(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Watch of a missing file returned the error %v, want fs.ErrNotExist", err)
	}
	if err := os.WriteFile(path, []byte("nane: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err := policyfile.Watch(path); w != nil || err == nil || err.Error() != path+`:1:1: unknown key "nane", did you mean "name"?` {
		t.Errorf("Watch of a file with an unknown key returned the error %v, want an error with the position of the key", err)
	}
}

// Run handles the ticks one after the other and reports new policies and errors. Other
// goroutines always see a complete policy.
func TestWatcherRuns(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "name: a\n")
	ticks, reported := make(chan time.Time), make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		w.Watcher.Run(ctx, ticks, func(f *policyfile.File) { reported <- f.Spec.Name }, func(err error) { reported <- err.Error() })
	})
	for range 2 {
		done.Go(func() {
			for ctx.Err() == nil {
				if f := w.File(); f.Spec.Name != f.Policy.Name() || len(f.Policy.Hash()) != 64 {
					t.Errorf("got a file with the Spec %s and the policy %s, want equal names", f.Spec.Name, f.Policy.Name())
				}
			}
		})
	}
	for n, text := range []string{"name: b\n", "x: y\n", "name: c\n"} {
		w.write(text)
		ticks <- time.Time{}
		ticks <- time.Time{}
		want := []string{"b", w.path + `:1:1: unknown key "x"; the keys here are `, "c"}[n]
		if got := <-reported; got != want && (len(got) < len(want) || got[:len(want)] != want) {
			t.Errorf("Run reported %q, want %q", got, want)
		}
	}
	ticks <- time.Time{} // nothing has changed, so nothing is reported
	ticks <- time.Time{}
	cancel()
	done.Wait()
}

func TestWatcherEndsWithItsTicks(t *testing.T) {
	t.Parallel()
	w := startWatch(t, "name: a\n")
	ticks := make(chan time.Time, 2)
	ticks <- time.Time{}
	ticks <- time.Time{}
	close(ticks)
	w.write("name: b\n")
	w.Watcher.Run(t.Context(), ticks, nil, nil)
	if got := w.File().Spec.Name; got != "b" {
		t.Errorf("the watcher has the policy %s, want b", got)
	}
}
