//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
)

func token(j *redrive.Job[[]byte]) job.Token { return job.Token(j.Run) }

// noted is a store that records every outcome and its answer in the ledger.
type noted struct {
	*place.Place
	book  *ledger.Book
	log   *slog.Logger
	name  string
	lease time.Duration

	calls sync.RWMutex // Exchange holds the read lock; a late write, which does not come from the engine, holds the write lock

	mu   sync.Mutex
	held map[job.ID]job.Token // runs that this process has claimed and not settled
	inTx map[store.Run]bool   // runs that end in a transaction of the handler
}

func newNoted(st *place.Place, book *ledger.Book, log *slog.Logger, name string, lease time.Duration) *noted {
	return &noted{Place: st, book: book, log: log, name: name, lease: lease,
		held: make(map[job.ID]job.Token), inTx: make(map[store.Run]bool)}
}

// Exchange implements store.Worker.
func (s *noted) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	s.calls.RLock()
	defer s.calls.RUnlock()
	return s.exchange(ctx, x)
}

func (s *noted) exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	lines, at := s.outcomes(x.Settle)
	if err := s.note(lines); err != nil {
		return store.Exchanged{}, err
	}
	out, err := s.Place.Exchange(ctx, x)
	if err != nil {
		return out, err
	}
	answered := lines[:0]
	for i, outcome := range at {
		l := lines[i]
		l.Op, l.At = ledger.Settled, time.Now().UnixMicro()
		settled := out.Settled[outcome]
		switch {
		case settled == nil:
		case errors.Is(settled, store.ErrLeaseLost):
			l.Op = ledger.Late
		case place.Passes(settled):
			continue // nothing is recorded when no answer came
		default:
			return out, fmt.Errorf("an outcome was refused, but not because of a lost lease: %w", settled)
		}
		answered = append(answered, l)
	}
	s.keep(x.Settle, out.Claims)
	return out, s.note(answered)
}

// Heartbeat implements store.Worker.
func (s *noted) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	if b.Begin {
		lines := make([]ledger.Line, len(b.Runs))
		for i, run := range b.Runs {
			lines[i] = ledger.Line{Op: ledger.Start, At: time.Now().UnixMicro(), ID: run.ID, Token: run.Token}
		}
		if err := s.note(lines); err != nil {
			return nil, err
		}
	}
	return s.Place.Heartbeat(ctx, b)
}

// outcomes returns a line for each outcome that belongs in the ledger, with the outcome's position.
// The engine's outcome of a run that ended in a transaction is left out: the store has the outcome
// of the transaction.
func (s *noted) outcomes(settle []job.Outcome) (lines []ledger.Line, at []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range settle {
		o := &settle[i]
		if s.inTx[store.Run{ID: o.ID, Token: o.Token}] {
			continue
		}
		lines = append(lines, ledger.Line{Op: ledger.Settle, At: time.Now().UnixMicro(), ID: o.ID, Token: o.Token,
			Cause: uint8(o.Cause), To: o.To})
		at = append(at, i)
	}
	return lines, at
}

func (s *noted) note(lines []ledger.Line) error {
	if len(lines) == 0 {
		return nil
	}
	return s.book.Note(lines...)
}

// keep records the runs that this process currently has.
func (s *noted) keep(settled []job.Outcome, claims []job.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range settled {
		if o := &settled[i]; s.held[o.ID] == o.Token {
			delete(s.held, o.ID)
		}
	}
	for i := range claims {
		s.held[claims[i].ID] = claims[i].Token
	}
}

// endsInTx records that a run ends in a transaction.
func (s *noted) endsInTx(id job.ID, token job.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inTx[store.Run{ID: id, Token: token}] = true
	if s.held[id] == token {
		delete(s.held, id)
	}
}

// watchForStops notices when the process got no processor. After a considerable part of a lease it
// records this in the ledger. After more than a lease it also writes late outcomes, like a worker that has
// not noticed the pause.
func (s *noted) watchForStops(ctx context.Context) {
	tick := time.NewTicker(s.lease / 20)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Sub(last) > s.lease/5 {
			line := ledger.Line{Op: ledger.Stalled, Holder: s.name, From: last.UnixMicro(), At: now.UnixMicro()}
			go func() {
				if err := s.book.Note(line); err != nil {
					fmt.Fprintln(os.Stderr, "worker:", err)
				}
			}()
		}
		if now.Sub(last) > s.lease {
			if err := s.writeLate(ctx); err != nil {
				fmt.Fprintln(os.Stderr, "worker: the late writes failed:", err)
			}
			s.log.InfoContext(ctx, "awake")
		}
		last = now
	}
}

// writeLate reports success for every run of this process that another process has taken over. The
// store must refuse all of them.
func (s *noted) writeLate(ctx context.Context) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	var runs []store.Run
	s.mu.Lock()
	for id, token := range s.held {
		runs = append(runs, store.Run{ID: id, Token: token})
	}
	s.mu.Unlock()
	status, err := s.Heartbeat(ctx, store.Beat{Lease: s.lease, Runs: runs})
	if err != nil {
		return err
	}
	var late []job.Outcome
	for i, run := range runs {
		if !status[i].Held {
			late = append(late, job.Outcome{ID: run.ID, Token: run.Token, Cause: job.Succeeded, To: job.Completed,
				Result: []byte("too late")})
		}
	}
	if len(late) == 0 {
		return nil
	}
	_, err = s.exchange(ctx, store.Exchange{Holder: s.name, Lease: s.lease, Settle: late})
	return err
}
