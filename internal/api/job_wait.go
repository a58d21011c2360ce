package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
)

// waiters wakes the requests that wait for a job to end. While there are such requests, one
// goroutine reads the events of the store for all of them.
type waiters struct {
	client *redrive.Client
	mu     sync.Mutex
	byJob  map[job.ID]map[chan struct{}]bool
	n      int
	stop   context.CancelFunc // ends the reader; nil when nobody waits
}

func (w *waiters) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// add registers a waiter and returns its channel and the function that removes it. The last result
// is false when too many wait.
func (w *waiters) add(id job.ID) (changed <-chan struct{}, remove func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n >= LongPollsMax {
		return nil, nil, false
	}
	ch := make(chan struct{}, 1)
	ch <- struct{}{} // the waiter reads its job once more, because it may have ended before now
	if w.byJob[id] == nil {
		w.byJob[id] = make(map[chan struct{}]bool)
	}
	w.byJob[id][ch] = true
	if w.n++; w.n == 1 {
		ctx, stop := context.WithCancel(context.Background())
		w.stop = stop
		go w.read(ctx)
	}
	return ch, func() { w.remove(id, ch) }, true
}

func (w *waiters) remove(id job.ID, ch chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if delete(w.byJob[id], ch); len(w.byJob[id]) == 0 {
		delete(w.byJob, id)
	}
	if w.n--; w.n == 0 {
		w.stop()
	}
}

// read wakes waiters for each event of their jobs. When it has missed events, it wakes all.
func (w *waiters) read(ctx context.Context) {
	for ctx.Err() == nil {
		_, last, err := w.client.EventSpan(ctx)
		w.wakeAll() // events between a waiter's read and the cursor are not read
		if err == nil {
			for e, err := range w.client.Events(ctx, last, nil) {
				if err != nil {
					break
				}
				w.wake(e.Job)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): //nolint:forbidigo // the store does not answer: its waiters have time limits of their own
		}
	}
}

func (w *waiters) wake(id job.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.byJob[id] {
		signal(ch)
	}
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.byJob {
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

// await delays the answer about a job until the job ends, the time of the parameter wait has
// passed, the client disconnects, or the server stops.
func (a *API) await(c *Call, id job.ID) (job.Job, error) {
	j, err := a.visible(c, id)
	q := &queryReader{values: c.R.URL.Query()}
	if until := q.text("until"); until != "" && until != "ended" {
		q.add("until", "must be ended", nil)
	}
	wait := q.text("wait")
	if wait == "" || err != nil {
		return j, errors.Join(err, q.problem())
	}
	limit, perr := human.ParseDuration(wait)
	if perr != nil || limit < 0 || limit > WaitMax {
		q.add("wait", "must be a duration from 0s to 30s", int(WaitMax/time.Second))
	}
	if err := q.problem(); err != nil || j.State.Terminal() {
		return j, err
	}
	changed, remove, ok := a.waiters.add(id)
	if !ok {
		return j, RateLimited.New("%d requests already wait for jobs to end; ask again without the parameter wait.", LongPollsMax).After(1)
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
				return j, err
			}
		case <-changed:
			if err := a.still(c); err != nil {
				return j, err
			}
			if j, err = a.visible(c, id); err != nil || j.State.Terminal() {
				return j, err
			}
		case <-over.C:
			return a.visible(c, id)
		case <-a.stopping:
			return a.visible(c, id)
		case <-c.Context().Done():
			return j, ErrSent
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
