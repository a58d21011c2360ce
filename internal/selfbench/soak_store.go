package selfbench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// watched wraps a store. It records which jobs were enqueued, ended and removed, and how
// long each claim took.
type watched struct {
	store.Store
	gate   *gate
	claims histogram // durations of exchanges that asked for jobs

	mu       sync.Mutex
	enqueued idSet // ids of the jobs whose enqueue the store confirmed
	ended    idSet // ids of the jobs that are completed or dead according to the answers of the store
	swept    int64 // number of jobs that were removed
	failed   error // error of the first call that failed
	failures int
	lost     int // number of runs that lost their lease
	changed  chan struct{}
	done     atomic.Int64 // number of jobs that have ended
}

func newWatched(s store.Store, backlog int) *watched {
	return &watched{Store: s, gate: newGate(backlog), changed: make(chan struct{}, 1)}
}

// Enqueue implements store.Producer.
func (w *watched) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	receipts, err := w.Store.Enqueue(ctx, jobs)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(ctx, "enqueue", err)
	for _, r := range receipts {
		w.enqueued.add(r.ID)
	}
	return receipts, err
}

// Exchange implements store.Worker.
func (w *watched) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	start := time.Now()
	out, err := w.Store.Exchange(ctx, x)
	if err == nil && len(x.Want) > 0 {
		w.claims.add(time.Since(start))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(ctx, "exchange", err)
	if err != nil {
		return out, err
	}
	var ended []job.ID
	for i := range x.Settle {
		switch o := &x.Settle[i]; {
		case out.Settled[i] == nil && o.To.Terminal():
			ended = append(ended, o.ID)
		case errors.Is(out.Settled[i], store.ErrLeaseLost):
			w.lost++
		default:
			w.note(ctx, "settle", out.Settled[i])
		}
	}
	w.over(append(ended, out.Expired...))
	return out, nil
}

// Rescue implements store.Worker.
func (w *watched) Rescue(ctx context.Context, limit int) (store.Rescue, error) {
	out, err := w.Store.Rescue(ctx, limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(ctx, "rescue", err)
	for i := range out.Jobs {
		if out.Jobs[i].To == job.Dead {
			w.over([]job.ID{out.Jobs[i].ID})
		}
	}
	return out, err
}

// Heartbeat implements store.Worker.
func (w *watched) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	out, err := w.Store.Heartbeat(ctx, b)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(ctx, "heartbeat", err)
	return out, err
}

// Sweep implements store.Keeper.
func (w *watched) Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error) {
	out, err := w.Store.Sweep(ctx, r, limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(ctx, "sweep", err)
	w.swept += out.Completed + out.Dead
	return out, err
}

// SweepsInBackground implements store.BackgroundSweeper.
func (w *watched) SweepsInBackground() bool {
	s, ok := w.Store.(store.BackgroundSweeper)
	return ok && s.SweepsInBackground()
}

// note counts a call that failed, unless its context has ended. The caller holds w.mu.
func (w *watched) note(ctx context.Context, call string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	w.failures++
	if w.failed == nil {
		w.failed = fmt.Errorf("%s: %w", call, err)
	}
}

// over records jobs that have ended. The caller holds w.mu.
func (w *watched) over(ids []job.ID) {
	n := 0
	for _, id := range ids {
		if w.ended.add(id) { // add returns false if the job is known: an outcome may be sent twice
			n++
		}
	}
	if n == 0 {
		return
	}
	w.done.Add(int64(n))
	w.gate.leave(n)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// drained waits until all enqueued jobs have ended, but not longer than the given time. Jobs
// that have not ended by then are reported as a figure.
func (w *watched) drained(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		w.mu.Lock()
		left := w.enqueued.n - w.ended.n
		w.mu.Unlock()
		if left <= 0 {
			return nil
		}
		select {
		case <-w.changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// soakEnd holds the results at the end of a soak.
type soakEnd struct {
	enqueued  int64
	unended   []job.ID // jobs that were enqueued and have not ended
	unknown   []job.ID // jobs that ended but were not enqueued
	rows      int64    // number of jobs in the store, counted from the rows
	swept     int64
	counters  []string // states whose counters differ from the rows
	failures  int
	failed    error // error of the first call that failed
	lostLease int
	problems  []string // problems that were found in the database
}

// missing returns how many jobs the store has too few or too many: the difference between the
// enqueued jobs and those that are stored or were removed.
func (e *soakEnd) missing() int64 { return max(e.enqueued-e.rows-e.swept, e.rows+e.swept-e.enqueued) }

// end compares the recorded calls with the contents of the store.
func (w *watched) end(ctx context.Context, place soakPlace) (soakEnd, error) {
	counts, err := w.Counts(ctx)
	if err != nil {
		return soakEnd{}, fmt.Errorf("read the counters: %w", err)
	}
	rows, problems, err := place.examine(ctx)
	if err != nil {
		return soakEnd{}, fmt.Errorf("examine the database: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	end := soakEnd{
		enqueued: w.enqueued.n, unended: w.enqueued.without(&w.ended), unknown: w.ended.without(&w.enqueued), swept: w.swept,
		failures: w.failures, failed: w.failed, lostLease: w.lost, problems: problems,
	}
	for _, n := range rows {
		end.rows += n
	}
	end.counters = disagreeing(counts, rows)
	return end, nil
}

// disagreeing describes the states whose counters differ from the numbers of rows.
func disagreeing(counts []store.Count, rows map[string]int64) (found []string) {
	kept := make(map[string]int64)
	for _, c := range counts {
		kept[c.State.String()] += c.N
	}
	for _, s := range job.States {
		if state := s.String(); kept[state] != rows[state] {
			found = append(found, fmt.Sprintf("%s: %d counted, %d rows", state, kept[state], rows[state]))
		}
	}
	return found
}

// idSet is a set of job ids that are close together. It uses one bit for each id.
type idSet struct {
	pages map[job.ID]*idPage
	n     int64
}

const idPageBits = 1 << 16

type idPage [idPageBits / 64]uint64

// add adds an id and reports whether it was new.
func (s *idSet) add(id job.ID) bool {
	page := s.pages[id/idPageBits]
	if page == nil {
		if s.pages == nil {
			s.pages = make(map[job.ID]*idPage)
		}
		page = new(idPage)
		s.pages[id/idPageBits] = page
	}
	word, bit := &page[id%idPageBits/64], uint64(1)<<(id%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	s.n++
	return true
}

// without returns the ids that are not in the other set, in no particular order.
func (s *idSet) without(other *idSet) (ids []job.ID) {
	none := new(idPage)
	for number := range maps.Keys(s.pages) {
		page, theirs := s.pages[number], other.pages[number]
		if theirs == nil {
			theirs = none
		}
		for i := range page {
			for bit := range 64 {
				if (page[i]&^theirs[i])>>bit&1 != 0 {
					ids = append(ids, number*idPageBits+job.ID(i*64+bit))
				}
			}
		}
	}
	return ids
}
