package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	pickLive      = askWalk("pickLive")
	selNewestLive = ask("selNewestLive")

	// These statements move cancelled jobs in a store without other writers.
	insCancelled = ask("insCancelled")
	delCancelled = ask("delCancelled")
)

// These statements are for a store with other writers; only such a store has texts for them.
// pickAgain reads jobs again after they were locked. moveCancelled does what insCancelled and
// delCancelled do. delBodies removes payloads.
var (
	pickAgain     = ask("pickAgain")
	moveCancelled = ask("moveCancelled")
	delBodies     = ask("delCancelledBodies")
)

// picked is the result of one search for the jobs of an action.
type picked struct {
	jobs []waiting
	// edge is the last job that was examined. The field more says whether there may be jobs after
	// it.
	edge job.ID
	more bool
}

// limit keeps at most the given number of jobs, the first ones.
func (p *picked) limit(want int) {
	if len(p.jobs) > want {
		p.jobs, p.more = p.jobs[:want], true
		p.edge = p.jobs[want-1].id
	}
}

// picker finds the live jobs of an action.
type picker struct {
	*Txn
	a      *store.LiveAction
	f      store.Filter
	lanes  map[int64]bool // the lanes of the selected queue and kind; nil means all
	lister lister
}

func newPicker(t *Txn, a *store.LiveAction) *picker {
	p := &picker{Txn: t, a: a, f: a.Selection()}
	p.lister = lister{c: t.s, f: &p.f}
	if p.f.Queue != "" || p.f.Kind != "" {
		p.lanes = make(map[int64]bool)
		for id, l := range t.cat.byID {
			if (p.f.Queue == "" || l.queue == p.f.Queue) && (p.f.Kind == "" || l.kind == p.f.Kind) {
				p.lanes[id] = true
			}
		}
	}
	return p
}

// examine adds the job of a row to the found ones if the action applies to it. look counts the examined
// jobs. It returns errEnough if enough jobs were examined, or more than want were found.
func (p *picker) examine(r Row, found *picked, look *int, want int) error {
	if found.more = *look >= store.LiveLook || len(found.jobs) > want; found.more {
		return errEnough
	}
	*look++
	found.edge = job.ID(r.Int(0))
	if p.lanes != nil && !p.lanes[r.Int(2)] {
		return nil
	}
	w, ok, err := p.read(r, look)
	if ok {
		found.jobs = append(found.jobs, w)
	}
	return err
}

// pick finds at most the given number of jobs to which the action applies, in the order of their
// ids. To know whether there are more jobs, it searches for one job more.
func (p *picker) pick(want int) (found picked, err error) {
	if p.lanes != nil && len(p.lanes) == 0 {
		return found, nil
	}
	if p.f.Correlation != "" {
		if found, ok, err := p.correlated(want); ok || err != nil {
			return found, err
		}
	}
	look := 0
	err = p.rows(pickLive, func(r Row) error {
		if job.ID(r.Int(0)) > p.a.Through {
			return errEnough
		}
		return p.examine(r, &found, &look, want)
	}, num(p.a.After))
	if errors.Is(err, errEnough) {
		err = nil
	}
	found.limit(want)
	return found, err
}

// read reads a job from the columns of pickLive, and reports whether the action applies to it.
func (p *picker) read(row Row, look *int) (w waiting, ok bool, err error) {
	r := p.scanRun(row)
	if p.a.At != 0 && r.createdAt > p.a.At {
		return w, false, nil
	}
	w = waiting{Run: r, Waits: r.waits(row, runWidth)}
	j := job.Job{ID: r.id, Kind: r.lane.kind, Queue: r.lane.queue, State: r.state, Holder: r.holder, Owner: r.owner, Batch: max(r.batch, -r.batch),
		Correlation: r.correlation, Key: r.key, CreatedAt: r.createdAt}
	if r.state.Ready() {
		j.RunAt = w.DueAt
	}
	if p.f.Attr.Name != "" {
		j.Attrs = row.Blob(runWidth + 3)
	}
	if ok, err = p.lister.fits(&j, look); err != nil || !ok {
		return w, false, err
	}
	if p.a.Do == store.LiveCancel {
		return w, !r.asked, nil
	}
	_, _, changes := w.Altered(&p.a.Change, p.now, r.fresh())
	return w, changes, nil
}

// lock locks jobs that were found, and returns those to which the action still applies.
func (p *picker) lock(jobs []waiting) ([]waiting, error) {
	if p.hooks.LockJobs == nil || len(jobs) == 0 {
		return jobs, nil
	}
	ids := idsOf(jobs)
	if err := p.lockJobs(ids); err != nil {
		return nil, err
	}
	kept := make(map[job.ID]waiting, len(ids))
	look := 0
	err := p.rows(pickAgain, func(r Row) error {
		w, ok, err := p.read(r, &look)
		if ok {
			kept[w.id] = w
		}
		return err
	}, idList(ids))
	return inOrderOf(ids, kept), err
}

func idsOf(jobs []waiting) []job.ID {
	ids := make([]job.ID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].id
	}
	return ids
}

// PreviewLive implements store.Live.
func (s *Core) PreviewLive(ctx context.Context, a store.LiveAction) (answer store.LiveActed, err error) {
	if err := a.Validate(true); err != nil {
		return answer, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		cat, err := NewCatalog(c)
		if err != nil {
			return err
		}
		t := &Txn{s: c, cat: cat, now: s.db.Clock.Now()}
		answer = store.LiveActed{Through: a.Through, At: cmp.Or(a.At, t.now)}
		if a.Through == 0 {
			newest, err := ReadInt(c, selNewestLive)
			if err != nil {
				return err
			}
			answer.Through = job.ID(newest)
		}
		bounded := a
		bounded.Through, bounded.At = answer.Through, answer.At
		found, err := newPicker(t, &bounded).pick(cmp.Or(a.Limit, store.PreviewMax))
		if answer.Done = int64(len(found.jobs)); found.more {
			answer.Next = found.edge
		}
		return cmp.Or(err, t.laneErr)
	})
	return answer, err
}

// ActLive implements store.Live.
func (s *Core) ActLive(ctx context.Context, by store.By, a store.LiveAction) (answer store.LiveActed, err error) {
	if err := cmp.Or(by.Validate(), a.Validate(false)); err != nil {
		return answer, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		answer, err = t.actLive(by, &a)
		return err
	})
	if err != nil {
		return store.LiveActed{}, err
	}
	return answer, nil
}

func (t *Txn) actLive(by store.By, a *store.LiveAction) (answer store.LiveActed, err error) {
	p := newPicker(t, a)
	found, err := p.pick(cmp.Or(a.Limit, store.StepMax))
	if err != nil {
		return answer, err
	}
	jobs, err := p.lock(found.jobs)
	if err != nil {
		return answer, err
	}
	done, blocked, err := t.doLive(by, a, jobs)
	if err = cmp.Or(err, blocked); err != nil {
		return answer, err
	}
	answer = store.LiveActed{Done: int64(done), Through: a.Through, At: a.At}
	if found.more {
		answer.Next = found.edge
	}
	if done == 0 {
		return answer, nil
	}
	return answer, t.audit(by, "jobs."+a.Do.String(), a.AuditTarget(), "", a.AuditStep(answer.Done))
}

// doLive applies an action to locked jobs, in their order. It stops at the first job that cannot be
// changed. It returns the number of jobs that were changed, and as its first error the error for
// the job that could not be changed.
func (t *Txn) doLive(by store.By, a *store.LiveAction, jobs []waiting) (done int, blocked, fatal error) {
	if a.Do == store.LiveCancel {
		return len(jobs), nil, t.cancelAll(jobs)
	}
	for i := range jobs {
		_, own, err := t.alter(by, &jobs[i], &a.Change)
		if own != nil || err != nil {
			return i, own, err
		}
	}
	return len(jobs), nil, nil
}

// cancelAll cancels jobs in the order of the list. Waiting and retrying jobs are cancelled at once.
// Running jobs get a request to stop.
func (t *Txn) cancelAll(jobs []waiting) error {
	for len(jobs) > 0 {
		n := 0
		for n < len(jobs) && jobs[n].state != job.Running && jobs[n].Plain() {
			n++
		}
		var err error
		switch w := &jobs[0]; {
		case n > 0:
			err = t.cancelPlain(jobs[:n])
		case w.state == job.Running:
			n, err = 1, t.askToStop(w.Run)
		default:
			n, err = 1, t.cancelReady(w.Run, w.state)
		}
		if err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// cancelPlain cancels waiting and retrying jobs in their first life that no redrive has released.
func (t *Txn) cancelPlain(jobs []waiting) error {
	if err := t.moveCancelled(idsOf(jobs)); err != nil {
		return err
	}
	var long []job.ID
	for i := range jobs {
		r := jobs[i].Run
		if r.long {
			long = append(long, r.id)
		}
		t.move(r.lane, r.state, r.lane, job.Cancelled)
		t.ended(r, job.Cancelled)
		t.of(r.lane).Cancelled++
		t.events.Add(r.event(r.state, job.Cancelled, job.Cancel))
	}
	if t.shared() && len(long) > 0 {
		_, err := t.exec(delBodies, idList(long))
		return err
	}
	for _, id := range long {
		if _, err := t.exec(delBody, num(id)); err != nil {
			return err
		}
	}
	return nil
}

// moveCancelled moves the rows of waiting and retrying jobs to the ended jobs.
func (t *Txn) moveCancelled(ids []job.ID) error {
	if t.shared() {
		return t.all(len(ids), moveCancelled, idList(ids), num(t.now))
	}
	// Jobs of one search are sorted, and usually without gaps. A range costs SQLite half of what a list costs.
	for first := 0; first < len(ids); {
		end := first + 1
		for end < len(ids) && ids[end] == ids[end-1]+1 {
			end++
		}
		from, to := num(ids[first]), num(ids[end-1])
		if err := t.all(end-first, insCancelled, from, to, num(t.now)); err != nil {
			return err
		}
		if err := t.all(end-first, delCancelled, from, to); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// all runs a statement that must change exactly so many rows: they were read, and are locked.
func (t *Txn) all(want int, q *Query, args ...Value) error {
	n, err := t.exec(q, args...)
	if err == nil && n != want {
		err = fmt.Errorf("the statement %s changed %d rows, want %d", q.Name, n, want)
	}
	return err
}

// askToStop records the request to cancel a running job.
func (t *Txn) askToStop(r *Run) error {
	if _, err := t.exec(askCancel, num(r.id), num(t.now)); err != nil {
		return err
	}
	e := r.event(job.None, job.None, 0)
	e.Type = event.JobCancelAsked
	t.events.Add(e)
	t.wake = true
	return nil
}
