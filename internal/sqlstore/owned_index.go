package sqlstore

import (
	"context"

	"github.com/redrive/redrive/job"
)

// The mark is the number of the last commit whose new jobs are in the index. A step that extends
// the index reads the events after the mark. Sweeps do not remove events after the mark.
const (
	// A step waits until there are ownedRowsMin commits or ownedEventsMin events, because
	// a run for each job would be slow to read.
	ownedRowsMin   = 2_000
	ownedEventsMin = 20_000
	// ownedStepEvents is the maximum number of events that one step reads; the last
	// commit may exceed it.
	ownedStepEvents = 200_000
)

// IndexOwners adds the jobs of new events to the index of owners. Call it about once a second: it
// does nothing while there are few events. If the last argument is true, it adds the jobs of all
// events that can be read. It is a function, because a method of a Core would become a method of
// the stores that embed it.
func IndexOwners(ctx context.Context, s *Core, all bool) error {
	for more := true; more; {
		step := ownedStep{all: all}
		if err := s.db.Read(ctx, step.read); err != nil {
			return err
		}
		if step.through == step.from {
			return nil
		}
		step.run, step.parts = divide(step.jobs)
		step.run.at = step.at
		if err := s.db.Write(ctx, step.write); err != nil {
			return err
		}
		more = step.more
	}
	return nil
}

// ownedStep is one step that extends the index.
type ownedStep struct {
	all     bool
	from    int64 // the mark at the beginning of the step
	through int64 // the mark after the step
	at      job.Micros
	jobs    []ownedJob
	more    bool // whether there are more events to read

	run   ownedRun // the run that the step adds to the index
	parts []ownedPart
}

func (s *ownedStep) read(c Session) (err error) {
	*s = ownedStep{all: s.all}
	if s.from, err = ReadInt(c, selOwnedMark); err != nil {
		return err
	}
	s.through = s.from
	if !s.all {
		rows, events := int64(0), int64(0)
		err = c.Rows(countUnindexed, func(r Row) error { rows, events = r.Int(0), r.Int(1); return nil }, num(ownedRowsMin))
		if err != nil || rows < ownedRowsMin && events < ownedEventsMin {
			return err
		}
	}
	events := 0
	err = c.Rows(walkUnindexed, func(r Row) error {
		if s.more = len(s.jobs) >= ownedStepMax || events >= ownedStepEvents; s.more {
			return errEnough
		}
		s.through, s.at = r.Int(0), job.Micros(r.Int(1))
		events += int(r.Int(2))
		_, err := eachOwned(s.through, r.Blob(3), func(j ownedJob) { s.jobs = append(s.jobs, j) })
		return err
	}, num(s.from))
	return enough(err)
}

// write adds a run and moves the mark. It does nothing if another process has moved the mark since
// the step began.
func (s *ownedStep) write(t *Txn) error {
	if n, err := t.exec(setOwnedMark, num(s.from), num(s.through)); err != nil || n == 0 || len(s.jobs) == 0 {
		return err
	}
	last, err := ReadInt(t.s, selLastRun)
	if err != nil {
		return err
	}
	s.run.run = last + 1
	return t.putOwnedRun(&s.run, s.parts)
}
