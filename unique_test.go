package redrive_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

type report struct {
	Month string
	Pages int
}

const monthly = redrive.Kind[report]("report")

func unique(period time.Duration) *redrive.Options {
	return &redrive.Options{Unique: &redrive.Unique{Period: period}}
}

func uniqueClient(t *testing.T, s store.Store) *redrive.Client {
	t.Helper()
	c, err := redrive.New(s, &redrive.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// proves: I1
func TestI1_AJobIsUniqueByItsArguments(t *testing.T) {
	t.Parallel()
	c := uniqueClient(t, memory.New(memory.Options{}))
	enqueue := func(s redrive.Spec) redrive.Receipt {
		t.Helper()
		r, err := c.Enqueue(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := enqueue(monthly.New(report{"January", 2}, unique(0)))
	for name, same := range map[string]redrive.Spec{
		"the same arguments":         monthly.New(report{"January", 2}, unique(0)),
		"fields in another order":    redrive.NewRaw("report", []byte(`{"Pages": 2, "Month": "January"}`), unique(0)),
		"another queue":              monthly.New(report{"January", 2}, &redrive.Options{Queue: "other", Unique: &redrive.Unique{}}),
		"options set again":          monthly.New(report{"January", 2}, unique(0)).WithOptions(monthly.New(report{}, unique(0)).Options()),
		"payload set by WithPayload": monthly.New(report{}, unique(0)).WithPayload([]byte(`{"Month":"January","Pages":2}`)),
	} {
		if got, want := enqueue(same), (redrive.Receipt{ID: first.ID, Existing: true, State: job.Waiting}); got != want {
			t.Errorf("%s: got receipt %+v, want %+v", name, got, want)
		}
	}
	for name, other := range map[string]redrive.Spec{
		"other arguments":        monthly.New(report{"January", 3}, unique(0)),
		"another kind":           redrive.Kind[report]("summary").New(report{"January", 2}, unique(0)),
		"another owner":          monthly.New(report{"January", 2}, &redrive.Options{Owner: "alice", Unique: &redrive.Unique{}}),
		"a period":               monthly.New(report{"January", 2}, unique(time.Hour)),
		"a period of other size": monthly.New(report{"January", 2}, unique(24*time.Hour)),
		"without Unique":         monthly.New(report{"January", 2}, nil),
		"bytes that are no JSON": redrive.NewRaw("report", []byte(`{"Month"`), unique(0)),
	} {
		if got := enqueue(other); got.Existing {
			t.Errorf("%s: got receipt %+v of an earlier job, want a new job", name, got)
		}
	}
}

// proves: I1
func TestI1_AUniqueJobIsEnqueuedAgainAfterItsEnd(t *testing.T) {
	t.Parallel()
	c := uniqueClient(t, memory.New(memory.Options{}))
	for range 2 {
		r, err := c.Enqueue(t.Context(), monthly.New(report{"January", 2}, unique(0)))
		if err != nil || r.Existing {
			t.Fatalf("enqueue after the end of the earlier job: got receipt %+v, error %v; want a new job", r, err)
		}
		if err := c.Cancel(t.Context(), redrive.By{Actor: "ann"}, r.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// proves: I1
func TestI1_AJobIsUniqueForAPeriod(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 23, 59, 59, 0, time.UTC)
	c := uniqueClient(t, memory.New(memory.Options{Clock: func() time.Time { return now }}))
	daily := monthly.New(report{"January", 2}, unique(24*time.Hour))
	var ids []redrive.JobID
	for _, pass := range []time.Duration{0, time.Second - time.Microsecond, time.Microsecond, 24*time.Hour - time.Microsecond, time.Microsecond} {
		now = now.Add(pass)
		r, err := c.Enqueue(t.Context(), daily)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if ids[0] != ids[1] || ids[2] != ids[3] || ids[1] == ids[2] || ids[3] == ids[4] {
		t.Errorf("got the job ids %v, want the same id within a day and another id on the next day", ids)
	}
}

// proves: I1
func TestI1_WrongUniqueOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]redrive.Options{
		"Options.Unique and Options.Key":      {Unique: &redrive.Unique{}, Key: "k"},
		"Options.Unique and Options.KeyUntil": {Unique: &redrive.Unique{}, KeyUntil: time.Now().Add(time.Hour)},
		"Unique.Period -1s":                   {Unique: &redrive.Unique{Period: -time.Second}},
		"Unique.Period 1ns":                   {Unique: &redrive.Unique{Period: 1}},
		`keys that begin with "unique:"`:      {Key: "unique:x"},
	} {
		err := monthly.New(report{}, &o).Err()
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want store.ErrInvalid with %q", err, want)
		}
	}
}

// part of: I1
func TestUniqueIsReturnedByOptions(t *testing.T) {
	t.Parallel()
	o := monthly.New(report{}, unique(time.Hour)).Options()
	if o.Unique == nil || o.Unique.Period != time.Hour || o.Key != "" || !o.KeyUntil.IsZero() {
		t.Errorf("got Unique %v, Key %q and KeyUntil %v, want only the Unique that was given", o.Unique, o.Key, o.KeyUntil)
	}
}

// On every store, 20 concurrent callers enqueue the same arguments.
//
// proves: I1
func TestI1_ConcurrentCallersMakeOneUniqueJob(t *testing.T) {
	t.Parallel()
	const callers = 20
	onEachStore(t, func(t *testing.T, d database) {
		clients := []*redrive.Client{uniqueClient(t, d.open()), uniqueClient(t, d.open())}
		for _, period := range []time.Duration{0, 1000 * time.Hour} {
			var receipts [callers]redrive.Receipt
			var all sync.WaitGroup
			begin := make(chan struct{})
			for i := range callers {
				all.Go(func() {
					<-begin
					var err error
					receipts[i], err = clients[i%2].Enqueue(t.Context(), monthly.New(report{"January", 2}, unique(period)))
					if err != nil {
						t.Error(err)
					}
				})
			}
			close(begin)
			all.Wait()
			made := 0
			for _, r := range receipts {
				if !r.Existing {
					made++
				}
				if r.ID != receipts[0].ID {
					t.Errorf("period %s: callers got the jobs %d and %d, want one job", period, receipts[0].ID, r.ID)
				}
			}
			if made != 1 {
				t.Errorf("period %s: %d callers made a job, want 1", period, made)
			}
		}
	})
}

// A retry that changes the arguments makes the job unique by its new arguments. It is refused while
// another living job has these arguments; the error names that job.
//
// part of: I1
func TestI1_ARetryWithOtherArgumentsChangesWhatIsUnique(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, &redrive.Config{Logger: quiet})
	redrive.Handle(e.Client, monthly, func(context.Context, *redrive.Job[report]) error {
		return failure.Permanent(errors.New("no such month"))
	}, nil)
	enqueue := func(r report) redrive.Receipt {
		t.Helper()
		receipt, err := e.Enqueue(t.Context(), monthly.New(r, unique(0)))
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	wrong, right := report{"Janary", 2}, report{"January", 2}
	dead := enqueue(wrong).ID
	e.Work()
	retry := func() error {
		return e.Retry(t.Context(), redrive.By{Actor: "ann"}, dead, &redrive.Change{Payload: []byte(`{"Pages": 2, "Month": "January"}`)})
	}
	holder := enqueue(right).ID
	if err := retry(); !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "job "+holder.String()+" has the same unique key") {
		t.Errorf("retry with a payload whose unique key job %s already has: got error %v, want an ErrConflict that names job %s", holder, err, holder)
	}
	if err := e.Cancel(t.Context(), redrive.By{Actor: "ann"}, holder); err != nil {
		t.Fatal(err)
	}
	if err := retry(); err != nil {
		t.Fatalf("retry after the end of job %s: got error %v, want none", holder, err)
	}
	if got := enqueue(right); !got.Existing || got.ID != dead {
		t.Errorf("enqueue of the new arguments: got receipt %+v, want the existing job %s", got, dead)
	}
	if got := enqueue(wrong); got.Existing {
		t.Errorf("enqueue of the old arguments: got the existing job %s, want a new job", got.ID)
	}
}
