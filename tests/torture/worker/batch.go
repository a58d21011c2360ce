//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// Limits of the batches of a client.
const (
	callsMax   = 3 // calls that add members
	membersMax = 6 // members of a call
)

// batch creates a batch, adds its members in some calls, some of them twice, and publishes it. Some of the drafts, and
// some batches with all of them, are discarded before; some batches are cancelled after that and their members added again.
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
	h, err := p.add(ctx, key, calls)
	if err != nil {
		return err
	}
	switch p.rand.IntN(6) {
	case 0:
		return p.drop(ctx, h, key, slices.Concat(calls...))
	case 1:
		if err := p.discard(ctx, h, calls[0]); err != nil {
			return err
		}
	case 2:
		if err := p.comeBack(ctx, h, key, calls); err != nil {
			return err
		}
	}
	return p.publish(ctx, h, key)
}

// drop discards a batch that is not published.
func (p *producer) drop(ctx context.Context, h *redrive.BatchHandle, key string, lines []ledger.Line) error {
	if err := p.book.Note(ledger.Line{Op: ledger.Drop, At: time.Now().UnixMicro(), Batch: key}); err != nil {
		return err
	}
	return p.discarding(lines, func() error { return persist(ctx, func() error { return h.Discard(ctx, redrive.By{Actor: "client"}) }) })
}

// discard discards all but the first of some drafts.
func (p *producer) discard(ctx context.Context, h *redrive.BatchHandle, lines []ledger.Line) error {
	var ids []redrive.JobID
	for i := range lines[1:] {
		ids = append(ids, lines[1+i].ID)
	}
	if len(ids) == 0 {
		return nil
	}
	return p.discarding(lines[1:], func() error {
		once := false
		return persist(ctx, func() error {
			err := h.Discard(ctx, redrive.By{Actor: "client"}, ids...)
			if once && errors.Is(err, redrive.ErrNotFound) { // the call without an answer has discarded them
				return nil
			}
			once = true
			return err
		})
	})
}

// discarding notes drafts before and after the call that discards them.
func (p *producer) discarding(lines []ledger.Line, call func() error) error {
	if err := p.noteAll(ledger.Discard, lines); err != nil {
		return err
	}
	if err := call(); err != nil {
		return fmt.Errorf("discard members of %s: %w", lines[0].Batch, err)
	}
	return p.noteAll(ledger.Discarded, lines)
}

func (p *producer) noteAll(op ledger.Op, lines []ledger.Line) error {
	for i := range lines {
		lines[i].Op, lines[i].At = op, time.Now().UnixMicro()
	}
	return p.book.Note(lines...)
}

// comeBack publishes a batch, cancels it, and adds its members again. Those that were cancelled come back as other
// jobs, so that all are submissions with other names and the same keys.
func (p *producer) comeBack(ctx context.Context, h *redrive.BatchHandle, key string, calls [][]ledger.Line) error {
	by := redrive.By{Actor: "client"}
	if err := persist(ctx, func() error { _, err := h.Publish(ctx, by); return err }); err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	var again []ledger.Line
	for _, l := range slices.Concat(calls...) {
		if !slices.ContainsFunc(again, func(m ledger.Line) bool { return m.Key == l.Key }) {
			p.made++
			l.Op, l.Name, l.ID, l.Existing = ledger.Submit, fmt.Sprintf("%s-%d", p.name, p.made), 0, false
			again = append(again, l)
		}
	}
	// They are noted before the call that cancels: the next client adds these.
	if err := p.book.Note(again...); err != nil {
		return err
	}
	if err := persist(ctx, func() error { return h.Cancel(ctx, by) }); err != nil {
		return fmt.Errorf("cancel %s: %w", key, err)
	}
	return p.addCalls(ctx, h, slices.Collect(slices.Chunk(again, membersMax)))
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

// add creates a batch and adds its members in some calls. All calls have keys, so they are repeated after an
// error, also by the next client.
func (p *producer) add(ctx context.Context, key string, calls [][]ledger.Line) (h *redrive.BatchHandle, err error) {
	err = persist(ctx, func() (err error) {
		h, err = p.client.NewBatch(ctx, redrive.By{}, redrive.BatchSpec{Key: key,
			Callbacks: []redrive.BatchCallback{{On: "end", Kind: plan.Ended, Queue: redrive.DefaultQueue}}})
		return err
	})
	if err == nil {
		err = p.addCalls(ctx, h, calls)
	}
	return h, err
}

func (p *producer) addCalls(ctx context.Context, h *redrive.BatchHandle, calls [][]ledger.Line) error {
	for _, lines := range calls {
		specs := make([]redrive.Spec, len(lines))
		for i := range lines {
			specs[i] = redrive.NewRaw(lines[i].Plan.Kind(), payload(&lines[i]), &redrive.Options{Key: lines[i].Key, Correlation: lines[i].Name})
		}
		if err := p.noteAll(ledger.Submit, lines); err != nil {
			return err
		}
		var receipts []redrive.Receipt
		err := persist(ctx, func() (err error) {
			receipts, err = h.Add(ctx, specs...)
			return err
		})
		if err != nil {
			return fmt.Errorf("add members to %s: %w", lines[0].Batch, err)
		}
		for i := range lines {
			lines[i].ID, lines[i].Existing = receipts[i].ID, receipts[i].Existing
			p.taken++
		}
		if err := p.noteAll(ledger.Taken, lines); err != nil {
			return err
		}
	}
	return nil
}

// publish publishes a batch for the last time.
func (p *producer) publish(ctx context.Context, h *redrive.BatchHandle, key string) error {
	err := persist(ctx, func() error {
		_, err := h.Publish(ctx, redrive.By{Actor: "client"})
		if refused, ok := errors.AsType[*store.BatchRefused](err); ok && refused.Why == store.BatchBusy { // the client before was killed while it cancelled the batch
			if err = h.Cancel(ctx, redrive.By{Actor: "client"}); err == nil {
				_, err = h.Publish(ctx, redrive.By{Actor: "client"})
			}
		}
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
	case l.Op == ledger.Published, l.Op == ledger.Drop:
		delete(*d, l.Batch)
	case l.Op == ledger.Draft:
		(*d)[l.Batch] = nil
	case l.Op == ledger.Submit:
		if _, open := (*d)[l.Batch]; !open {
			break
		}
		// Of the submissions with one key, the last one counts: see comeBack.
		members := slices.DeleteFunc((*d)[l.Batch], func(m ledger.Line) bool { return m.Key == l.Key })
		(*d)[l.Batch] = append(members, l)
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
		h, err := p.add(ctx, key, calls)
		if err == nil {
			err = p.publish(ctx, h, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
