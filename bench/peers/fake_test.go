package main

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/bench/agent"
)

// fakeArg is a command-line argument. With it, the test program is an agent of systems that have
// mistakes on purpose.
const fakeArg = "fake-agent"

func fakes() map[string]agent.Program {
	all := make(map[string]agent.Program)
	for _, name := range []string{"honest", "swaps", "forgets", "leaves", "drops"} {
		all[name] = agent.Program{Open: func(_ context.Context, _ agent.Config, w *agent.Work) (agent.System, error) {
			return &fake{name: name, work: w}, nil
		}}
	}
	return all
}

// fake is a system that keeps jobs in memory.
type fake struct {
	name string
	work *agent.Work

	mu      sync.Mutex
	started bool
	waiting []int
	n       agent.Counts
}

func (f *fake) Bulk(_ context.Context, first, n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range n {
		if f.name == "drops" && i == 1 {
			continue // the system reports success without storing the job
		}
		f.waiting = append(f.waiting, first+i)
		f.n.Unfinished++
	}
	f.run()
	return nil
}

func (f *fake) Enqueue(ctx context.Context, n int) (string, error) { return "", f.Bulk(ctx, n, 1) }

func (f *fake) Start(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = true
	f.run()
	return nil
}

func (f *fake) run() {
	if !f.started {
		return
	}
	for _, n := range f.waiting {
		if f.name == "swaps" && n == 3 {
			n = 2 // the system runs the job a second time
		}
		f.n.Unfinished--
		switch {
		case f.work.Do(n) != nil:
			f.n.Dead++
		case f.name == "forgets" && n == 1:
		default:
			f.n.Finished++
		}
	}
	f.waiting = nil
}

func (f *fake) Stop(context.Context) error { return nil }

func (f *fake) Unfinished(context.Context) (int, error) {
	if f.name == "leaves" {
		return 2, nil
	}
	n, err := f.Counts(context.Background())
	return n.Unfinished, err
}

func (f *fake) Counts(context.Context) (agent.Counts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n, nil
}

func (f *fake) Known(context.Context, []string) ([]byte, error) { return nil, nil }
func (f *fake) Durability(context.Context) (string, error)      { return "none", nil }
func (f *fake) Close() error                                    { return nil }

func TestLostWorkIsAnErrorNotAFigure(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := workload{name: "process", mode: processMode, procs: 1, failing: 20}
	both := workload{name: "both", mode: bothMode, procs: 1}
	for _, tt := range []struct {
		name string
		w    workload
		want string // part of the expected error
	}{
		{"honest", process, ""},
		{"honest", both, ""},
		{"swaps", process, "only 49 of 50 jobs ran"},
		{"forgets", process, "the history has 38 jobs, want 39"},
		{"leaves", process, "all jobs ran, but the store still has 2 unfinished jobs: "},
		{"drops", workload{name: "bulk", mode: bulkMode, procs: 1}, "the store has 49 of 50 jobs, and 0 jobs ran"},
		{"drops", process, "only 49 of 50 jobs have run: "},
	} {
		t.Run(tt.name+" "+tt.w.name, func(t *testing.T) {
			t.Parallel()
			b := &bench{
				options: options{jobs: 50, payload: 64, producers: 4, limit: 10 * time.Second}, log: io.Discard, dir: t.TempDir(),
				programs: map[string][]string{inGo: {self, fakeArg}},
			}
			r := b.once(t.Context(), system{name: tt.name, runs: inGo, share: 1, history: true}, tt.w)
			switch {
			case tt.want == "" && (r.Error != "" || r.PerSecond <= 0):
				t.Errorf("got the result %+v for a correct system, want a figure and no error", r)
			case tt.want != "" && (!strings.HasPrefix(r.Error, tt.want) || r.PerSecond != 0):
				t.Errorf("got the error %q and %.0f jobs/s, want the error %q and no figure", r.Error, r.PerSecond, tt.want)
			}
		})
	}
}

// Missing systems are listed in the order of the tables, each with the first reason.
func TestMissingSystemsAreListedInOrder(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	o := options{riverpg: t.TempDir(), node: t.TempDir(), systems: []system{
		{name: "none", setting: "2", runs: inGo}, {name: "none", setting: "1", runs: inGo},
		{name: "river-postgres", runs: inRiverPG, server: postgres}, {name: "redrive-sqlite", runs: inGo},
	}}
	b, err := newBench(t.Context(), o, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	if len(b.systems) != 1 || b.systems[0].name != "redrive-sqlite" || b.pg != nil {
		t.Errorf("got the systems %+v and PostgreSQL started: %v; want no system and no server", b.systems, b.pg != nil)
	}
	lines := strings.Split(log.String(), "\n")
	for i, want := range []string{"MISSING: none 2: this program was built without", "MISSING: none 1: this program was built without",
		"MISSING: river-postgres : build the agent of River: ", ""} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("got the log %q, want its line %d to begin with %q", lines, i+1, want)
		}
	}
}
