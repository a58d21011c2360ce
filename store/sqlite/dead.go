package sqlite

import (
	"github.com/redrive/redrive/job"
)

const (
	buryColumns = `job, status, revived, reason, class, grp, died_at, lane, priority, token, life,
		attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at, holder, deadline,
		owner, correlation, key, batch, attrs, policy, long, payload`
	buryValues = `id, 0, 0, ?3, ?4, ?5, ?6, lane, priority, token, life, ?7, ?8, ?9, ?10, ?11, created_at, life_at,
		claimed_at, holder, deadline, owner, correlation, key, batch, attrs, policy, long, payload
		FROM redrive_jobs WHERE id = ?1 AND token = ?2 AND state = ?12`
)

var (
	// OR FAIL, because SQLite keeps a journal of the statement else, to take back a
	// part of it; what goes wrong here takes back the whole transaction.
	insDead = &query{`INSERT OR FAIL INTO redrive_dead (` + buryColumns + `) SELECT ` + buryValues}
	// From its second life on, a job may have an entry.
	putDead = &query{`INSERT INTO redrive_dead (` + buryColumns + `) SELECT ` + buryValues + `
		ON CONFLICT (job) DO UPDATE SET death = (SELECT max(death) + 1 FROM redrive_dead), status = 0, revived = 0, reason = excluded.reason, class = excluded.class,
		grp = excluded.grp, died_at = excluded.died_at, lane = excluded.lane, priority = excluded.priority,
		token = excluded.token, life = excluded.life, attempts = excluded.attempts, crashes = excluded.crashes,
		deferrals = excluded.deferrals, snoozes = excluded.snoozes, interrupts = excluded.interrupts,
		life_at = excluded.life_at, claimed_at = excluded.claimed_at, holder = excluded.holder,
		deadline = excluded.deadline, attrs = excluded.attrs, policy = excluded.policy, long = excluded.long, payload = excluded.payload`}
	selGroup = &query{`SELECT id FROM redrive_groups WHERE fingerprint = ?`}
	insGroup = &query{`INSERT INTO redrive_groups (fingerprint, sample, first_at, last_at, n, pending, kind)
		VALUES (?1, ?2, ?3, ?3, 0, 0, ?4) RETURNING id`}
)

// bury moves a job to the dead ones, from running or, when its deadline passed,
// from ready. It is not ok when the job's row is not in that state of that run.
func (t *txn) bury(from job.State, r *run, cause job.Cause, reason job.Reason, class, fingerprint string) (ok bool, err error) {
	group, err := t.group(fingerprint, r)
	if err != nil {
		return false, err
	}
	c := &r.counters
	put := putDead
	if r.life == 1 {
		put = insDead
	}
	n, err := t.exec(put, num(r.id), num(r.token), text(reason), setText(class), setNum(group), num(t.now),
		num(c.Attempts), num(c.Crashes), num(c.Deferrals), num(c.Snoozes), num(c.Interrupts), num(from))
	if err != nil || n == 0 {
		return false, err
	}
	if _, err := t.exec(delJob, num(r.id), num(r.token)); err != nil {
		return false, err
	}
	if group != 0 {
		t.groupCount(group, 1, 1)
	}
	t.move(r.lane, from, r.lane, job.Dead)
	t.ended(r, job.Dead)
	e := r.event(from, job.Dead, cause)
	e.Class, e.Reason = class, string(reason)
	t.events.Add(e)
	return true, nil
}

// groupsMax bounds the groups that a catalogue knows by heart.
const groupsMax = 4096

// hasGroup reports whether deaths of a fingerprint need no look at the groups.
func (c *catalog) hasGroup(fingerprint string) bool {
	return fingerprint == "" || c.groups[fingerprint] != 0
}

// group returns the group of a fingerprint, which it makes when there is none.
func (t *txn) group(fingerprint string, r *run) (id int64, err error) {
	if t.cat.hasGroup(fingerprint) {
		return t.cat.groups[fingerprint], nil
	}
	scan := func(r row) error { id = r.int(0); return nil }
	if err := t.rows(selGroup, scan, text(fingerprint)); err != nil {
		return 0, err
	}
	if id == 0 {
		if err := t.rows(insGroup, scan, text(fingerprint), num(r.id), num(t.now), text(r.lane.kind)); err != nil {
			return 0, err
		}
	}
	if t.cat.groups == nil || len(t.cat.groups) >= groupsMax {
		t.cat.groups = make(map[string]int64)
	}
	t.cat.groups[fingerprint] = id
	return id, nil
}
