package redrive_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// The store does not answer for a minute, and meanwhile its clock jumps by a day, forward or back.
// Two workers live through it. Their jobs complete, no attempt is used up, and no crash is counted.
//
// part of: Q3, Q2
func TestQ3_AClockThatJumpsADayDuringAnOutage(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { jumpsDuringAnOutage(t, jump) })
		})
	}
}

func jumpsDuringAnOutage(t *testing.T, jump time.Duration) {
	var ahead atomic.Int64
	var away atomic.Bool
	s := faultstore.New(memory.New(memory.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}),
		func(faultstore.Call) faultstore.Fault {
			if away.Load() {
				return faultstore.Fault{Before: store.ErrUnavailable}
			}
			return faultstore.Fault{}
		})
	long := redrive.Kind[int]("long")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 2)
	var first *redrive.Client
	for i := range 2 {
		c, err := redrive.New(s, &redrive.Config{Name: fmt.Sprint("worker ", i), TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, long, func(ctx context.Context, _ *redrive.Job[int]) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.NewTimer(5 * time.Minute).C:
				return nil
			}
		}, &redrive.HandlerOptions{MaxCrashes: 1})
		if first == nil {
			first = c
		}
		go func() { ended <- c.Run(ctx) }()
	}
	var ids []job.ID
	for n := range 6 {
		r, err := first.Enqueue(ctx, long.New(n, nil))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	pass(20 * time.Second)
	away.Store(true)
	pass(30 * time.Second)
	ahead.Store(int64(jump))
	pass(30 * time.Second)
	away.Store(false)
	pass(time.Hour)
	for _, id := range ids {
		j, err := first.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if j.State != job.Completed || j.Counters.Attempts != 1 || j.Counters.Crashes != 0 {
			t.Errorf("job %d is %s with the counters %+v, want it completed after 1 attempt and no crash", id, j.State, j.Counters)
		}
	}
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// pass waits in a bubble of testing/synctest, which costs no real time.
func pass(d time.Duration) { <-time.NewTimer(d).C }
