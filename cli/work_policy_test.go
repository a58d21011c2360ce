package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// keeperOf returns a policyKeeper for the policy file at path, and the text that it logs.
func keeperOf(t *testing.T, path string, set func(*policy.Policy) error) (*policyKeeper, *bytes.Buffer) {
	t.Helper()
	watcher, err := policyfile.Watch(path)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w := &worker{
		settings: settings{Config: config.Default()}, screen: &live{w: io.Discard},
		log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "hash" || a.Key == "file" {
				return slog.Attr{}
			}
			return a
		}})),
	}
	return &policyKeeper{
		worker: w, watcher: watcher, by: redrive.By{Actor: "test"}, inForce: watcher.File().Policy,
		set: func(_ context.Context, _ redrive.By, p *policy.Policy) error { return set(p) },
	}, &log
}

func writePolicy(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// If the store refuses a policy, the keeper tries again and puts it in force later. The
// refusal is logged once.
// part of: F9
func TestPolicyKeeper_TriesAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, path, "version: 1\nname: first\n")
	var set []string
	broken := errors.New("store is full")
	k, log := keeperOf(t, path, func(p *policy.Policy) error {
		if broken != nil {
			return broken
		}
		set = append(set, p.Name()+": "+strings.SplitN(string(p.Source()), "\n", 2)[0])
		return nil
	})
	look := func() { k.look(t.Context(), false) }
	look()
	writePolicy(t, path, "version: 1\nname: second\ndefault: {max_retries: 1}\n")
	look()
	look()
	look()
	broken = nil
	look()
	look()
	if diff := cmp.Diff([]string{"second: version: 1"}, set); diff != "" {
		t.Errorf("wrong policies were put in force (-want +got):\n%s", diff)
	}
	want := `level=ERROR msg="the policy of the file cannot be put in force; the previous policy stays in force" policy=first error="store is full"` +
		"\n" + `level=INFO msg="the policy has changed; new decisions use it" policy=second` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("the log of the keeper is wrong (-want +got):\n%s", diff)
	}
}

// The first half of a policy file is often a valid, but different policy. A worker
// therefore uses a changed file only when two reads have found the same content. After
// SIGHUP it uses the file at once, because the file is then complete.
//
// part of: F9
func TestF9_AWorkerDoesNotTakeOverAHalfWrittenPolicy(t *testing.T) {
	t.Parallel()
	const half, whole = "name: second\n", "name: second\nkinds: {a: {retry: false}}\n"
	path := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, path, "name: first\n")
	var set []string
	k, log := keeperOf(t, path, func(p *policy.Policy) error {
		set = append(set, fmt.Sprintf("%s with %d kinds", p.Name(), len(p.Spec().Kinds)))
		return nil
	})
	tick := func(text string, want ...string) {
		t.Helper()
		writePolicy(t, path, text)
		k.look(t.Context(), false)
		if diff := cmp.Diff(want, set); diff != "" {
			t.Errorf("wrong policies were put in force (-want +got):\n%s", diff)
		}
	}
	tick("name: second\nkin") // this text is not a valid policy file, as if only half of the file were written
	tick(half)
	tick(whole)
	if log.Len() != 0 {
		t.Errorf("a file that was still being written caused the log %s, want no log", log)
	}
	tick(whole, "second with 1 kinds")
	tick(whole, "second with 1 kinds")
	writePolicy(t, path, "name: third\n")
	k.look(t.Context(), true)
	if got := set[len(set)-1]; got != "third with 0 kinds" {
		t.Errorf("after a signal the policy in force is \"%s\", want \"third with 0 kinds\"", got)
	}
}

// If only the comments and the order of the keys in a policy file change, the policy stays the
// same.
func TestPolicyKeeper_KnowsAPolicyByWhatItSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, path, "version: 1\nname: first\n")
	k, log := keeperOf(t, path, func(*policy.Policy) error { return errors.New("this policy must not be put in force") })
	writePolicy(t, path, "# the first one\nname: first\nversion: 1\n")
	k.look(t.Context(), false)
	k.look(t.Context(), false)
	if log.Len() != 0 {
		t.Errorf("a file with the same policy caused the log %s, want no log", log)
	}
	k.look(t.Context(), true)
	if want := "level=INFO msg=\"the policy file was read again, and the policy is the same\" policy=first\n"; log.String() != want {
		t.Errorf("after a signal the keeper logs %q, want %q", log, want)
	}
}

func TestPolicyKeeper_FollowsTicksAndSignalsUntilTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	writePolicy(t, path, "version: 1\nname: p0\n")
	set := make(chan string, 1)
	k, _ := keeperOf(t, path, func(p *policy.Policy) error { set <- p.Name(); return nil })
	tick, hangup, ended := make(chan time.Time), make(chan os.Signal), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); k.follow(ctx, tick, hangup) }()
	writePolicy(t, path, "version: 1\nname: p1\n")
	tick <- time.Time{}
	tick <- time.Time{}
	if got := <-set; got != "p1" {
		t.Errorf("after two ticks the policy is %s, want p1", got)
	}
	writePolicy(t, path, "version: 1\nname: p2\n")
	hangup <- os.Interrupt
	if got := <-set; got != "p2" {
		t.Errorf("after a signal the policy is %s, want p2", got)
	}
	cancel()
	<-ended
}

// pass waits for the duration d in the simulated time of testing/synctest.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// proves: F9
func TestF9_AChangedPolicyReachesAllWorkersWithinASecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for phase := range 10 { // the change is made at ten different moments between two reads
		first, second := fmt.Sprintf("before-%d", phase), fmt.Sprintf("after-%d", phase)
		writePolicy(t, path, "name: "+first+"\n")
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(memory.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			var clients []*redrive.Client
			var waits []func()
			for range 2 {
				watcher, err := policyfile.Watch(path)
				if err != nil {
					t.Fatal(err)
				}
				client, err := redrive.New(st, nil)
				if err != nil {
					t.Fatal(err)
				}
				w := &worker{
					settings: settings{Config: config.Default()}, log: slog.New(slog.DiscardHandler),
					policy: workPolicy{policy: watcher.File().Policy, watcher: watcher},
					screen: &live{w: io.Discard, style: style{terminal: true}}, // on a terminal, a worker ignores SIGHUP
				}
				waits = append(waits, w.keepPolicy(ctx, client, redrive.By{Actor: "test"}))
				clients = append(clients, client)
				pass(policyEvery / 7) // the workers start at different times
			}
			pass(3*policyEvery + time.Duration(phase)*policyEvery/10)
			writePolicy(t, path, "name: "+second+"\n")
			pass(time.Second)
			synctest.Wait()
			for _, client := range clients {
				if got := client.Policy().Name(); got != second {
					t.Errorf("a second after the change the policy is %q, want %q", got, second)
				}
			}
			cancel()
			for _, wait := range waits {
				wait()
			}
		})
	}
}

func TestForeign_ReportsEveryPlace(t *testing.T) {
	t.Parallel()
	const file = `
version: 1
name: test
rollout: {mode: observe, kinds: [no1], stages: {}}
default: {escalate: {queue: no2}}
classes: {NetworkTimeout: {escalate: {queue: no3}}}
kinds:
  no4: {max_retries: 1}
  known: {escalate: {queue: no5}, classes: {Panic: {escalate: {queue: no6}}}}
rules:
  - {name: a, kinds: [known, no7], queue: no8, when: attrs.x == 1}
  - {name: b, when: attrs.x == 1, escalate: {queue: no9}}
  - {name: c, when: attrs.x == 1, escalate: {queue: here}, queue: here}
`
	f, err := policyfile.Parse("policy.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	c := &config.Config{QueueNames: []string{"here"}, KindNames: []string{"known"}}
	var paths []string
	for _, line := range foreign(&f.Spec, c) {
		path, _, _ := strings.Cut(line, ":")
		paths = append(paths, path)
	}
	want := []string{
		"default.escalate.queue", "classes.NetworkTimeout.escalate.queue", "kinds.known.escalate.queue",
		"kinds.known.classes.Panic.escalate.queue", "kinds.no4", "rollout.kinds", "rules[0].kinds", "rules[0].queue", "rules[1].escalate.queue",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("the documented paths are wrong (-want +got):\n%s", diff)
	}
}

// The largest policy file that can be read is as large as the largest that a store keeps.
func TestAPolicyThatIsReadCanBeKept(t *testing.T) {
	t.Parallel()
	if policyfile.RenderedMax != store.PolicyBodyMax {
		t.Errorf("a rendered policy file may have %d bytes and a store keeps at most %d bytes, want equal limits", policyfile.RenderedMax, store.PolicyBodyMax)
	}
}
