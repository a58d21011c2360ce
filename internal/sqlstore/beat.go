package sqlstore

import (
	"cmp"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	setBeat     = ask("setBeat")
	setBegun    = ask("setBegun")
	putProgress = ask("putProgress")
)

// heartbeat extends leases, stores progress and marks runs as begun. It does so only for runs
// that still hold their lease.
func (t *Txn) heartbeat(b *store.Beat) ([]store.RunStatus, error) {
	status := make([]store.RunStatus, len(b.Runs))
	held := make(map[job.ID]job.Token, len(b.Progress))
	until, set := t.now.Add(b.Lease), setBeat
	if b.Begin {
		set = setBegun
	}
	for _, i := range byJob(b.Runs) {
		run := b.Runs[i]
		err := t.rows(set, func(r Row) error {
			status[i] = store.RunStatus{Held: true, Cancel: !r.Null(0)}
			return nil
		}, num(run.ID), num(run.Token), num(until))
		if err != nil {
			return nil, err
		}
		if status[i].Held {
			t.wrote = true
			held[run.ID] = run.Token
		}
	}
	for i := range b.Progress {
		p := &b.Progress[i]
		if token, ok := held[p.ID]; !ok || token != p.Token {
			continue
		}
		if err := t.progress(p); err != nil {
			return nil, err
		}
	}
	return status, nil
}

// byJob returns the indexes of the runs, sorted by the ids of their jobs. All transactions
// lock jobs in this order, so they cannot deadlock.
func byJob(runs []store.Run) []int {
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(runs[a].ID, runs[b].ID) })
	return order
}

func (t *Txn) progress(p *job.Progress) error {
	_, err := t.exec(putProgress, num(p.ID), num(p.Token), num(t.now), num(p.Done), num(p.Total), setText(p.Note))
	if err != nil {
		return err
	}
	r, err := t.running(p.ID, p.Token)
	if err != nil || r == nil {
		return err
	}
	e := r.event(job.None, job.None, 0)
	e.Type, e.Done, e.Total, e.Note = event.JobProgressed, p.Done, p.Total, p.Note
	t.events.Add(e)
	return nil
}
