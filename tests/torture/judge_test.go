//go:build linux

package torture

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// judge compares the ledgers with the database.
func (r *round) judge() {
	notes, err := ledger.ReadAll(r.ledger("*"))
	if err != nil {
		r.Fatal(err)
	}
	ctx := context.Background()
	st, err := place.Open(ctx, r.direct)
	if err != nil {
		r.Fatalf("the database cannot be opened any more: %v", err)
	}
	defer r.close(st)
	dump := r.dump(ctx, st)
	h := &check.History{
		Enqueues: notes.Enqueues, Runs: notes.Runs, Writes: notes.Writes,
		Dump: dump, Purged: r.purged, Integrity: r.program.integrity(ctx, r), Limits: plan.Limits(), Drained: true,
	}
	r.count(func(s *summary) { s.Add(check.Count(h)) })
	h.Writes = append(h.Writes, r.haunt(ctx, st, dump)...)
	violations := check.Check(h)
	if len(violations) > 0 {
		var b strings.Builder
		if err := check.Report(&b, h, violations); err != nil {
			r.Error(err)
		}
		r.Errorf("round %d: %d broken promises\n%s", r.n, len(violations), b.String())
	}
	r.verdicts(notes.Plans, dump)
	if r.program.ownTables() {
		r.applicationTables(ctx, st, notes, dump)
	}
}

// close closes what was read to its end; an error is no less a finding than any.
func (r *round) close(c io.Closer) {
	if err := c.Close(); err != nil {
		r.Error(err)
	}
}

func (r *round) dump(ctx context.Context, st *place.Place) *store.Dump {
	dump, err := st.Dump(ctx)
	if err != nil {
		r.Fatal(err)
	}
	return dump
}

// hauntMax bounds the late writes at the end of a round.
const hauntMax = 200

// haunt writes in the name of runs whose leases were lost: nothing may change.
func (r *round) haunt(ctx context.Context, st *place.Place, before *store.Dump) (writes []check.Write) {
	var late []job.Outcome
	for i := range before.Events {
		e := &before.Events[i]
		if e.Type == event.JobCrashed && len(late) < hauntMax {
			late = append(late, job.Outcome{ID: e.Job, Token: e.Token, Cause: job.Succeeded, To: job.Completed,
				Result: []byte("from the dead")})
		}
	}
	out, err := st.Exchange(ctx, store.Exchange{Holder: "ghost", Lease: r.program.lease(), Settle: late})
	if err != nil {
		r.Error(err)
		return nil
	}
	for i, o := range late {
		w := check.Write{Run: store.Run{ID: o.ID, Token: o.Token}, Cause: o.Cause, To: o.To, Answer: check.Written}
		if errors.Is(out.Settled[i], store.ErrLeaseLost) {
			w.Answer = check.Refused
			r.count(func(s *summary) { s.Haunted++ })
		}
		writes = append(writes, w)
	}
	after := r.dump(ctx, st)
	after.Now = before.Now
	if diff := cmp.Diff(before, after); diff != "" {
		r.Errorf("round %d: late writes changed the store (-before +after):\n%.4000s", r.n, diff)
	}
	return writes
}

// verdicts demands that every job ended as its plan says.
func (r *round) verdicts(plans map[string]plan.Plan, dump *store.Dump) {
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		p, ok := plans[j.Correlation]
		if !ok {
			continue // a phantom, which the checker tells of
		}
		if err := p.Verdict(j); err != nil {
			r.Errorf("round %d: %v", r.n, err)
		}
	}
}

// applicationTables demands that an order is there if and only if its job is, and
// that a job that ended in a transaction has exactly one effect, of the run that
// completed it.
func (r *round) applicationTables(ctx context.Context, st *place.Place, notes *ledger.Notes, dump *store.Dump) {
	jobs, completed := make(map[string]bool), make(map[store.Run]bool)
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		jobs[j.Correlation] = true
		if notes.Plans[j.Correlation] == plan.Tx && j.State == job.Completed {
			completed[store.Run{ID: j.ID, Token: j.Token}] = true
		}
	}
	for _, name := range r.purged {
		jobs[name] = true // it was there
	}
	r.query(ctx, st, `SELECT name, 0, 0 FROM orders`, func(name string, _ store.Run) {
		if !jobs[name] {
			r.Errorf("round %d: order %s is stored without its job", r.n, name)
		}
		delete(jobs, name)
	})
	for _, name := range notes.InTx {
		if jobs[name] {
			r.Errorf("round %d: the job of order %s is stored without it", r.n, name)
		}
	}
	r.query(ctx, st, `SELECT '', job, run FROM effects`, func(_ string, run store.Run) {
		if !completed[run] {
			r.Errorf("round %d: run %d of job %d has an effect and did not complete it, or has two", r.n, run.Token, run.ID)
		}
		delete(completed, run)
		r.count(func(s *summary) { s.Effects++ })
	})
	for run := range completed {
		r.Errorf("round %d: run %d completed job %d and its effect is missing", r.n, run.Token, run.ID)
	}
}

func (r *round) query(ctx context.Context, st *place.Place, query string, each func(name string, run store.Run)) {
	err := st.Query(ctx, query, func(scan func(...any) error) error {
		var name string
		var run store.Run
		if err := scan(&name, &run.ID, &run.Token); err != nil {
			return err
		}
		each(name, run)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
}
