package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The outcomes of an exchange are written in one transaction. What that cannot do
// must not keep the others: a transaction of the program's own may hold a job or
// the lock on dead letters for as long as it is open, and the server may refuse a value. Then
// they are written in parts, and those that are at fault get an error of their own.
const (
	// partBytes bounds what the outcomes of one transaction bring: a message to the
	// server is to stay far below the gigabyte that it may have.
	partBytes = 32 << 20
	// lockRetry is how long a part of the outcomes waits for a lock, after all of
	// them have waited together, and lockBrief a part of a part.
	lockRetry = 200 * time.Millisecond
	lockBrief = 20 * time.Millisecond
)

var (
	lockLimit = &sqlstore.Query{Name: "lockLimit"}
	lockFree  = &sqlstore.Query{Name: "lockFree"}
	seeRuns   = &sqlstore.Query{Name: "seeRuns"}
)

// lockWait is how long outcomes wait for a lock when nothing is known to be wrong.
func (s *Store) lockWait() time.Duration { return s.options.StatementTimeout / 10 }

func limitLocks(wait time.Duration) pg.Step {
	return pg.Step{Q: lockLimit, Args: []any{strconv.FormatInt(max(1, wait.Milliseconds()), 10)}}
}

// settleAll is the half of an exchange that writes outcomes. Notice says where jobs are
// ready after it.
func (s *Store) settleAll(ctx context.Context, outcomes []job.Outcome) (answers []error, notice claims.Notice, err error) {
	n := partOf(outcomes)
	if n == len(outcomes) {
		return s.settlePart(ctx, outcomes)
	}
	answers = make([]error, 0, len(outcomes))
	for rest := outcomes; len(rest) > 0; rest = rest[n:] {
		n = partOf(rest)
		got, more, err := s.settlePart(ctx, rest[:n])
		switch {
		case err != nil && len(answers) == 0:
			return nil, claims.Notice{}, err
		case err != nil: // what is written stays so
			for len(answers) < len(outcomes) {
				answers = append(answers, err)
			}
			return answers, notice, nil
		}
		answers = append(answers, got...)
		notice.Merge(more)
	}
	return answers, notice, nil
}

// partOf returns how many outcomes are written together: all, when they are not
// too long.
func partOf(outcomes []job.Outcome) int {
	size := 0
	for i := range outcomes {
		if size += sizeOf(&outcomes[i]); size > partBytes && i > 0 {
			return i
		}
	}
	return len(outcomes)
}

func sizeOf(o *job.Outcome) int {
	n := len(o.Result) + len(o.Memo)
	if f := o.Failure; f != nil {
		n += len(f.Message) + len(f.UserMessage) + len(f.Class) + len(f.Code) + len(f.Signal) + len(f.Holder) +
			len(f.Build) + len(f.Correlation) + len(f.Fingerprint) + len(f.Details) + len(f.Stderr) + len(f.Stdout) + len(f.Stack) + len(f.Decision)
	}
	return n
}

func (s *Store) settlePart(ctx context.Context, outcomes []job.Outcome) ([]error, claims.Notice, error) {
	answers, notice, err := s.settleOnce(ctx, outcomes, s.lockWait(), false)
	if err == nil || !divisible(err) || ctx.Err() != nil {
		return answers, notice, err
	}
	answers, notice = s.settleIsolated(ctx, outcomes)
	return answers, notice, nil
}

// divisible reports whether an error, after which nothing is written, may come from
// only some of the outcomes: others hold what they need, or the server refuses them, or
// they took too long.
func divisible(err error) bool { return pg.HeldUp(err) || refuses(err) }

// refuses reports whether the server refuses a value.
func refuses(err error) bool {
	return pg.OfStatement(err) || strings.HasPrefix(pg.SQLState(err), "54") // program limit exceeded
}

// settleOnce writes outcomes in one transaction. Apart leaves out those whose jobs
// others hold.
func (s *Store) settleOnce(ctx context.Context, outcomes []job.Outcome, wait time.Duration, apart bool) (
	answers []error, notice claims.Notice, err error,
) {
	for careful := apart; ; careful = true {
		err = s.fast(ctx, func(t *fastTxn) (err error) {
			w := settling{s: s, t: t, outcomes: outcomes, plain: make([]*ending, len(outcomes)),
				single: pg.Ints(0), careful: careful, wait: wait}
			if apart {
				if err := w.leaveOut(); err != nil {
					return err
				}
			}
			answers, err = w.settle()
			notice = w.notice
			crashpoint.Hit(crashpoint.BeforeSettleCommit)
			if notice.Empty() && t.Wakes() { // a redrive may go on
				notice = claims.Notice{Signals: true}
			}
			return err
		})
		if !errors.Is(err, errMissed) {
			break
		}
	}
	if err != nil {
		return nil, claims.Notice{}, err
	}
	crashpoint.Hit(crashpoint.AfterSettleCommit)
	s.hot.runs.Forget(ended(outcomes, answers))
	s.news.tell(notice)
	return answers, notice, nil
}

// ended returns the outcomes that are not to be asked again.
func ended(outcomes []job.Outcome, answers []error) []job.Outcome {
	var some []job.Outcome
	for i, err := range answers {
		switch left := errors.Is(err, store.ErrUnavailable); {
		case left && some == nil:
			some = append(make([]job.Outcome, 0, len(outcomes)), outcomes[:i]...)
		case !left && some != nil:
			some = append(some, outcomes[i])
		}
	}
	if some == nil {
		return outcomes
	}
	return some
}

// leaveOut locks the jobs that nobody else holds, and marks the others.
func (w *settling) leaveOut() error {
	w.stuck = make(map[job.ID]bool)
	ids := w.ids()
	free := make(map[job.ID]bool)
	return w.t.send(limitLocks(w.wait),
		pg.Step{Q: lockFree, Args: []any{ids}, Each: func(r sqlstore.Row) error {
			free[job.ID(r.Int(0))] = true
			return nil
		}},
		pg.Step{Q: seeRuns, Args: []any{ids}, Each: func(r sqlstore.Row) error {
			if id := job.ID(r.Int(0)); !free[id] {
				w.stuck[id] = true
			}
			return nil
		}})
}

// errHeld is that of an outcome whose job is held.
func errHeld(id job.ID) error {
	return fmt.Errorf("job %d: another transaction holds its row, most likely one that has called CompleteTx and is still open: "+
		"commit it or roll it back: %w", id, store.ErrUnavailable)
}

// parts writes the outcomes of an exchange in several transactions.
type parts struct {
	s        *Store
	ctx      context.Context //nolint:containedctx // of the one call that it serves
	outcomes []job.Outcome
	answers  []error
	left     map[job.ID]error // what is not written yet, and why: nothing later of its job may be
	notice   claims.Notice
	waited   int   // how often in vain
	over     error // what ended all
}

// settleIsolated writes first what needs no lock on dead letters, then the deaths, then the rest.
func (s *Store) settleIsolated(ctx context.Context, outcomes []job.Outcome) ([]error, claims.Notice) {
	p := parts{s: s, ctx: ctx, outcomes: outcomes, answers: make([]error, len(outcomes)),
		left: make(map[job.ID]error)}
	var plain, deaths, others []int
	seen := make(map[job.ID]bool, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		kind, _ := s.kindOf(o)
		switch {
		case seen[o.ID]: // comes after the first
			others = append(others, i)
		case kind == closes || kind == postpones:
			plain = append(plain, i)
		case kind == dies:
			deaths = append(deaths, i)
		default:
			others = append(others, i)
		}
		seen[o.ID] = true
	}
	for _, some := range [][]int{plain, deaths, others} {
		if len(some) > 0 {
			p.write(some)
		}
	}
	return p.answers, p.notice
}

// write writes some of the outcomes, and parts of them when they cannot be written
// together.
func (p *parts) write(some []int) {
	wait := lockRetry
	inParts(some, func(part []int) []int {
		rest := p.try(part, wait)
		wait = lockBrief
		return rest
	})
}

// try writes some of the outcomes together. It returns those that are to be written in parts, nil for none.
func (p *parts) try(some []int, wait time.Duration) (rest []int) {
	if p.over != nil {
		p.fail(some, p.over)
		return nil
	}
	some = slices.DeleteFunc(slices.Clone(some), func(i int) bool {
		p.answers[i] = p.left[p.outcomes[i].ID]
		return p.answers[i] != nil
	})
	if len(some) == 0 {
		return nil
	}
	outcomes := make([]job.Outcome, len(some))
	for k, i := range some {
		outcomes[k] = p.outcomes[i]
	}
	answers, notice, err := p.s.settleOnce(p.ctx, outcomes, wait, true)
	switch {
	case err == nil:
		for k, i := range some {
			p.answers[i] = answers[k]
			if errors.Is(answers[k], store.ErrUnavailable) {
				p.left[p.outcomes[i].ID] = answers[k]
			}
		}
		p.notice.Merge(notice)
		return nil
	case !divisible(err) || p.ctx.Err() != nil:
		p.over = err
		p.fail(some, err)
		return nil
	case !refuses(err):
		p.waited++
		if pg.SQLState(err) == pg.StateCanceled { // which took longer, or a person has done it
			p.waited += dividesMax / 4
		}
		if len(some) == 1 || p.waited >= dividesMax || ofDeadLetters(err) && p.deaths(some) {
			p.fail(some, err)
			return nil
		}
	case len(some) == 1:
		p.answers[some[0]] = fmt.Errorf("job %d: PostgreSQL refuses its outcome: %w: %w", outcomes[0].ID, store.ErrInvalid, err)
		return nil
	}
	return some
}

func (p *parts) fail(some []int, err error) {
	for _, i := range some {
		id := p.outcomes[i].ID
		p.answers[i] = fmt.Errorf("job %d: its outcome is not written yet: %w", id, err)
		p.left[id] = p.answers[i]
	}
}

// deaths reports whether some are all deaths: they need the lock on dead letters, each of them.
func (p *parts) deaths(some []int) bool {
	for _, i := range some {
		if p.outcomes[i].To != job.Dead {
			return false
		}
	}
	return true
}

// ofDeadLetters reports whether an error is that of an advisory lock.
func ofDeadLetters(err error) bool {
	f, ok := errors.AsType[*pg.Failed](err)
	return ok && f.What == lock.Name
}
