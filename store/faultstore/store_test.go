package faultstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

func TestFaultsComeByThePlan(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, tt := range []struct {
		name   string
		plan   faultstore.Plan
		fails  []int // which of the four calls must fail, by their numbers
		effect int   // the number of ids that the store must have reserved after the calls
	}{
		{"none", nil, nil, 4},
		{"nth before", faultstore.Nth("ReserveIDs", 2, faultstore.Fault{Before: boom}), []int{2}, 3},
		{"nth after", faultstore.Nth("ReserveIDs", 2, faultstore.Fault{After: boom}), []int{2}, 4},
		{"from on", faultstore.From("ReserveIDs", 3, faultstore.Fault{Before: boom}), []int{3, 4}, 2},
		{"range", faultstore.Range("ReserveIDs", 1, 2, faultstore.Fault{Before: boom}), []int{1, 2}, 2},
		{"any method", faultstore.Nth("", 4, faultstore.Fault{Before: boom}), []int{4}, 3},
		{"another method", faultstore.Nth("Exchange", 1, faultstore.Fault{Before: boom}), nil, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultstore.New(memory.New(memory.Options{}), tt.plan)
			var fails []int
			for i := range 4 {
				if _, err := s.ReserveIDs(t.Context(), 1); errors.Is(err, boom) {
					fails = append(fails, i+1)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if len(fails) != len(tt.fails) {
				t.Fatalf("numbers of the calls of ReserveIDs that failed: got %v, want %v", fails, tt.fails)
			}
			for i := range fails {
				if fails[i] != tt.fails[i] {
					t.Errorf("numbers of the calls of ReserveIDs that failed: got %v, want %v", fails, tt.fails)
				}
			}
			if got := s.Calls("ReserveIDs"); got != 4 || s.Calls("") != 4 {
				t.Errorf("Calls returned %d calls of ReserveIDs and %d calls of all methods, want 4 and 4", got, s.Calls(""))
			}
			s.Set(nil)
			next, err := s.ReserveIDs(t.Context(), 1)
			if err != nil || int(next) != tt.effect+1 {
				t.Errorf("ReserveIDs after the faults: got id %d, error %v; want id %d", next, err, tt.effect+1)
			}
		})
	}
}

func TestAHangingCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := faultstore.New(memory.New(memory.Options{}), faultstore.From("", 1, faultstore.Fault{Hang: true}))
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := s.Rescue(ctx, 1); !errors.Is(err, why) {
		t.Errorf("call that hangs: got error %v, want the cause that the test gave to the context", err)
	}
}

func TestAStoreWithoutTransactionsRefusesThem(t *testing.T) {
	t.Parallel()
	s := faultstore.New(memory.New(memory.Options{}), nil)
	if _, err := s.EnqueueTx(t.Context(), nil, nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("EnqueueTx on a store without transactions: got error %v, want ErrInvalid", err)
	}
}
