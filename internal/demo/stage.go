package demo

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// The tenant whose key is revoked before the demo begins, and the two keys of this tenant.
const (
	revokedTenant = "south"
	oldKey        = "key-of-last-year"
	newKey        = "key-of-this-year"
)

// pace sets the speed of the demo.
type pace struct {
	latency time.Duration // the response time of the upstream
	look    time.Duration // interval between two reads of the store
	hold    time.Duration // the length of the pauses in which people can read the output
	rate    int           // rate of a redrive in jobs a second
	haste   int           // a further number by which all waits are divided
}

func (o *Options) pace() pace {
	if o.Fast {
		return pace{latency: 8 * time.Millisecond, look: 20 * time.Millisecond, rate: 200, haste: 4}
	}
	return pace{latency: 90 * time.Millisecond, look: 100 * time.Millisecond, hold: 1500 * time.Millisecond, rate: 25, haste: 1}
}

// The time limits of the demo. runLimit is the timeout of a run. patience is the timeout of
// one call in jobs of the kind chat. politeness is the Retry-After of a 429 response; it is
// not divided, because the upstream sets it.
const (
	runLimit   = 3 * time.Second
	patience   = time.Second
	politeness = time.Second
)

// stage is the running demo with all its parts.
type stage struct {
	Options
	pace
	store    *sqlite.Store
	jobs     []demoJob
	upstream *upstream
	services *services
	systems  []system
	view     view
	tempDir  string

	began    time.Time
	title    string // title of the current act
	ledger   *ledger
	groups   []store.Group
	redrives []store.Redrive
	reported map[string]bool
	said     string // the last printed line with the totals, and the time when it was printed
	saidAt   time.Duration
	records  map[record]note
}

// record identifies a failure record: a job and a run. note holds the values of the record
// that are shown.
type record struct {
	job job.ID
	run job.Token
}

type note struct {
	n, of, attempt int
	wait           time.Duration
	cause, users   string
}

func newStage(ctx context.Context, o Options, st *sqlite.Store, tempDir string) (*stage, error) {
	s := &stage{
		Options: o, pace: o.pace(), store: st, tempDir: tempDir, jobs: makeJobs(o.Seed, o.Jobs), view: view{out: o.Out, screen: o.Screen},
		began: o.Now(), ledger: newLedger(), reported: map[string]bool{}, records: map[record]note{},
	}
	s.upstream = &upstream{
		now: o.Now, latency: s.latency, wait: politeness, plan: planned(o.Seed, s.jobs), full: true,
		keys: map[string]string{"north": oldKey, revokedTenant: newKey},
	}
	if err := serve(ctx, s.upstream); err != nil {
		return nil, err
	}
	s.services = newServices(s.upstream.address, map[string]string{"north": oldKey, revokedTenant: oldKey})
	var err error
	s.systems, err = newSystems(systemOptions{
		store: st, tempDir: tempDir, limit: runLimit, haste: s.haste,
		worker: &worker{services: s.services, tool: o.Tool, patience: patience},
	})
	if err != nil {
		s.upstream.close()
	}
	return s, err
}

// elapsed returns the time since the demo began.
func (s *stage) elapsed() time.Duration { return s.Now().Sub(s.began) }

// await reads the store and shows its state repeatedly, until the given function returns
// true. It returns false if the limit passes first.
func (s *stage) await(ctx context.Context, limit time.Duration, done func() bool) (bool, error) {
	tick := time.NewTicker(s.look)
	defer tick.Stop()
	until := s.elapsed() + limit
	for {
		if err := s.observe(ctx); err != nil {
			return false, err
		}
		switch {
		case done():
			return true, nil
		case s.elapsed() >= until:
			return false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// holdOn waits, so that people can read the output.
func (s *stage) holdOn(ctx context.Context) error {
	if s.hold <= 0 {
		return nil
	}
	_, err := s.await(ctx, s.hold, func() bool { return false })
	return err
}

// observe reads the state of the store and shows it.
func (s *stage) observe(ctx context.Context) error {
	redrives, err := s.store.RedriveList(ctx)
	if err != nil {
		return fmt.Errorf("read redrives: %w", err)
	}
	s.redrives = redrives
	events, err := s.ledger.read(ctx, s.store) // events are read after the redrives, so that the latest events of the redrives are included
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	page, err := s.store.Groups(ctx, store.GroupFilter{Largest: true, Limit: job.PageMax})
	if err != nil {
		return fmt.Errorf("read groups: %w", err)
	}
	s.groups = page.Groups
	if s.view.screen.Terminal {
		s.view.draw(s.frame(ctx))
		return nil
	}
	s.tell(ctx, events)
	return nil
}

// noteOf returns the values of a failure that are shown, or the zero note if the failure
// cannot be read.
func (s *stage) noteOf(ctx context.Context, id job.ID, run job.Token) note {
	key := record{id, run}
	if n, ok := s.records[key]; ok {
		return n
	}
	failures, err := s.store.Failures(ctx, id)
	if err != nil {
		return note{}
	}
	for i := range failures {
		f := &failures[i]
		n := note{cause: f.Message, users: f.UserMessage, attempt: int(f.Attempt)}
		if r, err := policy.ParseRecord(f.Decision); err == nil {
			n.n, n.of, n.wait = r.N, r.Of, time.Duration(r.Wait)*time.Microsecond
		}
		s.records[record{id, f.Token}] = n
	}
	return s.records[key]
}

// tell writes a line for the first event of each kind of failure. It also writes the totals
// if they have changed, at most once a second.
func (s *stage) tell(ctx context.Context, events []event.Event) {
	for i := range events {
		if line := s.news(ctx, &events[i]); line != "" {
			s.view.say(line)
		}
	}
	now := s.elapsed()
	if now-s.saidAt < time.Second {
		return
	}
	t := s.ledger.total()
	line := fmt.Sprintf("waiting %d  retrying %d  running %d  completed %d  dead %d",
		t[job.Waiting], t[job.Retrying], t[job.Running], t[job.Completed], t[job.Dead])
	if r := s.underway(); r != nil {
		line += fmt.Sprintf("  redrive %d %s: %d of %d out, %d completed", r.ID, r.State, r.Released, r.Total, r.Completed)
	}
	if line != s.said {
		s.said, s.saidAt = line, now
		s.view.say(fmt.Sprintf("%4.0f s  %s", now.Seconds(), line))
	}
}

// news returns a line about an event, or "" if an event like it was reported before.
func (s *stage) news(ctx context.Context, e *event.Event) string {
	retry := e.Type == event.JobFailed && e.To == job.Retrying
	switch {
	case e.Type == event.RedriveChanged:
		return fmt.Sprintf("        redrive %s: %s", e.Note, e.Reason)
	case e.To != job.Dead && !retry:
		return ""
	}
	what := fmt.Sprintf("%s %s %s", e.Kind, e.Class, e.To)
	if s.reported[what] {
		return ""
	}
	s.reported[what] = true
	n := s.noteOf(ctx, e.Job, e.Token)
	if retry {
		return fmt.Sprintf("        %s %d: %s, retry %d of %d in %.1f s; users see: %s", e.Kind, e.Job, e.Class, n.n, n.of, n.wait.Seconds(), n.users)
	}
	return fmt.Sprintf("        %s %d is dead (%s): %s; users see: %s", e.Kind, e.Job, e.Reason, e.Class, n.users)
}

// underway returns the newest redrive that has not ended, or nil.
func (s *stage) underway() *store.Redrive {
	if len(s.redrives) > 0 && s.redrives[0].EndedAt == 0 {
		return &s.redrives[0]
	}
	return nil
}

// command returns a command line of this program on the demo's file.
func (s *stage) command(words string) string {
	return fmt.Sprintf("%s %s --db %s", s.Command, words, s.Path)
}

// leftovers returns the number of temporary folders of runs that still exist.
func (s *stage) leftovers() int {
	n := 0
	entries, _ := os.ReadDir(s.tempDir)
	for _, e := range entries {
		if e.IsDir() {
			n++
		}
	}
	return n
}
