package redrive_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
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
