package redrive_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// proves: R9
func TestR9_APolicyIsKeptAndNamedByItsDecisions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	first, second := videos(t), policyOf(t, policy.Spec{Name: "calm", Default: steady(1)})
	e := engineWith(t, first, func(context.Context, *redrive.Job[renderArgs]) error { return errors.New("oops") })
	one := enqueue(t, e, render.New(renderArgs{}, nil))
	e.Work()
	if err := e.SetPolicy(ctx, redrive.By{Actor: "ann", Reason: "calmer"}, second); err != nil {
		t.Fatal(err)
	}
	two := enqueue(t, e, render.New(renderArgs{}, nil))
	e.Work()
	for id, p := range map[job.ID]*policy.Policy{one: first, two: second} {
		r, err := policy.ParseRecord(failures(t, e, id)[0].Decision)
		if err != nil {
			t.Fatal(err)
		}
		if r.Hash != p.Hash() || r.Policy != p.Name() {
			t.Errorf("the decision names the policy %q with the hash %s, want policy %q with the hash %s", r.Policy, r.Hash, p.Name(), p.Hash())
		}
		kept, err := e.StoredPolicy(ctx, r.Hash)
		if err != nil {
			t.Fatal(err)
		}
		if kept.Name != p.Name() || !json.Valid(kept.Body) {
			t.Errorf("the policy is stored as %q with the body %s; want its name and a JSON body", kept.Name, kept.Body)
		}
	}
	if _, err := e.StoredPolicy(ctx, "none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("StoredPolicy of a hash that was never stored: got error %v, want ErrNotFound", err)
	}
}

// published is a store that records the policy that it was given last.
type published struct {
	store.Store
	mu   sync.Mutex
	last string
}

func (s *published) PublishPolicy(ctx context.Context, by store.By, p store.StoredPolicy) error {
	s.mu.Lock()
	err := s.Store.PublishPolicy(ctx, by, p)
	s.last = p.Name
	s.mu.Unlock()
	runtime.Gosched() // this gives another SetPolicy call the chance to store its policy before this call has finished
	return err
}

// part of: R9
func TestR9_ThePolicyThatIsKeptLastIsInForce(t *testing.T) {
	t.Parallel()
	st := &published{Store: memory.New(memory.Options{})}
	c, err := redrive.New(st, nil)
	if err != nil {
		t.Fatal(err)
	}
	both := [...]*policy.Policy{policyOf(t, policy.Spec{Name: "one", Default: steady(1)}), policyOf(t, policy.Spec{Name: "two", Default: steady(2)})}
	for range 200 {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if err := c.SetPolicy(t.Context(), redrive.By{Actor: "ann", Reason: "so"}, both[i%2]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := c.Policy().Name(); got != st.last {
			t.Fatalf("the client uses the policy %q, want %q, which was stored last", got, st.last)
		}
	}
}

// counted matches every job and counts how often it is asked.
type counted struct{ asked *int }

func (c counted) Match(*policy.ConditionInput) (bool, error) { *c.asked++; return true, nil }
func (c counted) String() string                             { return "true" }

// The rules of a policy are evaluated once in each run, and once more if another policy came into
// force during the run. The record of the decision names the policy that decided.
func TestTheRulesAreEvaluatedOnceForEachRunAndPolicy(t *testing.T) {
	t.Parallel()
	var first, second int
	with := func(name string, asked *int) *policy.Policy {
		return policyOf(t, policy.Spec{Name: name, Default: steady(3), Rules: []policy.RuleSpec{
			{Name: "all", When: counted{asked}, Overrides: map[string]string{"model": name}}}})
	}
	one, two := with("one", &first), with("two", &second)
	replace := false
	var e *redrivetest.Engine
	e = engineWith(t, one, func(ctx context.Context, _ *redrive.Job[renderArgs]) error {
		if replace {
			if err := e.SetPolicy(ctx, redrive.By{Actor: "ann"}, two); err != nil {
				t.Error(err)
			}
		}
		return errors.New("oops")
	})
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	for run, tt := range []struct {
		replace       bool
		first, second int
		decidedBy     *policy.Policy
	}{{false, 1, 0, one}, {true, 1, 1, two}, {false, 0, 1, two}} {
		first, second, replace = 0, 0, tt.replace
		e.Work()
		if first != tt.first || second != tt.second {
			t.Errorf("run %d: the rules of the two policies were evaluated %d and %d times, want %d and %d", run+1, first, second, tt.first, tt.second)
		}
		all := failures(t, e, id)
		r, err := policy.ParseRecord(all[len(all)-1].Decision)
		if err != nil || len(all) != run+1 || r.Hash != tt.decidedBy.Hash() {
			t.Errorf("run %d: %d failures, and the record names the policy %q (%v), want %d failures and policy %q", run+1, len(all), r.Policy, err, run+1, tt.decidedBy.Name())
		}
		e.Advance(time.Minute)
	}
}
