package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"

	"github.com/redrive/redrive/job"
)

// note goes through the outcomes in their order: what is written is noted, the
// others are written one by one.
func (w *settling) note() ([]error, error) {
	answers := make([]error, len(w.outcomes))
	bodies, progress := pg.Ints(0), pg.Ints(0)
	for i, e := range w.plain {
		if id := w.outcomes[i].ID; w.stuck[id] {
			answers[i] = errHeld(id)
			continue
		}
		if e == nil || !e.written {
			if err := w.write(nil); err != nil { // what comes now may look at it
				return nil, err
			}
			own, err := w.t.Settle(&w.outcomes[i])
			if err != nil {
				return nil, err
			}
			for _, r := range w.t.Readied() {
				w.notice.Add(r.Lane, r.Priority, r.At)
			}
			if answers[i] = own; own == nil && w.t.Cancelled() {
				answers[i] = errCancelled
			}
			continue
		}
		if err := w.noteOne(e); err != nil {
			return nil, err
		}
		if e.Progressed {
			progress.Int(int64(e.ID))
		}
		if e.To == job.Completed && e.run.Long() {
			bodies.Int(int64(e.ID))
		}
	}
	var steps []pg.Step
	if bodies.N > 0 {
		steps = append(steps, pg.Step{Q: delBodies, Args: []any{bodies}})
	}
	if progress.N > 0 {
		steps = append(steps, pg.Step{Q: delManyProgress, Args: []any{progress}})
	}
	return answers, w.write(steps)
}

func (w *settling) noteOne(e *ending) (err error) {
	switch e.To {
	case job.Completed:
		w.t.Completed(e.run, e.Outcome)
		return nil
	case job.Dead:
		if err := w.t.BeginDeaths(); err != nil {
			return err
		}
		if w.row, err = w.t.AppendDeath(w.row[:0], e.run, e.Outcome); err != nil {
			return err
		}
		if w.deaths == nil {
			w.deaths = pg.NewTable(deathTypes, len(w.dying))
		}
		w.deaths.Add(w.row)
	case job.None, job.Waiting, job.Retrying, job.Running, job.Cancelled:
		w.t.Postponed(e.run, e.Outcome, e.due)
		w.notice.Add(e.run.Lane(), int8(cmp.Or(int64(e.Priority), int64(e.run.Priority()))), e.due)
	}
	if e.Failure != nil {
		w.row, w.packed = w.t.AppendFailure(w.row[:0], w.packed[:0], e.run, e.Outcome)
		if w.failures == nil {
			w.failures = pg.NewTable(failureTypes, len(w.dying)+len(w.again))
		}
		w.failures.Add(w.row)
	}
	return nil
}
