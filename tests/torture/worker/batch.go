//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// Limits of the batches of a client.
const (
	callsMax   = 3 // calls that add members
	membersMax = 6 // members of a call
)

// batch creates a batch, adds its members in some calls, some of them twice, and publishes it.
func (p *producer) batch(ctx context.Context) error {
	p.made++
	key := fmt.Sprintf("batch of %s-%d", p.name, p.made)
	if err := p.book.Note(ledger.Line{Op: ledger.Draft, At: time.Now().UnixMicro(), Batch: key}); err != nil {
		return err
	}
	calls := make([][]ledger.Line, 1+p.rand.IntN(callsMax))
	for i := range calls {
		calls[i] = make([]ledger.Line, 1+p.rand.IntN(membersMax))
		for k := range calls[i] {
			calls[i][k] = p.member(key)
		}
	}
	if p.rand.IntN(2) == 0 {
		calls = append(calls, calls[0])
	}
	return p.publish(ctx, key, calls)
}

// member makes a random member of a batch. It has no deadline, because it may be a draft for long.
func (p *producer) member(batch string) ledger.Line {
	l := p.submission()
	if l.Plan == plan.Hasty {
		l.Plan, l.Deadline = plan.Quick, 0
	}
	l.Batch, l.Key = batch, "key of "+l.Name
	l.Digest = check.Digest(payload(&l))
	return l
}

// publish adds members in some calls and publishes their batch. All calls have keys, so they are
// repeated after an error, also by the next client.
func (p *producer) publish(ctx context.Context, key string, calls [][]ledger.Line) error {
	by := redrive.By{Actor: "client"}
	var h *redrive.BatchHandle
	err := persist(ctx, func() (err error) {
		h, err = p.client.NewBatch(ctx, redrive.By{}, redrive.BatchSpec{Key: key,
			Callbacks: []redrive.BatchCallback{{On: "end", Kind: plan.Ended, Queue: redrive.DefaultQueue}}})
		return err
	})
	if err != nil {
		return err
	}
	for _, lines := range calls {
		specs := make([]redrive.Spec, len(lines))
		for i := range lines {
			lines[i].Op, lines[i].At = ledger.Submit, time.Now().UnixMicro()
			specs[i] = redrive.NewRaw(lines[i].Plan.Kind(), payload(&lines[i]), &redrive.Options{Key: lines[i].Key, Correlation: lines[i].Name})
		}
		if err := p.book.Note(lines...); err != nil {
			return err
		}
		var receipts []redrive.Receipt
		err := persist(ctx, func() (err error) {
			receipts, err = h.Add(ctx, specs...)
			return err
		})
		if err != nil {
			return fmt.Errorf("add members to %s: %w", key, err)
		}
		for i := range lines {
			lines[i].Op, lines[i].At = ledger.Taken, time.Now().UnixMicro()
			lines[i].ID, lines[i].Existing = receipts[i].ID, receipts[i].Existing
			p.taken++
		}
		if err := p.book.Note(lines...); err != nil {
			return err
		}
	}
	err = persist(ctx, func() error {
		_, err := h.Publish(ctx, by)
		return err
	})
	if err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	return p.book.Note(ledger.Line{Op: ledger.Published, At: time.Now().UnixMicro(), Batch: key})
}

// persist repeats a call while the store has a trouble that passes.
func persist(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || !place.Passes(err) || ctx.Err() != nil {
			return err
		}
		pause(ctx, troubleWait)
	}
}

// drafts are the batches that earlier clients have begun and not published, with their members.
type drafts map[string][]ledger.Line

// add reads a line, and reports whether it is about a batch.
func (d *drafts) add(l ledger.Line) bool {
	if *d == nil {
		*d = make(drafts)
	}
	switch {
	case l.Batch == "":
		return false
	case l.Op == ledger.Published:
		delete(*d, l.Batch)
	case l.Op == ledger.Draft:
		(*d)[l.Batch] = nil
	case l.Op == ledger.Submit && !slices.ContainsFunc((*d)[l.Batch], func(m ledger.Line) bool { return m.Name == l.Name }):
		(*d)[l.Batch] = append((*d)[l.Batch], l)
	}
	return true
}

// finishAll publishes the batches that earlier clients have begun, by the same calls.
func (p *producer) finishAll(ctx context.Context, all drafts) error {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		members := all[key]
		if len(members) == 0 { // the client was killed before it had any
			members = []ledger.Line{p.member(key)}
		}
		calls := slices.Collect(slices.Chunk(members, membersMax))
		if err := p.publish(ctx, key, calls); err != nil {
			return err
		}
	}
	return nil
}
