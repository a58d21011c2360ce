package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// waiters wakes the requests that wait for a job or a batch to end. While there are such requests,
// one goroutine reads the events of the store for all of them.
type waiters struct {
	client *redrive.Client
	mu     sync.Mutex
	by     map[awaited]map[chan struct{}]bool
	n      int
	stop   context.CancelFunc // ends the reader; nil when nobody waits
}

// awaited is a job, or a batch by its number.
type awaited struct {
	job   job.ID
	batch int64
}

func (w *waiters) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// add registers a waiter and returns its channel and the function that removes it. The last result
// is false when too many wait.
func (w *waiters) add(of awaited) (changed <-chan struct{}, remove func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n >= LongPollsMax {
		return nil, nil, false
	}
	ch := make(chan struct{}, 1)
	ch <- struct{}{} // the waiter reads once more, because what it waits for may have ended before now
	if w.by[of] == nil {
		w.by[of] = make(map[chan struct{}]bool)
	}
	w.by[of][ch] = true
	if w.n++; w.n == 1 {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.read(ctx)
	}
	return ch, func() { w.remove(of, ch) }, true
}

func (w *waiters) remove(of awaited, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.by[of], ch); len(w.by[of]) == 0 {
		delete(w.by, of)
	}
	if w.n--; w.n == 0 {
		w.stop()
	}
}

// read wakes waiters for each event of their jobs and batches. When it has missed events, it wakes all.
func (w *waiters) read(ctx context.Context) {
	for ctx.Err() == nil {
		_, last, err := w.client.EventSpan(ctx)
		w.wakeAll() // events between a waiter's read and the cursor are not read
		if err == nil {
			for e, err := range w.client.Events(ctx, last, nil) {
				if err != nil {
					break
				}
				w.wake(awaited{job: e.Job})
				if e.Type == event.BatchChanged {
					w.wake(awaited{batch: e.Batch})
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): //nolint:forbidigo // the store does not answer: its waiters have time limits of their own
		}
	}
}

func (w *waiters) wake(of awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.by[of] {
		signal(ch)
	}
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.by {
		for ch := range all {
			signal(ch)
		}
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// waitFor reads the parameters wait and until: the longest time that the answer waits. It is 0 if
// the answer does not wait.
func (q *queryReader) waitFor() time.Duration {
	if until := q.text("until"); until != "" && until != "ended" {
		q.add("until", "must be ended", nil)
	}
	wait := q.text("wait")
	if wait == "" {
		return 0
	}
	limit, err := human.ParseDuration(wait)
	if err != nil || limit < 0 || limit > WaitMax {
		q.add("wait", "must be a duration from 0s to 30s", int(WaitMax/time.Second))
	}
	return limit
}

// await delays the answer about a job until the job ends, the time of the parameter wait has
// passed, the client disconnects, or the server stops.
func (a *API) await(c *Call, id job.ID) (job.Job, error) {
	j, err := a.visible(c, id)
	q := &queryReader{values: c.R.URL.Query()}
	limit := q.waitFor()
	if err := errors.Join(err, q.problem()); err != nil || limit == 0 || j.State.Terminal() {
		return j, err
	}
	err = a.awaitEnd(c, awaited{job: id}, limit, func() (bool, error) {
		j, err = a.visible(c, id)
		return j.State.Terminal(), err
	})
	return j, err
}

// awaitEnd calls read until it reports an end, the time is over, the client disconnects, or the
// server stops. It calls read at the beginning and after each event.
func (a *API) awaitEnd(c *Call, of awaited, limit time.Duration, read func() (ended bool, err error)) error {
	changed, remove, ok := a.waiters.add(of)
	if !ok {
		return RateLimited.New("%d requests already wait for an end; ask again without the parameter wait.", LongPollsMax).After(1)
	}
	defer remove()
	_ = http.NewResponseController(c.W).SetWriteDeadline(systemNow().Add(limit + WriteTime)) // not every connection has deadlines
	over := time.NewTimer(limit)
	defer over.Stop()
	check := time.NewTicker(stillEvery)
	defer check.Stop()
	for {
		select {
		case <-check.C:
			if err := a.still(c); err != nil {
				return err
			}
		case <-changed:
			if err := a.still(c); err != nil {
				return err
			}
			if ended, err := read(); err != nil || ended {
				return err
			}
		case <-over.C:
			_, err := read()
			return err
		case <-a.stopping:
			_, err := read()
			return err
		case <-c.Context().Done():
			return ErrSent
		}
	}
}

// stillEvery is the time between two checks whether the caller of a waiting request still has its
// rights. The sum of this time and of the maximum age of a server's copy of the keys is less than
// five seconds.
const stillEvery = 2 * time.Second

// still returns access.ErrUnauthenticated if the caller has lost its rights since the request began.
func (a *API) still(c *Call) error {
	if a.o.Gate == nil {
		return nil
	}
	return a.o.Gate.Still(c.Context(), &c.Caller) //nolint:wrapcheck // the errors of package access have their problems
}
