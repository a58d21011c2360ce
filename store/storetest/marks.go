package storetest

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has the promises about marks of effects outside of the store.

func (r *rig) claimMark(key, holder string) store.Mark {
	m, err := r.ClaimMark(ctx(), store.MarkClaim{Key: key, Holder: holder, Lease: time.Minute, Job: 7})
	r.ok(err)
	return m
}

// part of: I2
func markHasOneHolder(r *rig) {
	a := r.claimMark("mail:1", "p1")
	same(r, "mark", a, store.Mark{Key: "mail:1", Holder: "p1", Token: 1, Until: r.in(time.Minute), ForgetAt: r.in(time.Minute + store.MarkAbandoned), Job: 7})
	second := store.MarkClaim{Key: "mail:1", Holder: "p2", Lease: time.Minute}
	r.unchanged(func() {
		_, err := r.ClaimMark(ctx(), second)
		if held, ok := errors.AsType[*store.MarkHeld](err); !ok || held.Mark != a {
			r.fail("got error %v, want that p1 holds the key", err)
		}
	})
	r.clock.Advance(time.Second)
	same(r, "lease of the same holder", r.claimMark("mail:1", "p1").Until, r.in(time.Minute))
	r.clock.Advance(time.Minute)
	b, err := r.ClaimMark(ctx(), second)
	r.ok(err)
	same(r, "the next holder", []any{b.Token, b.Holder}, []any{int64(2), "p2"})
	late := store.MarkEnd{Key: "mail:1", Holder: "p1", Token: 1, Done: true}
	r.unchanged(func() { r.is(r.EndMark(ctx(), late), store.ErrLeaseLost) })
	done := store.MarkEnd{Key: "mail:1", Holder: "p2", Token: 2, Done: true, Summary: "sent"}
	r.ok(r.EndMark(ctx(), done))
	r.unchanged(func() {
		r.ok(r.EndMark(ctx(), done)) // its answer was lost
		_, err := r.ClaimMark(ctx(), store.MarkClaim{Key: "mail:1", Holder: "p3", Lease: time.Minute})
		if was, ok := errors.AsType[*store.MarkDone](err); !ok || was.Mark.Summary != "sent" || was.Mark.DoneAt != r.now() {
			r.fail("got error %v, want that the effect was done", err)
		}
	})
	r.claimMark("mail:2", "p1")
	r.ok(r.EndMark(ctx(), store.MarkEnd{Key: "mail:2", Holder: "p1", Token: 1}))
	r.unchanged(func() {
		r.is(r.EndMark(ctx(), store.MarkEnd{Key: "mail:2", Holder: "p1", Token: 1, Done: true}), store.ErrLeaseLost)
	})
	same(r, "token of a key that was given back", r.claimMark("mail:2", "p2").Token, int64(1))
}

// Sixteen claim each of many keys at once, and one of them gets it. A guard that looks, runs and marks in three
// steps lets two of them run.
//
// part of: I2
func markOfSixteen(r *rig) {
	const ways, keys = 16, 20
	var won [keys]atomic.Int64
	var all sync.WaitGroup
	for way := range ways {
		all.Go(func() {
			for k := range keys {
				key := "k" + strconv.Itoa((k+way)%keys)
				m, err := r.ClaimMark(ctx(), store.MarkClaim{Key: key, Holder: "p" + strconv.Itoa(way), Lease: time.Minute})
				if err == nil {
					won[(k+way)%keys].Add(1)
					err = r.EndMark(ctx(), store.MarkEnd{Key: key, Holder: m.Holder, Token: m.Token, Done: true})
				} else if errors.Is(err, store.ErrConflict) {
					err = nil
				}
				if err != nil {
					r.fail("key %s: %v", key, err)
				}
			}
		})
	}
	all.Wait()
	for k := range won {
		same(r, "winners of key "+strconv.Itoa(k), won[k].Load(), int64(1))
	}
}

// part of: I2
func markIsForgotten(r *rig) {
	for _, key := range []string{"a", "b", "c", "d"} {
		m := r.claimMark(key, "p1")
		r.ok(r.EndMark(ctx(), store.MarkEnd{Key: key, Holder: "p1", Token: m.Token, Done: true, Keep: time.Hour}))
	}
	r.claimMark("crashed", "p1")
	r.clock.Advance(time.Hour)
	again := r.claimMark("d", "p2") // it counts no more
	same(r, "token", again.Token, int64(2))
	r.ok(r.EndMark(ctx(), store.MarkEnd{Key: "d", Holder: "p2", Token: 2, Done: true}))
	left := func() (keys string) {
		for _, m := range r.dump().Marks {
			keys += m.Key + " "
		}
		return keys
	}
	same(r, "marks after a call has removed two", left(), "c crashed d ")
	r.clock.Advance(store.MarkAbandoned)
	m := r.claimMark("e", "p1")
	r.ok(r.EndMark(ctx(), store.MarkEnd{Key: "e", Holder: "p1", Token: m.Token}))
	same(r, "marks after a month", left(), "d ")
}

// part of: X3
func markBounds(r *rig) {
	long := strings.Repeat("x", job.TextMax+1)
	r.unchanged(func() {
		for _, c := range []store.MarkClaim{{Holder: "p", Lease: 1}, {Key: "k", Lease: 1}, {Key: "k", Holder: "p"}, {Key: "k", Holder: "p", Lease: store.MarkLeaseMax + 1}} {
			_, err := r.ClaimMark(ctx(), c)
			r.is(err, store.ErrInvalid)
		}
		_, err := r.ClaimMark(ctx(), store.MarkClaim{Key: long, Holder: "p", Lease: time.Second})
		r.is(err, store.ErrTooLarge)
		r.is(r.EndMark(ctx(), store.MarkEnd{Key: "k", Holder: "p", Keep: -1}), store.ErrInvalid)
		r.is(r.EndMark(ctx(), store.MarkEnd{Key: "k", Holder: "p", Summary: strings.Repeat("x", job.SummaryMax+1)}), store.ErrTooLarge)
		r.is(r.EndMark(ctx(), store.MarkEnd{Key: "k", Holder: "p", Token: 1, Done: true}), store.ErrLeaseLost)
	})
}
