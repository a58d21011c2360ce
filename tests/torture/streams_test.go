//go:build linux

package torture

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

var streamsFlag = flag.Int("torture.streams", 4, "how often the server of a stream of events is killed in mid-stream, on each store")

// A server is killed in the middle of its streams, again and again, and the listeners come back at
// another one: they have every event once, or a reset.
//
// proves: N1
func TestN1_Trap17_KilledStreamsLoseNoEvent(t *testing.T) {
	t.Parallel()
	tt := newTorture(t)
	tt.streams(newServed(tt, files{}, 1))
}

// proves: N1
func TestN1_Trap17_KilledStreamsLoseNoEventOnPostgres(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	tt := newTorture(t)
	tt.streams(newServed(tt, newPostgresSite(tt), 1))
}

func (tt *torture) streams(s *served) {
	tt.program = s
	r := tt.newRound()
	s.begin(r)
	w := s.web(r)
	st, err := place.Open(tt.Context(), r.direct)
	if err != nil {
		tt.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var listeners, producer sync.WaitGroup
	for n, topic := range topics[:2] {
		l := s.listener(r, n, topic)
		listeners.Go(l.follow)
	}
	producer.Go(func() { r.produce(ctx, st) })
	slot := s.slot(r, 0)
	for n := range *streamsFlag {
		slot.insist("the death of a server in mid-stream", func() bool {
			if n%2 == 0 {
				return crashAt(crashpoint.InAnswer, 40, 0).do(slot)
			}
			p := slot.start("")
			up := slot.comesUp(p)
			for _, l := range w.listeners {
				up = up && l.hearsMore()
			}
			waitOr(p.ended, slot.within(50*time.Millisecond))
			p.kill()
			return up
		})
	}
	last := slot.start("")
	slot.comesUp(last)
	stop()
	producer.Wait()
	s.catchUp(r, w)
	close(w.heard)
	w.proxies[0].CutAll()
	listeners.Wait()
	last.stop()
	dump, err := st.Dump(tt.Context())
	if err != nil {
		tt.Fatal(err)
	}
	h := &check.History{Dump: dump}
	s.history(r, h)
	for _, v := range check.Check(h) {
		if v.Invariant == check.EveryEventHeard {
			tt.Error(v)
		}
	}
	heard := 0
	for i := range h.Listeners {
		heard += len(h.Listeners[i].Heard)
	}
	tt.Logf("%d events; 2 listeners heard %d frames over %d killed servers: %v, %d resets", len(dump.Events), heard, *streamsFlag, tt.summary.Kills, tt.summary.Faults[resets])
	r.close(st)
	s.end(r)
	tt.remove()
}

// produce enqueues jobs until the context ends.
func (r *round) produce(ctx context.Context, st *place.Place) {
	client, err := redrive.New(st, nil)
	if err != nil {
		r.Error(err)
		return
	}
	for n := 0; !waitOr(ctx.Done(), time.Millisecond); n++ {
		specs := []redrive.Spec{redrive.NewRaw(plan.Work, fmt.Appendf(nil, "%d", n), nil), redrive.NewRaw(plan.Brief, nil, nil)}
		if _, err := client.EnqueueMany(context.WithoutCancel(ctx), specs); err != nil {
			r.Errorf("enqueue of %d: %v", n, err) // the database has no faults
			return
		}
	}
}

// hearsMore waits until the listener has heard an event more, and reports whether it has.
func (l *listener) hearsMore() bool {
	for at, begun := l.position(), time.Now(); time.Since(begun) < patience && !l.Failed(); waitOr(l.heard, time.Millisecond) {
		if l.position() != at {
			return true
		}
	}
	return false
}
