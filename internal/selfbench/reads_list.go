package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/seed"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// reader has what the measured reads ask for.
type reader struct {
	*redrive.Client
	shape seed.Shape
	now   job.Micros // the end of the history of the database
}

func newReader(c *redrive.Client, s seed.Shape, now job.Micros) *reader {
	return &reader{Client: c, shape: s, now: now}
}

// all returns the measured reads.
func (r *reader) all() []read {
	reads := append(r.lists(), r.pages()...)
	reads = append(reads, r.deadLists()...)
	return append(reads, r.counts()...)
}

// pick returns a number below n that differs from call to call.
func pick(i, n int) int { return i * 7919 % n }

// id returns the id of a job.
func (r *reader) id(i int) job.ID { return job.ID(1 + i*104_729%r.shape.Jobs()) }

func (r *reader) ids(i int) []job.ID {
	ids := make([]job.ID, job.PageMax)
	for k := range ids {
		ids[k] = r.id(i*job.PageMax + k)
	}
	return ids
}

// before returns a time in the history.
func (r *reader) before(i int) job.Micros {
	return r.now.Add(-time.Duration(1+pick(i, 20)) * time.Hour)
}

// list makes a read of one page of jobs.
func (r *reader) list(name string, filter func(i int) store.Filter) read {
	return read{"list of jobs " + name, readMax, func(ctx context.Context, i int) error {
		f := filter(i)
		_, err := r.List(ctx, f)
		return err
	}}
}

// found is list, for a filter that must find something.
func (r *reader) found(name string, filter func(i int) store.Filter) read {
	return read{"list of jobs " + name, readMax, func(ctx context.Context, i int) error {
		page, err := r.List(ctx, filter(i))
		if err == nil && len(page.Jobs) == 0 && page.Next.IsZero() {
			return errors.New("the list is empty")
		}
		return err
	}}
}

// lists returns the lists of jobs by each field, in each order.
func (r *reader) lists() []read {
	owner := func(i int) string { return r.shape.Owner(pick(i, r.shape.Owners)) }
	kind := func(i int) string { return r.shape.Kind(pick(i, r.shape.Kinds)) }
	queue := func(i int) string { return r.shape.Queue(pick(i, r.shape.Kinds)) }
	group := func(i int) string { g, _ := r.shape.Group(pick(i, r.shape.Groups)); return g }
	class := func(i int) string { _, c := r.shape.Group(pick(i, r.shape.Groups)); return c }
	states := func(s ...job.State) []job.State { return s }
	var reads []read
	add := func(found bool, name string, filter func(i int) store.Filter) {
		if found {
			reads = append(reads, r.found(name, filter))
			return
		}
		reads = append(reads, r.list(name, filter))
	}
	add(true, "without a filter", func(int) store.Filter { return store.Filter{} })
	add(true, "of 500", func(int) store.Filter { return store.Filter{Limit: job.PageMax} })
	add(true, "from a cursor", func(i int) store.Filter { return store.Filter{From: store.Cursor{ID: r.id(i) + 1}} })
	for _, s := range []job.State{job.Waiting, job.Retrying, job.Completed, job.Dead} {
		add(true, "by state "+s.String(), func(int) store.Filter { return store.Filter{States: states(s)} })
	}
	add(false, "by state running", func(int) store.Filter { return store.Filter{States: states(job.Running)} })
	add(true, "by kind", func(i int) store.Filter { return store.Filter{Kind: kind(i)} })
	add(true, "by queue", func(i int) store.Filter { return store.Filter{Queue: queue(i)} })
	add(false, "by a kind without jobs", func(int) store.Filter { return store.Filter{Kind: "none"} })
	add(true, "by owner", func(i int) store.Filter { return store.Filter{Owner: owner(i)} })
	add(true, "by an owner with many jobs", func(i int) store.Filter { return store.Filter{Owner: r.shape.Owner(i % 5)} })
	add(false, "by owner and state", func(i int) store.Filter { return store.Filter{Owner: owner(i), States: states(job.Dead)} })
	add(false, "by an owner with many jobs, and state", func(i int) store.Filter {
		return store.Filter{Owner: r.shape.Owner(i % 5), States: states(job.Retrying)}
	})
	add(false, "by an owner without jobs", func(i int) store.Filter { return store.Filter{Owner: fmt.Sprint("none-", i)} })
	add(true, "by correlation", func(i int) store.Filter {
		return store.Filter{Correlation: r.shape.Correlation(job.ID(1 + pick(i, r.shape.Jobs()/20)*20))}
	})
	add(true, "by key", func(i int) store.Filter {
		owner, kind, key := r.shape.Key(job.ID(1 + pick(i, r.shape.Jobs()/10)*10))
		return store.Filter{Owner: owner, Kind: kind, Key: key}
	})
	add(false, "by class, retrying", func(i int) store.Filter { return store.Filter{Class: class(i), States: states(job.Retrying)} })
	add(false, "by group", func(i int) store.Filter { return store.Filter{Group: group(i)} })
	add(false, "by group, dead, latest end first", func(i int) store.Filter {
		return store.Filter{Group: group(i), States: states(job.Dead), Order: store.Ended}
	})
	add(true, "by class, dead, latest end first", func(i int) store.Filter {
		return store.Filter{Class: class(i), States: states(job.Dead), Order: store.Ended}
	})
	add(true, "by time of death", func(i int) store.Filter {
		at := r.before(i)
		return store.Filter{States: states(job.Dead), Order: store.Ended, Ended: store.Span{Since: at, Until: at.Add(time.Hour)}}
	})
	add(false, "by owner, dead, latest end first", func(i int) store.Filter {
		return store.Filter{Owner: owner(i), States: states(job.Dead), Order: store.Ended}
	})
	add(true, "latest end first", func(int) store.Filter { return store.Filter{Order: store.Ended} })
	add(true, "by time of the end", func(i int) store.Filter {
		at := r.before(i)
		return store.Filter{Order: store.Ended, Ended: store.Span{Since: at, Until: at.Add(time.Hour)}}
	})
	add(true, "by owner, latest end first", func(i int) store.Filter { return store.Filter{Owner: owner(i), Order: store.Ended} })
	add(false, "by an owner with many jobs, latest end first", func(i int) store.Filter {
		return store.Filter{Owner: r.shape.Owner(i % 5), Order: store.Ended}
	})
	add(true, "first due first", func(int) store.Filter { return store.Filter{Order: store.Due} })
	add(true, "first due first, of 500", func(int) store.Filter { return store.Filter{Order: store.Due, Limit: job.PageMax} })
	add(true, "retrying, first due first", func(int) store.Filter { return store.Filter{Order: store.Due, States: states(job.Retrying)} })
	add(true, "waiting, first due first", func(int) store.Filter { return store.Filter{Order: store.Due, States: states(job.Waiting)} })
	add(true, "by queue, first due first", func(i int) store.Filter { return store.Filter{Order: store.Due, Queue: queue(i)} })
	add(false, "by owner, first due first", func(i int) store.Filter { return store.Filter{Order: store.Due, Owner: owner(i)} })
	add(false, "by an owner with many jobs, first due first", func(i int) store.Filter {
		return store.Filter{Order: store.Due, Owner: r.shape.Owner(i % 5)}
	})
	add(true, "by due time", func(i int) store.Filter {
		return store.Filter{Order: store.Due, Due: store.Span{Since: r.now.Add(time.Duration(i) * time.Minute)}}
	})
	add(true, "by time of the enqueue", func(i int) store.Filter { return store.Filter{Created: store.Span{Until: r.before(i)}} })
	add(false, "by batch", func(i int) store.Filter { return store.Filter{Batch: int64(1 + i*16_000)} })
	add(false, "by worker", func(i int) store.Filter { return store.Filter{Worker: fmt.Sprint("none-", i)} })
	add(false, "by attribute", func(i int) store.Filter {
		return store.Filter{Attr: store.Attr{Name: "customer", Value: fmt.Sprint("c-", i)}}
	})
	add(false, "by an attribute without jobs", func(int) store.Filter { return store.Filter{Attr: store.Attr{Name: "customer", Value: "none"}} })
	add(false, "by text", func(i int) store.Filter { return store.Filter{Text: fmt.Sprintf("cause %d)", pick(i, r.shape.Groups))} })
	add(false, "by a text without jobs", func(int) store.Filter { return store.Filter{Text: "nowhere to be found"} })
	return reads
}

// pages returns the reads of single jobs, and of several at once.
func (r *reader) pages() []read {
	return []read{
		{"a job", readMax, func(ctx context.Context, i int) error { _, err := r.Get(ctx, r.id(i)); return err }},
		{"the failures of a job", readMax, func(ctx context.Context, i int) error { _, err := r.Failures(ctx, r.id(i)); return err }},
		{"500 jobs by their ids", readMax, func(ctx context.Context, i int) error {
			all, err := r.GetAll(ctx, r.ids(i))
			if err == nil && len(all) != job.PageMax {
				return fmt.Errorf("got %d jobs, want %d", len(all), job.PageMax)
			}
			return err
		}},
		{"the last failures of 500 jobs", readMax, func(ctx context.Context, i int) error { _, err := r.Latest(ctx, r.ids(i)); return err }},
		{"the job of a key", readMax, func(ctx context.Context, i int) error {
			_, err := r.Lookup(ctx, "none", "none", fmt.Sprint(i))
			if errors.Is(err, store.ErrNotFound) {
				owner, kind, key := r.shape.Key(job.ID(1 + pick(i, r.shape.Jobs()/10)*10))
				_, err = r.Lookup(ctx, owner, kind, key)
			}
			return err
		}},
	}
}
