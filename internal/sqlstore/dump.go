package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	allLive     = ask("allLive")
	allDone     = ask("allDone")
	allDead     = ask("allDead")
	allFailures = ask("allFailures")
	allKeys     = ask("allKeys")
	allProgress = ask("allProgress")
	allEvents   = ask("allEvents")
	allPolicies = ask("allPolicies")
	allTerms    = ask("allTerms")
	allBegun    = ask("allBegun")
	auditRows   = ask("auditRows")
)

// Dump implements store.Reader. It reads in the writer's transaction, so the data cannot
// change during the dump.
func (s *Core) Dump(ctx context.Context) (d *store.Dump, err error) {
	err = s.db.Write(ctx, func(t *Txn) error {
		d, err = ReadDump(t.s, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// ReadDump reads the whole content of the store. If the session's transaction reads from one
// snapshot, all parts of the result belong to the same moment.
func ReadDump(c Session, now job.Micros) (*store.Dump, error) {
	d := &store.Dump{Now: now}
	return d, dump(c, d)
}

func dump(c Session, d *store.Dump) (err error) {
	if err := dumpFailures(c, d); err != nil {
		return err
	}
	spent := make(map[job.ID]spending)
	for i := range d.Failures {
		f := &d.Failures[i]
		s := spent[f.Job]
		spent[f.Job] = spending{s.cost + f.Cost, s.sends + int64(f.Sends)}
	}
	if err := dumpJobs(c, d, spent); err != nil {
		return err
	}
	if err := dumpRest(c, d); err != nil {
		return err
	}
	if d.Counts, err = readCounts(c); err != nil {
		return err
	}
	d.Queues, err = readQueues(c)
	return err
}

func dumpFailures(c Session, d *store.Dump) error {
	return c.Rows(allFailures, func(r Row) error {
		f, err := scanFailure(r)
		d.Failures = append(d.Failures, f)
		return err
	})
}

// spending is the total cost of all failed runs of a job, and the total number of bytes that
// they sent.
type spending struct{ cost, sends int64 }

func dumpJobs(c Session, d *store.Dump, spent map[job.ID]spending) error {
	progress := make(map[job.ID]job.Progress)
	err := c.Rows(allProgress, func(r Row) error {
		p := scanProgress(r)
		progress[p.ID] = p
		return nil
	})
	if err != nil {
		return err
	}
	add := func(j job.Job) {
		if p := progress[j.ID]; j.State == job.Running && p.Token == j.Token {
			j.Progress = p
		}
		j.Cost += spent[j.ID].cost
		j.Sends += spent[j.ID].sends
		d.Jobs = append(d.Jobs, j)
	}
	withPayload := func(r Row) error {
		j := scanJob(r)
		j.Attrs, j.Override, j.Payload = r.Blob(columns), r.Blob(columns+1), r.Blob(columns+2)
		add(j)
		return nil
	}
	if err := c.Rows(allLive, withPayload); err != nil {
		return err
	}
	if err := c.Rows(allDead, withPayload); err != nil {
		return err
	}
	err = c.Rows(allDone, func(r Row) error {
		j := scanJob(r)
		scanDone(r, &j)
		add(j)
		return nil
	})
	slices.SortStableFunc(d.Jobs, func(a, b job.Job) int { return cmp.Compare(a.ID, b.ID) })
	return err
}

func dumpRest(c Session, d *store.Dump) error {
	err := c.Rows(selDeadLetters, func(r Row) error {
		d.Dead = append(d.Dead, scanDeadLetter(r))
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Rows(allKeys, func(r Row) error {
		d.Keys = append(d.Keys, store.Key{Owner: r.Text(0), Kind: r.Text(1), Key: r.Text(2), Job: job.ID(r.Int(3)),
			Until: job.Micros(r.Int(4)), Result: string(r.Blob(5))})
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Rows(allGroups, func(r Row) error {
		d.Groups = append(d.Groups, scanGroup(r))
		return nil
	})
	if err != nil {
		return err
	}
	if err := dumpFigures(c, d); err != nil {
		return err
	}
	err = c.Rows(allEvents, func(r Row) error {
		row, err := event.Unpack(r.Int(0), 1, job.Micros(r.Int(1)), r.Blob(2))
		d.Events = append(d.Events, row...)
		return err
	})
	if err != nil {
		return err
	}
	err = c.Rows(auditRows, func(r Row) error { d.Audit = append(d.Audit, scanAudit(r)); return nil })
	if err != nil {
		return err
	}
	err = c.Rows(allBegun, func(r Row) error {
		d.Begun = append(d.Begun, store.Run{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1))})
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Rows(allTerms, func(r Row) error {
		d.Terms = append(d.Terms, store.JobTerms{Job: job.ID(r.Int(0)), Terms: string(r.Blob(1)), Released: r.Int(2) != 0})
		return nil
	})
	if err != nil {
		return err
	}
	if err := dumpNotify(c, d); err != nil {
		return err
	}
	return c.Rows(allPolicies, func(r Row) error { d.Policies = append(d.Policies, scanPolicy(r)); return nil })
}

func dumpFigures(c Session, d *store.Dump) (err error) {
	if d.DeadCounts, err = readDeadCounts(c); err != nil {
		return err
	}
	err = c.Rows(allOriginals, func(r Row) error { d.Originals = append(d.Originals, scanOriginal(r)); return nil })
	if err != nil {
		return err
	}
	if d.Redrives, err = readRedrives(c, allRedrives); err != nil {
		return err
	}
	if d.Schedules, err = readSchedules(c); err != nil {
		return err
	}
	if d.Processes, err = ReadProcesses(c); err != nil {
		return err
	}
	err = c.Rows(allRequests, func(r Row) error { d.Requests = append(d.Requests, scanRequest(r)); return nil })
	if err != nil {
		return err
	}
	if d.Access, err = readKeys(c); err != nil {
		return err
	}
	if d.Endpoints, err = readEndpoints(c); err != nil {
		return err
	}
	err = c.Rows(allSecrets, func(r Row) error { d.Secrets = append(d.Secrets, r.Text(0)); return nil })
	if err != nil {
		return err
	}
	err = c.Rows(allNotes, func(r Row) error { d.Notes = append(d.Notes, scanNote(r)); return nil })
	if err != nil {
		return err
	}
	if err := dumpBatches(c, d); err != nil {
		return err
	}
	if err := dumpStreams(c, d); err != nil {
		return err
	}
	return dumpStored(c, d)
}
