package golden_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// args are the arguments of the jobs of scenes.
type args int

// UnmarshalJSON has its own error text, because the texts of encoding/json change with versions of
// Go.
func (a *args) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(b))
	if err != nil {
		return errors.New("the scene must be a number")
	}
	*a = args(n)
	return nil
}

// scene is a job, its settings and its handler.
type scene struct {
	name   string
	policy string // the text of the scene's policy file; "" means the default policy
	config redrive.Config
	kind   redrive.HandlerOptions
	job    redrive.Options
	raw    string // the payload of the job, if it is not the JSON form of args
	run    func(context.Context, *act) error
	// life, if not nil, is called after the clock has made all steps. It may retry the job by hand;
	// the clock then makes all steps again.
	life func(context.Context, *act)
}

// act is a scene that is running now, with its current run.
type act struct {
	*redrive.Job[args]

	engine *redrivetest.Engine
	id     job.ID
	stop   context.CancelFunc // stop stops the worker
}

func recordOutcomes(r *recording) {
	seen := map[string]bool{}
	for _, s := range scenes() {
		if seen[s.name] {
			r.t.Fatalf("two scenes have the name %q, want a different name for each scene", s.name)
		}
		seen[s.name] = true
		synctest.Test(r.t, func(t *testing.T) { s.play(t, r) })
	}
	synctest.Test(r.t, func(t *testing.T) { playCrash(t, r, "crash until stalled", 3) })
	synctest.Test(r.t, func(t *testing.T) { playCrash(t, r, "crash, then a failure", 1) })
}

// play runs the scene and records its rows.
func (s *scene) play(t *testing.T, r *recording) {
	t.Helper()
	config := s.config
	config.Queues = map[string]redrive.Queue{redrive.DefaultQueue: {}, "compute-engine-high-memory": {}, "high-memory": {}}
	hash := policy.Default().Hash()
	if s.policy != "" {
		f, err := policyfile.Parse(s.name+".yaml", []byte(s.policy))
		if err != nil {
			t.Fatalf("read the policy of the scene %s: %v", s.name, err)
		}
		config.Policy, hash = f.Policy, f.Policy.Hash()
	}
	a := &act{engine: redrivetest.New(t, &config)}
	kind := redrive.Kind[args](cmp.Or(s.job.Correlation, "scene")) // the kind of a scene is in its correlation id
	redrive.Handle(a.engine.Client, kind, func(ctx context.Context, j *redrive.Job[args]) error {
		return s.run(ctx, &act{engine: a.engine, Job: j, id: a.id, stop: a.stop})
	}, &s.kind)
	spec := kind.New(7, &s.job)
	if s.raw != "" {
		spec = redrive.NewRaw(string(kind), []byte(s.raw), &s.job)
	}
	receipt, err := a.engine.Enqueue(t.Context(), spec)
	if err != nil {
		t.Fatalf("enqueue the job of the scene %s: %v", s.name, err)
	}
	a.id = receipt.ID
	var ctx context.Context
	ctx, a.stop = context.WithCancel(t.Context())
	defer a.stop()
	err = a.engine.RunUntilIdle(ctx) // the first run, whose worker can be stopped
	if _, stopped := errors.AsType[*redrive.Returned](err); err != nil && !stopped {
		t.Fatalf("run the job of the scene %s: %v", s.name, err)
	}
	outcomes := map[job.ID][]redrivetest.Outcome{}
	workAll(t, a.engine, outcomes, a.id)
	if s.life != nil {
		s.life(t.Context(), a)
		workAll(t, a.engine, outcomes, a.id)
	}
	r.addJob(t, a.engine.Client, a.id, outcomes[a.id], "outcome "+s.name, hash)
}

func (r *recording) addJob(t *testing.T, c *redrive.Client, id job.ID, outcomes []redrivetest.Outcome, key, hash string) {
	t.Helper()
	runs, end := rowsOf(t, c, id, outcomes, key, hash)
	for _, row := range runs {
		r.add(row)
	}
	r.add(end)
}

// playCrash claims and begins a job several times with a worker that never reports back, each time until the
// lease expires. Then a living worker takes the job.
func playCrash(t *testing.T, r *recording, name string, crashes int) {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mem := memory.New(memory.Options{Clock: func() time.Time { return now }})
	c, err := redrive.New(mem, &redrive.Config{Name: "golden", TempDir: t.TempDir(), Lease: time.Hour, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[args]("scene")
	redrive.Handle(c, kind, func(context.Context, *redrive.Job[args]) error { return permanent }, nil)
	receipt, err := c.Enqueue(t.Context(), kind.New(7, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range crashes {
		x, err := mem.Exchange(t.Context(), store.Exchange{Holder: "crashed", Lease: time.Second, Want: []store.Want{{
			Queue: redrive.DefaultQueue, Max: 1, Kinds: []store.KindWant{{Kind: string(kind), Max: 1, MaxCrashes: 3}},
		}}})
		if err != nil || len(x.Claims) != 1 {
			t.Fatalf("scene %s: got %d claimed jobs and the error %v, want 1 job", name, len(x.Claims), err)
		}
		beat := store.Beat{Lease: time.Second, Runs: []store.Run{{ID: receipt.ID, Token: x.Claims[0].Token}}, Begin: true}
		if _, err := mem.Heartbeat(t.Context(), beat); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Second)
		if _, err := mem.Rescue(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour) // this wait is longer than the delay after a crash
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.addJob(t, c, receipt.ID, nil, "outcome "+name, policy.Default().Hash())
}

// roleVar is the environment variable that makes the test binary act as the subprocess of a
// handler.
const roleVar = "REDRIVE_GOLDEN_ROLE"

// subprocess writes to standard error and ends with the exit code of its role, or is killed.
func subprocess(role string) {
	code, _ := strings.CutPrefix(role, "exit ")
	fmt.Fprint(os.Stderr, "reading clip 3\nmoov atom not found in /srv/media/clip-3.mp4\n")
	os.Stderr.Close() // a binary built with -cover prints a line at its end, which must not become evidence
	if n, err := strconv.Atoi(code); err == nil {
		os.Exit(n)
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = self.Kill()
	}
	select {}
}

// command makes a command that runs the test binary as a subprocess in a role.
func (a *act) command(ctx context.Context, role string) error {
	cmd := a.Command(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return cmd.Run()
}
