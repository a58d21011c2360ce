package postgres

import (
	"fmt"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	alive = `'` + job.AliveKey + `'` // how keys begin that are held only while their jobs are alive
	// sweepDone looks at the first rows only. Rows of redrive_done are never changed
	// and go by sweeps alone, so they are found again by their places. Of a key whose
	// job is gone it is known that it has completed, unless the key says otherwise.
	sweepDone = `WITH part AS MATERIALIZED (
			SELECT ctid AS place, seq, job, lane, state, finished_at, owner, key FROM redrive_done ORDER BY seq LIMIT $2::bigint + 1),
		old AS MATERIALIZED (
			SELECT * FROM part WHERE seq < coalesce((SELECT min(seq) FROM part WHERE finished_at > $1::bigint), 9223372036854775807)
			ORDER BY seq),
		due AS MATERIALIZED (SELECT * FROM old ORDER BY seq LIMIT $2::bigint),
		keyed AS MATERIALIZED (
			SELECT d.seq, d.state, d.job, k.owner, k.kind, k.key FROM due d JOIN redrive_lanes l ON l.id = d.lane
			JOIN redrive_keys k ON k.owner = coalesce(d.owner, '') AND k.kind = l.kind AND k.key = d.key
			WHERE d.key IS NOT NULL AND (d.state <> 4 OR starts_with(d.key, ` + alive + `)) AND k.job = d.job),
		free AS MATERIALIZED (
			SELECT d.seq, d.state, d.job, k.owner, k.kind, k.key FROM keyed d -- another job may have taken the key since the snapshot
			JOIN redrive_keys k ON k.owner = d.owner AND k.kind = d.kind AND k.key = d.key AND k.job = d.job FOR UPDATE OF k SKIP LOCKED),
		gone AS (
			DELETE FROM redrive_done WHERE ctid = ANY (ARRAY(SELECT place FROM due
				WHERE seq NOT IN (SELECT seq FROM keyed) OR seq IN (SELECT seq FROM free)))
			RETURNING job, lane, state),
		marked AS (
			UPDATE redrive_keys k SET state = f.state FROM free f WHERE k.owner = f.owner AND k.kind = f.kind AND k.key = f.key AND k.job = f.job
			AND NOT starts_with(f.key, ` + alive + `)),
		freed AS (
			DELETE FROM redrive_keys k USING free f WHERE k.owner = f.owner AND k.kind = f.kind AND k.key = f.key AND k.job = f.job
			AND starts_with(f.key, ` + alive + `)),
		cleared AS (DELETE FROM redrive_progress WHERE job = ANY (ARRAY(SELECT job FROM gone))),
		altered AS (DELETE FROM redrive_originals o WHERE o.job = ANY (ARRAY(SELECT job FROM gone))
			AND NOT EXISTS (SELECT 1 FROM redrive_dead d WHERE d.job = o.job OFFSET 0)) -- looked up for each: not joined
		SELECT lane, state, count(*), (SELECT count(*) FROM old) > $2::bigint FROM gone GROUP BY lane, state ORDER BY lane, state`
	// A record that goes is of a job that has ended, and that is for good.
	sweepFailures = `WITH part AS MATERIALIZED (
			SELECT ctid AS place, job, token, ended_at FROM redrive_failures WHERE (job, token) >= ($2::bigint, $3::bigint)
			ORDER BY job, token LIMIT $4::bigint + 1),
		looked AS MATERIALIZED (SELECT * FROM part ORDER BY job, token LIMIT $4::bigint),
		gone AS (
			DELETE FROM redrive_failures WHERE ctid = ANY (ARRAY(SELECT place FROM looked f WHERE f.ended_at <= $1::bigint
				AND NOT EXISTS (SELECT 1 FROM redrive_jobs j WHERE j.id = f.job OFFSET 0) -- looked up for each: not joined
				AND NOT EXISTS (SELECT 1 FROM redrive_dead d WHERE d.job = f.job OFFSET 0)))
			RETURNING 1)
		SELECT (SELECT count(*) FROM gone), (SELECT job FROM part ORDER BY job, token OFFSET $4::bigint),
			(SELECT token FROM part ORDER BY job, token OFFSET $4::bigint)`
	sweepKeys = `WITH over AS MATERIALIZED (
			SELECT owner, kind, key FROM redrive_keys WHERE until <= $1::bigint ORDER BY until, owner, kind, key
			LIMIT $2::bigint + 1 FOR UPDATE SKIP LOCKED),
		gone AS (
			DELETE FROM redrive_keys k USING (SELECT * FROM over LIMIT $2::bigint) o
			WHERE k.owner = o.owner AND k.kind = o.kind AND k.key = o.key AND k.until <= $1::bigint RETURNING 1)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM over) > $2::bigint`
	// Commits that nobody has been able to read yet stay. A row without events has
	// changes of counters only, as of a sweep.
	sweepEvents = `WITH part AS MATERIALIZED (
			SELECT seq, at, n FROM redrive_events WHERE n > 0 ORDER BY seq LIMIT $2::bigint + 1),
		old AS MATERIALIZED (
			SELECT seq, n FROM part WHERE seq < least((SELECT min(seq) FROM part WHERE at > $1::bigint),
				(SELECT seq FROM redrive_events WHERE n > 0 ORDER BY seq DESC LIMIT 1), ` + inSightUntil + `,
				(SELECT value + 1 FROM redrive_meta WHERE key = 'owned')) ORDER BY seq)
		SELECT o.seq, (SELECT least(count(*), $2::bigint) FROM old), (SELECT count(*) FROM old) > $2::bigint, o.n
		FROM (SELECT seq, n FROM old ORDER BY seq LIMIT $2::bigint) o ORDER BY o.seq DESC LIMIT 1`
	// What is in redrive_keys and not returned by lockKeys is held by somebody.
	lockKeys = `SELECT t.job FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
		JOIN redrive_keys k ON k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job
		ORDER BY k.owner, k.kind, k.key FOR UPDATE OF k SKIP LOCKED`
	seeKeys = `SELECT t.job FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
		JOIN redrive_keys k ON k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job`
	countFailures = `SELECT job, count(*) FROM redrive_failures WHERE job = ANY ($1::bigint[]) GROUP BY job`
	dropLetters   = `DELETE FROM redrive_dead d USING unnest($1::bigint[], $2::bigint[]) AS t(death, job)
		WHERE d.death = t.death AND d.job = t.job AND d.status <> 1`
	dropFailures  = `DELETE FROM redrive_failures WHERE job = ANY ($1::bigint[])`
	dropOriginals = `DELETE FROM redrive_originals WHERE job = ANY ($1::bigint[])`
	dropGroups    = `DELETE FROM redrive_groups WHERE id = ANY ($1::bigint[]) AND entries = 0 AND muted = 0`
	dropTrends    = `DELETE FROM redrive_trends WHERE grp = ANY ($1::bigint[])`
	dropHours     = `DELETE FROM redrive_trends r USING unnest($1::bigint[], $2::bigint[]) AS t(grp, at) WHERE r.grp = t.grp AND r.at = t.at`
	markKeys      = `UPDATE redrive_keys k SET state = 5 FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
		WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job AND NOT starts_with(k.key, ` + alive + `)`
	dropKeys = `DELETE FROM redrive_keys k USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
		WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job AND starts_with(k.key, ` + alive + `)`
)

// remover implements sqlstore.Remover.
type remover struct{ c *session }

// send sends steps of a sweep. They are planned each time, for tables as they are: a
// plan of a table that was empty would be kept while that grows.
func (r remover) send(steps ...step) error {
	for i := range steps {
		steps[i].anew = true
	}
	return r.c.send(steps...)
}

// Ended implements sqlstore.Remover.
func (r remover) Ended(until job.Micros, limit int, each func(lane int64, state job.State, n int64)) (n int64, more bool, err error) {
	err = r.send(step{name: "sweepDone", text: sweepDone, args: []any{int64(until), int64(limit)}, each: func(row sqlstore.Row) error {
		each(row.Int(0), job.State(row.Int(1)), row.Int(2))
		n += row.Int(2)
		more = row.Int(3) != 0
		return nil
	}})
	return n, more, err
}

// Failures implements sqlstore.Remover.
func (r remover) Failures(until job.Micros, from store.Run, limit int) (n int64, next store.Run, err error) {
	err = r.send(step{name: "sweepFailures", text: sweepFailures, args: []any{int64(until), int64(from.ID), int64(from.Token), int64(limit)},
		each: func(row sqlstore.Row) error {
			n, next = row.Int(0), store.Run{ID: job.ID(row.Int(1)), Token: job.Token(row.Int(2))}
			return nil
		}})
	return n, next, err
}

// Keys implements sqlstore.Remover.
func (r remover) Keys(now job.Micros, limit int) (n int64, more bool, err error) {
	err = r.send(step{name: "sweepKeys", text: sweepKeys, args: []any{int64(now), int64(limit)}, each: func(row sqlstore.Row) error {
		n, more = row.Int(0), row.Int(1) != 0
		return nil
	}})
	return n, more, err
}

// Events implements sqlstore.Remover.
func (r remover) Events(until job.Micros, limit int, last func(seq, n int64)) (n int64, more bool, err error) {
	through, events := int64(0), int64(0)
	err = r.send(step{name: "sweepEvents", text: sweepEvents, args: []any{int64(until), int64(limit)}, each: func(row sqlstore.Row) error {
		through, n, more, events = row.Int(0), row.Int(1), row.Int(2) != 0, row.Int(3)
		return nil
	}})
	if err != nil || n == 0 {
		return 0, false, err
	}
	last(through, events)
	var figures []byte
	err = r.send(step{name: "delEvents", text: overrides["delEvents"], args: []any{through}, each: func(row sqlstore.Row) error {
		figures = row.Blob(0)
		return nil
	}})
	if err == nil {
		err = foldFigures(r.c, figures)
	}
	return n, more, err
}

// Records implements sqlstore.Remover.
func (r remover) Records(letters []sqlstore.GoneLetter) ([]int, error) {
	jobs, index := ints(len(letters)), make(map[job.ID]int, len(letters))
	for i := range letters {
		jobs.int(int64(letters[i].Job))
		index[letters[i].Job] = i
	}
	n := make([]int, len(letters))
	steps := []step{{name: "countFailures", text: countFailures, args: []any{jobs}, each: func(row sqlstore.Row) error {
		n[index[job.ID(row.Int(0))]] = int(row.Int(1))
		return nil
	}}}
	if keys := keysOf(letters); keys != nil {
		free := make(map[job.ID]bool)
		steps = append(steps, step{name: "lockKeys", text: lockKeys, args: keys, each: func(row sqlstore.Row) error {
			free[job.ID(row.Int(0))] = true
			return nil
		}}, step{name: "seeKeys", text: seeKeys, args: keys, each: func(row sqlstore.Row) error {
			if id := job.ID(row.Int(0)); !free[id] {
				n[index[id]] = -1
			}
			return nil
		}})
	}
	return n, r.send(steps...)
}

// keysOf returns the keys of letters as arguments, nil when there are none. The
// keys of jobs that live on are theirs.
func keysOf(letters []sqlstore.GoneLetter) []any {
	owners, kinds, keys, jobs := texts(0), texts(0), texts(0), ints(0)
	for i := range letters {
		if l := &letters[i]; l.Key != "" && !l.Revived {
			owners.text(l.Owner)
			kinds.text(l.Kind)
			keys.text(l.Key)
			jobs.int(int64(l.Job))
		}
	}
	if jobs.n == 0 {
		return nil
	}
	return []any{owners, kinds, keys, jobs}
}

// Letters implements sqlstore.Remover.
func (r remover) Letters(letters []sqlstore.GoneLetter) error {
	deaths, jobs, gone, long := ints(len(letters)), ints(len(letters)), ints(0), ints(0)
	for i := range letters {
		l := &letters[i]
		deaths.int(l.Death)
		jobs.int(int64(l.Job))
		if l.Revived {
			continue
		}
		gone.int(int64(l.Job))
		if l.Long {
			long.int(int64(l.Job))
		}
	}
	n := 0
	steps := []step{
		{name: "dropLetters", text: dropLetters, args: []any{deaths, jobs}, n: &n},
		{name: "dropFailures", text: dropFailures, args: []any{jobs}},
		{name: "dropOriginals", text: dropOriginals, args: []any{jobs}},
	}
	if gone.n > 0 {
		steps = append(steps, step{name: "delProgress", text: delProgress, args: []any{gone}})
	}
	if long.n > 0 {
		steps = append(steps, step{name: "delBodies", text: delBodies, args: []any{long}})
	}
	if keys := keysOf(letters); keys != nil {
		steps = append(steps, step{name: "markKeys", text: markKeys, args: keys},
			step{name: "dropKeys", text: dropKeys, args: keys})
	}
	if err := r.send(steps...); err != nil {
		return err
	}
	if n != len(letters) {
		return fmt.Errorf("%d dead letters were read, and %d of them are not there", len(letters), len(letters)-n)
	}
	return nil
}

// Groups implements sqlstore.Remover.
func (r remover) Groups(ids []int64) error {
	all := vectorOf(ids)
	return r.send(step{name: "dropGroups", text: dropGroups, args: []any{all}}, step{name: "dropTrends", text: dropTrends, args: []any{all}})
}

// Trends implements sqlstore.Remover.
func (r remover) Trends(groups, hours []int64) error {
	return r.send(step{name: "dropHours", text: dropHours, args: []any{vectorOf(groups), vectorOf(hours)}})
}

func vectorOf(numbers []int64) *vector {
	v := ints(len(numbers))
	for _, n := range numbers {
		v.int(n)
	}
	return v
}
