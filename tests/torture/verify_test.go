//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// verify compares the ledgers with the database.
func (r *round) verify() error {
	notes, err := ledger.ReadAll(r.ledger("*"))
	if err != nil {
		return err
	}
	ctx := context.Background()
	st, err := place.Open(ctx, r.direct)
	if err != nil {
		return fmt.Errorf("the database cannot be opened any more: %w", err)
	}
	defer r.close(st)
	dump, err := st.Dump(ctx)
	if err != nil {
		return err
	}
	h := &check.History{
		Enqueues: notes.Enqueues, Runs: notes.Runs, Writes: notes.Writes, Notices: notes.Notices, Begins: notes.Begins,
		Dump: dump, Purged: r.purged, Integrity: r.program.integrity(ctx, r), Limits: plan.Limits(), Drained: true,
		Retention: r.retains(), Acts: r.acts, Processes: r.holders(dump), Children: r.children, Troubles: r.troubles,
		Healed: job.Micros(r.healed.Load()), Slots: r.program.slots(), WaitMax: readyMax,
	}
	h.Troubles = append(h.Troubles, stalls(notes.Stalls, h.Processes)...)
	if s, ok := r.program.(*served); ok {
		s.history(r, h)
	}
	r.count(func(s *summary) { s.Add(check.Count(h)) })
	r.count(func(s *summary) {
		s.Faults["member that came back"] += notes.Returned
		for i := range h.Enqueues {
			if h.Enqueues[i].Discard == check.Discarded {
				s.Faults["discarded draft"]++
			}
		}
	})
	late, err := r.writeForLostRuns(ctx, st, dump)
	if err != nil {
		r.Error(err) // no return, so that the other checks are also made
	}
	h.Writes = append(h.Writes, late...)
	violations := check.Check(h)
	if len(violations) > 0 {
		var b strings.Builder
		if err := check.Report(&b, h, violations); err != nil {
			r.Error(err)
		}
		r.Errorf("round %d: %d violations of invariants\n%s", r.n, len(violations), b.String())
	}
	if err := check.Figures(dump, false); err != nil {
		r.Errorf("round %d: the figures disagree with the events: %v", r.n, err)
	}
	r.verdicts(notes.Plans, dump)
	if r.program.ownTables() {
		return r.applicationTables(ctx, st, notes, dump)
	}
	return nil
}

// stalls returns the times in which the machine gave a worker no processor. A worker that the test had
// already disturbed tells nothing about the machine.
func stalls(all []ledger.Stall, processes []check.Process) (busy []check.Trouble) {
	for _, s := range all {
		i := slices.IndexFunc(processes, func(p check.Process) bool { return p.Name == s.Holder })
		if i >= 0 && (processes[i].Disturbed == 0 || processes[i].Disturbed > s.To) {
			busy = append(busy, check.Trouble{What: check.Busy, From: s.From, To: s.To})
		}
	}
	return busy
}

// close closes a file that was read to its end. An error of Close fails the test.
func (r *round) close(c io.Closer) {
	if err := c.Close(); err != nil {
		r.Error(err)
	}
}

// lateWritesMax is the largest number of late writes at the end of a round.
const lateWritesMax = 200

// writeForLostRuns writes outcomes for runs whose leases were lost. The store must not change.
func (r *round) writeForLostRuns(ctx context.Context, st *place.Place, before *store.Dump) (writes []check.Write, err error) {
	var late []job.Outcome
	for i := range before.Events {
		e := &before.Events[i]
		if e.Type == event.JobCrashed && len(late) < lateWritesMax {
			late = append(late, job.Outcome{ID: e.Job, Token: e.Token, Cause: job.Succeeded, To: job.Completed,
				Result: []byte("late write")})
		}
	}
	out, err := st.Exchange(ctx, store.Exchange{Holder: "ghost", Lease: r.program.lease(), Settle: late})
	if err != nil {
		return nil, err
	}
	for i, o := range late {
		w := check.Write{Run: store.Run{ID: o.ID, Token: o.Token}, Cause: o.Cause, To: o.To, Answer: check.Written}
		if errors.Is(out.Settled[i], store.ErrLeaseLost) {
			w.Answer = check.Refused
			r.count(func(s *summary) { s.LostRunWrites++ })
		}
		writes = append(writes, w)
	}
	after, err := st.Dump(ctx)
	if err != nil {
		return writes, err
	}
	after.Now = before.Now
	if !reflect.DeepEqual(before, after) { // cmp.Diff of equal dumps took two thirds of the test's processor time
		if diff := cmp.Diff(before, after); diff != "" {
			r.Errorf("round %d: late writes changed the store (-before +after):\n%.4000s", r.n, diff)
		}
	}
	return writes, nil
}

// verdicts fails the test if a job has not ended as its plan says.
func (r *round) verdicts(plans map[string]plan.Plan, dump *store.Dump) {
	for i := range dump.Jobs {
		j := &dump.Jobs[i]
		p, ok := plans[j.Correlation]
		if !ok || notify.Sends(j.Kind) {
			continue // a notice, which has the correlation id of its cause, or an unexpected job; the checker looks at both
		}
		if err := p.Verdict(j); err != nil {
			r.Errorf("round %d: a job has not ended as planned: %v", r.n, err)
		}
	}
}

// applicationTables checks that every order has its job, and that every job has its order. It also
// checks that a job that ended in a transaction has exactly one effect, which the run that
// completed the job has written.
func (r *round) applicationTables(ctx context.Context, st *place.Place, notes *ledger.Notes, dump *store.Dump) error {
	// The events have also the jobs that were removed since.
	jobs, completed, names := make(map[string]bool), make(map[store.Run]bool), make(map[job.ID]string)
	for i := range dump.Events {
		e := &dump.Events[i]
		if e.Type == event.JobEnqueued && !notify.Sends(e.Kind) {
			jobs[e.Correlation], names[e.Job] = true, e.Correlation
		}
		if e.Type == event.JobSucceeded && notes.Plans[names[e.Job]] == plan.Tx {
			completed[store.Run{ID: e.Job, Token: e.Token}] = true
		}
	}
	err := query(ctx, st, `SELECT name, 0, 0 FROM orders`, func(name string, _ store.Run) {
		if !jobs[name] {
			r.Errorf("round %d: order %s is stored, but its job is missing, want both", r.n, name)
		}
		delete(jobs, name)
	})
	if err != nil {
		return err
	}
	for _, name := range notes.InTx {
		if jobs[name] {
			r.Errorf("round %d: the job of order %s is stored, but the order is missing, want both", r.n, name)
		}
	}
	err = query(ctx, st, `SELECT '', job, run FROM effects`, func(_ string, run store.Run) {
		if !completed[run] {
			r.Errorf("round %d: run %d of job %d has an effect, but another run completed the job, or the effect is stored twice; want one effect of the completing run", r.n, run.Token, run.ID)
		}
		delete(completed, run)
		r.count(func(s *summary) { s.Effects++ })
	})
	if err != nil {
		return err
	}
	for run := range completed {
		r.Errorf("round %d: run %d completed job %d, but its effect is missing, want one effect", r.n, run.Token, run.ID)
	}
	return nil
}

func query(ctx context.Context, st *place.Place, text string, each func(name string, run store.Run)) error {
	return st.Query(ctx, text, func(scan func(...any) error) error {
		var name string
		var run store.Run
		if err := scan(&name, &run.ID, &run.Token); err != nil {
			return err
		}
		each(name, run)
		return nil
	})
}
