//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/httpproxy"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/place"
)

// An array with an Idempotency-Key makes its jobs once, wherever its first server was killed.
//
// part of: I1
func TestTrap29_AServerIsKilledInAKeyedArray(t *testing.T) {
	t.Parallel()
	tt := newTorture(t)
	tt.arrays(newServed(tt, files{}, 1))
}

// part of: I1
func TestTrap29_AServerIsKilledInAKeyedArrayOnPostgres(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	tt := newTorture(t)
	tt.arrays(newServed(tt, newPostgresSite(tt), 1))
}

func (tt *torture) arrays(s *served) {
	tt.program = s
	r := tt.newRound()
	s.begin(r)
	if err := os.WriteFile(filepath.Join(r.dir, "redrive.yaml"), []byte("retention: {completed: 1m}\nkinds: {work: {command: [\"true\"]}}\n"), 0o600); err != nil {
		tt.Fatal(err)
	}
	st, err := place.Open(tt.Context(), r.direct)
	if err != nil {
		tt.Fatal(err)
	}
	// The Jobs say how many jobs exist when the server has died.
	points := []struct {
		at   crashpoint.Point
		jobs int
	}{{crashpoint.AfterRequestRow, 0}, {crashpoint.AfterKeyedEnqueue, 3}, {crashpoint.InAnswer, 3}}
	before := 0
	for _, c := range points {
		q := array(string(c.at))
		r.dies(s, c.at, &q)
		if n := len(r.stored(st)); n != before+c.jobs {
			tt.Errorf("%s: %d jobs are stored after the kill, want %d", c.at, n, before+c.jobs)
		}
		ids := r.answered3(s, &q)
		again := r.answered3(s, &q)
		jobs := r.stored(st)
		before += 3
		if len(jobs) != before || !slices.Equal(ids, again) {
			tt.Errorf("%s: the repeats were answered with %v and %v, and %d jobs are stored; want the same ids and %d jobs", c.at, ids, again, len(jobs), before)
		}
		for _, id := range ids {
			if !slices.Contains(jobs, id) {
				tt.Errorf("%s: job %d of the answer is not stored", c.at, id)
			}
		}
	}
	r.forgets(s, st)
	r.close(st)
	s.end(r)
	tt.remove()
}

// forgets kills a server after an enqueue, and repeats the request when its jobs have completed and
// were removed. Nothing can be proved then, so no job is made, and the answer says which ids there were.
func (r *round) forgets(s *served, st *place.Place) {
	q := array("forgotten")
	r.dies(s, crashpoint.AfterKeyedEnqueue, &q)
	r.heal()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for len(r.stored(st)) > 1 && // a sweep keeps the newest row
		!waitOr(ctx.Done(), 20*time.Millisecond) {
		if _, err := st.Sweep(ctx, store.Retention{Completed: time.Millisecond}, store.SweepMax); err != nil {
			r.Error(err)
		}
	}
	err := st.Tx(ctx, func(ctx context.Context, tx *place.Tx) error { // the request gets older than completed jobs are kept
		return tx.Exec(ctx, `UPDATE redrive_requests SET at = at - ?`, time.Hour.Microseconds())
	})
	if err != nil {
		r.Error(err)
	}
	a := r.asks(s, &q)
	var problem struct {
		Type string
		IDs  []job.ID
	}
	if err := json.Unmarshal(a.body, &problem); err != nil || a.status != http.StatusGatewayTimeout || problem.Type != "/problems#outcome-unknown" || len(problem.IDs) != 3 {
		r.Errorf("the repeat was answered with %d %s (%v), want 504 outcome-unknown with 3 ids", a.status, a.body, err)
	}
	if n := len(r.stored(st)); n > 1 {
		r.Errorf("%d jobs are stored after the repeat, want that it makes none", n)
	}
}

// array is a request for three jobs.
func array(key string) request {
	return request{method: http.MethodPost, path: "/api/jobs", once: true, header: map[string]string{"Idempotency-Key": key},
		body: `[{"kind":"work","payload":{"plan":"quick","name":"a"}},{"kind":"work","payload":{"plan":"quick","name":"b"}},{"kind":"work","payload":{"plan":"quick","name":"c"}}]`}
}

// dies sends a request to a server that dies at a point.
func (r *round) dies(s *served, at crashpoint.Point, q *request) {
	slot := s.slot(r, 0)
	p := slot.start(pointValue(at, 1, 0))
	slot.comesUp(p)
	if a, err := r.sendTo(s, q); err == nil {
		r.Errorf("%s: the request was answered with %d %s, want no answer", at, a.status, a.body)
	}
	if by := p.kill(); by != string(at) {
		r.Errorf("%s: the server died by %q", at, by)
	}
}

// asks sends a request to a new server.
func (r *round) asks(s *served, q *request) reply {
	slot := s.slot(r, 0)
	p := slot.start("")
	slot.comesUp(p)
	defer p.stop()
	a, err := r.sendTo(s, q)
	if err != nil {
		r.Error(err)
	}
	return a
}

// answered3 returns the ids of the answer to a request for three jobs.
func (r *round) answered3(s *served, q *request) (ids []job.ID) {
	a := r.asks(s, q)
	var receipts []struct{ ID job.ID }
	if err := json.Unmarshal(a.body, &receipts); err != nil || len(receipts) != 3 || a.status >= 300 {
		r.Errorf("a repeat was answered with %d %s (%v), want 3 receipts", a.status, a.body, err)
	}
	for _, one := range receipts {
		ids = append(ids, one.ID)
	}
	return ids
}

// sendTo sends a request once, without a fault on its way.
func (r *round) sendTo(s *served, q *request) (a reply, err error) {
	c := s.caller(r)
	over := make(chan struct{})
	close(over)
	c.web = &web{proxies: c.proxies, finished: over, heard: over} // it waits for the answer however long it takes
	err = c.try(q, c.proxies[0].URL(), httpproxy.None, &a)
	return a, err
}

// stored returns the ids of all jobs.
func (r *round) stored(st *place.Place) (ids []job.ID) {
	dump, err := st.Dump(context.Background())
	if err != nil {
		r.Error(err)
		return nil
	}
	for i := range dump.Jobs {
		ids = append(ids, dump.Jobs[i].ID)
	}
	return ids
}

// remove removes the files of a test that has passed.
func (tt *torture) remove() {
	if tt.Failed() {
		tt.Logf("kept: %s", tt.dir)
		return
	}
	if err := os.RemoveAll(tt.dir); err != nil {
		tt.Error(err)
	}
}
