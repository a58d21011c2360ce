//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// batchMax is the largest number of jobs in one call.
const batchMax = 16

// producer enqueues jobs and keeps a ledger of it.
type producer struct {
	*options
	store  *place.Place
	client *redrive.Client
	book   *ledger.Book
	rand   *rand.Rand
	made   int // the number of submissions; it also gives each submission its number
	taken  int // number of acknowledged jobs
	keyed  []ledger.Line
}

func enqueueAll(ctx context.Context, o *options, st *place.Place, book *ledger.Book) error {
	client, err := redrive.New(st, nil)
	if err != nil {
		return err
	}
	p := &producer{options: o, store: st, client: client, book: book, rand: rand.New(rand.NewPCG(o.seed, 0))}
	if err := p.askAgain(ctx); err != nil {
		return err
	}
	for p.taken < o.enqueue || ctx.Err() == nil && !o.once {
		if err := p.call(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		p.waitForRoom(ctx)
	}
	return nil
}

// waitForRoom waits until few jobs are live, so that a round ends in time.
func (p *producer) waitForRoom(ctx context.Context) {
	for ctx.Err() == nil {
		counts, err := p.store.Counts(ctx)
		live := int64(0)
		for _, c := range counts {
			if !c.State.Terminal() {
				live += c.N
			}
		}
		if err == nil && live < p.backlog {
			return
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// call makes one call that enqueues jobs. The form of the call is chosen at random.
func (p *producer) call(ctx context.Context) error {
	switch n := p.rand.IntN(100); {
	case n < 10:
		return p.inTx(ctx)
	case n < 20 && len(p.keyed) > 0:
		return p.sameKey(ctx)
	case n < 32:
		return p.batch(ctx)
	}
	lines := make([]ledger.Line, 1+p.rand.IntN(batchMax))
	for i := range lines {
		lines[i] = p.submission()
	}
	return p.enqueue(ctx, lines)
}

// submission makes a random job; half of the jobs have a key.
func (p *producer) submission() ledger.Line {
	p.made++
	l := ledger.Line{Op: ledger.Submit, Name: fmt.Sprintf("%s-%d", p.name, p.made), Plan: plan.Pick(p.rand.IntN(100))}
	if p.rand.IntN(2) == 0 {
		l.Key = "key of " + l.Name
	}
	if p.rand.IntN(10) == 0 {
		l.Pad = p.rand.IntN(8 << 10)
	}
	if p.poison > 0 {
		p.poison--
		l.Plan = plan.Poison
	}
	if l.Plan == plan.Hasty {
		wait := plan.DeadlineMin + time.Duration(p.rand.Int64N(int64(plan.DeadlineMax-plan.DeadlineMin)))
		l.Deadline = time.Now().Add(wait).UnixMicro()
	}
	l.Digest = check.Digest(payload(&l))
	return l
}

func payload(l *ledger.Line) []byte {
	name := l.Name
	if l.Key != "" {
		name = l.Key // a repeated call must have the same payload, so the payload depends only on the key
	}
	return plan.Payload(name, l.Plan, l.Pad)
}

func spec(l *ledger.Line) redrive.Spec {
	o := &redrive.Options{Key: l.Key, Correlation: l.Name}
	if l.Deadline != 0 {
		o.Deadline = time.UnixMicro(l.Deadline)
	}
	return redrive.NewRaw(l.Plan.Kind(), payload(l), o)
}

// sameKey enqueues a known key again, sometimes with another payload.
func (p *producer) sameKey(ctx context.Context) error {
	l := p.keyed[p.rand.IntN(len(p.keyed))]
	p.made++
	l.Op, l.Name = ledger.Submit, fmt.Sprintf("%s-%d", p.name, p.made)
	if p.rand.IntN(4) == 0 {
		l.Pad++
	}
	l.Digest = check.Digest(payload(&l))
	return p.enqueue(ctx, []ledger.Line{l})
}

// enqueue makes one call and records its answer.
func (p *producer) enqueue(ctx context.Context, lines []ledger.Line) error {
	specs := make([]redrive.Spec, len(lines))
	for i := range lines {
		lines[i].At = time.Now().UnixMicro()
		specs[i] = spec(&lines[i])
	}
	if err := p.book.Note(lines...); err != nil {
		return err
	}
	receipts, err := p.client.EnqueueMany(ctx, specs)
	return p.answered(ctx, lines, receipts, err)
}

func (p *producer) answered(ctx context.Context, lines []ledger.Line, receipts []redrive.Receipt, err error) error {
	if errors.Is(err, store.ErrUnknown) {
		return nil // nothing is recorded when no answer came
	}
	for i := range lines {
		lines[i].Op, lines[i].At = ledger.Refused, time.Now().UnixMicro()
		if err == nil {
			lines[i].Op, lines[i].ID, lines[i].Existing = ledger.Taken, receipts[i].ID, receipts[i].Existing
			p.taken++
			if lines[i].Key != "" {
				p.keyed = append(p.keyed, lines[i])
			}
		}
	}
	if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, errRolledBack) {
		pause(ctx, troubleWait)
	}
	return p.book.Note(lines...)
}

var errRolledBack = errors.New("the application rolls this transaction back on purpose")

// inTx enqueues a job together with a row of the application. It rolls every third such transaction
// back.
func (p *producer) inTx(ctx context.Context) error {
	l := p.submission()
	l.Key, l.InTx, l.At = "", true, time.Now().UnixMicro()
	l.Digest = check.Digest(payload(&l))
	if err := p.book.Note(l); err != nil {
		return err
	}
	var receipt redrive.Receipt
	err := p.store.Tx(ctx, func(ctx context.Context, tx *place.Tx) error {
		if err := tx.Exec(ctx, `INSERT INTO orders (name) VALUES (?)`, l.Name); err != nil {
			return err
		}
		var err error
		if receipt, err = p.client.EnqueueTx(ctx, tx.Jobs, spec(&l)); err != nil {
			return err
		}
		if p.rand.IntN(3) == 0 {
			return errRolledBack
		}
		return nil
	})
	return p.answered(ctx, []ledger.Line{l}, []redrive.Receipt{receipt}, err)
}

// askAgain repeats the enqueues of earlier clients that got no answer. Their keys make that safe.
func (p *producer) askAgain(ctx context.Context) error {
	if p.again == "" {
		return nil
	}
	paths, err := filepath.Glob(p.again)
	if err != nil {
		return err
	}
	unanswered := make(map[string]ledger.Line)
	var drafts drafts
	for _, path := range paths {
		lines, err := ledger.Read(path)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if drafts.add(l) {
				continue
			}
			if l.Op == ledger.Submit {
				unanswered[l.Name] = l
			} else {
				delete(unanswered, l.Name)
			}
		}
	}
	for _, l := range unanswered {
		if l.Key == "" {
			continue
		}
		if err := p.enqueue(ctx, []ledger.Line{l}); err != nil {
			return err
		}
	}
	return p.finishAll(ctx, drafts)
}
