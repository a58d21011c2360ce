package postgres

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Ends that concern nothing but their jobs are written by a statement for each
// kind of end: what the statements return was still the run's, the rest has lost
// its lease, or is looked at one by one. Arrays are in the order of ids, so that
// no two transactions wait for each other.
const (
	closeJobs = `WITH d AS (
		DELETE FROM redrive_jobs j USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[])
			AS t(id, token, cost, sends, result)
		WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3
		RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
			j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch, t.cost, t.sends, t.result)
		INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result)
		SELECT id, lane, 4, priority, token, life, attempts + 1, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, $1::bigint, holder, owner, correlation, key, batch, cost, sends, result FROM d
		RETURNING job`
	// closeKept is closeJobs for an exchange in which some jobs keep attributes and payload.
	closeKept = `WITH d AS (
		DELETE FROM redrive_jobs j USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[])
			AS t(id, token, cost, sends, result, keep)
		WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3
		RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
			j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch, t.cost, t.sends, t.result,
			CASE WHEN t.keep = 1 THEN j.attrs END AS attrs, CASE WHEN t.keep = 1 THEN coalesce(j.payload,
				(SELECT b.payload FROM redrive_bodies b WHERE b.job BETWEEN j.id AND j.id)) END AS payload)
		INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload)
		SELECT id, lane, 4, priority, token, life, attempts + 1, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, $1::bigint, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload FROM d
		RETURNING job`
	postponeJobs = `UPDATE redrive_jobs j SET state = t.state, priority = coalesce(t.priority, j.priority), run_at = t.run_at,
			attempts = t.attempts, deferrals = t.deferrals, snoozes = t.snoozes, interrupts = t.interrupts,
			memo = coalesce(t.memo, j.memo), lease_until = NULL
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
			$9::bigint[], $10::bytea[])
			AS t(id, token, state, priority, run_at, attempts, deferrals, snoozes, interrupts, memo)
		WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3 AND j.cancel_at IS NULL
		RETURNING j.id`
	lockDying = `SELECT j.id FROM unnest($1::bigint[], $2::bigint[]) AS t(id, token) JOIN redrive_jobs j ON j.id BETWEEN t.id AND t.id
		WHERE j.token = t.token AND j.state = 3 FOR UPDATE OF j`
	// Those that are looked at one by one, and those of several kinds, are locked
	// before anything else is.
	lockRunning = `SELECT j.id, j.token FROM redrive_jobs j WHERE j.id = ANY($1::bigint[]) AND j.state = 3 ORDER BY j.id FOR UPDATE`
	buryJobs    = `WITH d AS (
		DELETE FROM redrive_jobs j USING unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[],
			$7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[],
			$15::text[], $16::bigint[], $17::text[], $18::bigint[], $19::bigint[])
			AS t(id, token, reason, class, grp, died_at, attempts, crashes, deferrals, snoozes, interrupts, state, status, action,
			note, acted_at, acted_by, reopen_at, death)
		WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = t.state
		RETURNING t.*, j.redrive, j.lane, coalesce(j.own_priority, j.priority) AS priority, j.life, j.created_at, j.life_at,
			j.claimed_at, j.holder, j.deadline, j.owner, j.correlation, j.key, j.batch, j.attrs, j.policy,
			j.terms, j.released, j.long, j.payload)
		INSERT INTO redrive_dead (death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by,
			reopen_at, redrive, lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
			claimed_at, holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
		SELECT death, id, status, 0, reason, class, grp, died_at, action, note, acted_at, acted_by,
			reopen_at, redrive, lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
			claimed_at, holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload FROM d`
	// The columns are those of insFailure.
	keepFailures = `INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at, how, class, code, permanent,
			http, exit, signal, holder, correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
			$8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], $16::text[],
			$17::bigint[], $18::text[], $19::text[], $20::bytea[], $21::bytea[], $22::text[], $23::bytea[], $24::bigint[], $25::text[], $26::bytea[])`
	delBodies   = `DELETE FROM redrive_bodies WHERE job = ANY($1::bigint[])`
	delProgress = `DELETE FROM redrive_progress WHERE job = ANY($1::bigint[])`

	deathTypes   = "iittiiiiiiiiittitii"
	failureTypes = "iiiiiittt" + "iiitttti" + "ttbbtbitb"
)

// ending is an outcome that is written with others of its kind.
type ending struct {
	*job.Outcome
	run     *sqlstore.Run
	due     job.Micros
	written bool
}

// settling is the outcomes of one exchange.
type settling struct {
	s        *Store
	t        *fastTxn
	outcomes []job.Outcome
	plain    []*ending // by the number of the outcome; nil is one by one
	closed   []*ending // in the order of ids
	again    []*ending
	dying    []*ending

	single  *vector // ids of the others
	careful bool    // all are locked first: after an errMissed
	wait    time.Duration
	stuck   map[job.ID]bool // others hold them

	told news

	deaths   *table // nil: none
	failures *table
	row      []sqlstore.Value // of the one that is added
	packed   []byte           // what it points at
}

// errCancelled is the answer for an outcome that is written, and whose job is cancelled
// although the outcome makes it ready. Exchange turns it into Exchanged.Cancelled.
var errCancelled = errors.New("the job is cancelled, because a person has asked for it")

// answered adds the answers for outcomes to the answer of an exchange.
func answered(out store.Exchanged, answers []error) store.Exchanged {
	for i, err := range answers {
		if errors.Is(err, errCancelled) {
			answers[i] = nil
			out.Cancelled = append(out.Cancelled, i)
		}
	}
	out.Settled = answers
	return out
}

// settle writes the outcomes and returns what is wrong with each.
func (w *settling) settle() ([]error, error) {
	w.sort()
	if err := w.take(); err != nil {
		return nil, err
	}
	return w.note()
}

// endKind is how the end of a run is written.
type endKind int

const (
	alone endKind = iota // by itself, with the shared statements
	closes
	postpones
	dies
)

// kindOf returns how an outcome is written, and the run unless that is alone:
// together with others it must be of a run that this process has claimed, and
// concern nothing but its job.
func (s *Store) kindOf(o *job.Outcome) (endKind, *sqlstore.Run) {
	r := s.hot.runs.recall(o)
	switch {
	case r == nil || !r.Plain() || o.Validate() != nil:
		return alone, nil
	case o.To == job.Completed && o.Cause == job.Succeeded && o.Failure == nil:
		return closes, r
	case o.To.Ready() && (o.Queue == "" || o.Queue == r.Queue()):
		return postpones, r
	case o.To == job.Dead && o.Failure != nil:
		return dies, r
	}
	return alone, nil
}

// sort finds the outcomes that are written by their kinds, each job once.
func (w *settling) sort() {
	seen := make(map[job.ID]bool, len(w.outcomes))
	var single []job.ID
	for i := range w.outcomes {
		o := &w.outcomes[i]
		if seen[o.ID] || w.stuck[o.ID] {
			continue
		}
		seen[o.ID] = true
		kind, r := w.s.kindOf(o)
		e := &ending{Outcome: o, run: r}
		switch kind {
		case alone:
			single = append(single, o.ID)
			continue
		case closes:
			w.closed = append(w.closed, e)
		case postpones:
			e.due = max(w.t.Now().Add(o.Delay), o.NotBefore)
			w.again = append(w.again, e)
		case dies:
			w.dying = append(w.dying, e)
		}
		w.plain[i] = e
	}
	for _, kind := range [][]*ending{w.closed, w.again, w.dying} {
		slices.SortFunc(kind, func(a, b *ending) int { return cmp.Compare(a.ID, b.ID) })
	}
	slices.Sort(single)
	for _, id := range single {
		w.single.int(int64(id))
	}
}

// take takes the runs that are still theirs. Whatever the kinds, it locks the jobs
// in the order of their ids, as everybody does who needs several.
func (w *settling) take() error {
	steps := []step{limitLocks(w.wait)}
	apart := w.kinds() < 2
	if !apart {
		steps = append(steps, w.lockAll())
	}
	if len(w.closed) > 0 {
		steps = append(steps, w.close())
	}
	if len(w.again) > 0 {
		steps = append(steps, w.postpone())
	}
	if apart && len(w.dying) > 0 {
		ids, tokens := ints(len(w.dying)), ints(len(w.dying))
		for _, e := range w.dying {
			ids.int(int64(e.ID))
			tokens.int(int64(e.Token))
		}
		steps = append(steps, step{name: "lockDying", text: lockDying, args: []any{ids, tokens}, each: written(w.dying)})
	}
	if apart && w.single.n > 0 {
		steps = append(steps, step{name: "lockRunning", text: lockRunning, args: []any{w.single}})
	}
	if err := w.t.send(steps...); err != nil {
		return err
	}
	missed := func(e *ending) bool { return !e.written }
	if apart && slices.ContainsFunc(w.again, missed) {
		return errMissed
	}
	return nil
}

// errMissed says that some job is not as it was claimed: most likely somebody has
// asked it to stop. It has to be locked in its turn.
var errMissed = errors.New("a job has changed since it was claimed")

// kinds returns how many statements take jobs.
func (w *settling) kinds() (n int) {
	for _, jobs := range []int{len(w.closed), len(w.again), len(w.dying), w.single.n} {
		if jobs > 0 {
			n++
		}
	}
	if w.careful {
		n++
	}
	return n
}

// lockAll locks the jobs of all outcomes, and finds the dying that are still
// theirs.
func (w *settling) lockAll() step {
	ids := w.ids()
	mark := written(w.dying)
	tokens := make(map[job.ID]job.Token, len(w.dying))
	for _, e := range w.dying {
		tokens[e.ID] = e.Token
	}
	return step{name: "lockRunning", text: lockRunning, args: []any{ids}, each: func(r sqlstore.Row) error {
		if token, ok := tokens[job.ID(r.Int(0))]; !ok || token != job.Token(r.Int(1)) {
			return nil
		}
		return mark(r)
	}}
}

// ids returns the jobs of all outcomes but those that others hold, in their order.
func (w *settling) ids() *vector {
	all := make([]job.ID, 0, len(w.outcomes))
	for i := range w.outcomes {
		if id := w.outcomes[i].ID; !w.stuck[id] {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	ids := ints(len(all))
	for _, id := range slices.Compact(all) {
		ids.int(int64(id))
	}
	return ids
}

// written marks those whose ids come back.
func written(kind []*ending) func(sqlstore.Row) error {
	return func(r sqlstore.Row) error {
		id := job.ID(r.Int(0))
		if i, ok := slices.BinarySearchFunc(kind, id, func(e *ending, id job.ID) int { return cmp.Compare(e.ID, id) }); ok {
			kind[i].written = true
		}
		return nil
	}
}

func (w *settling) close() step {
	n := len(w.closed)
	ids, tokens, costs, sends, results := ints(n), ints(n), ints(n), ints(n), blobs(n)
	for _, e := range w.closed {
		ids.int(int64(e.ID))
		tokens.int(int64(e.Token))
		costs.setInt(e.Cost)
		sends.setInt(int64(e.Sends))
		results.blob(e.Result)
	}
	args := []any{int64(w.t.Now()), ids, tokens, costs, sends, results}
	if !slices.ContainsFunc(w.closed, func(e *ending) bool { return e.Keep }) {
		return step{name: "closeJobs", text: closeJobs, args: args, each: written(w.closed)}
	}
	keep := ints(n)
	for _, e := range w.closed {
		if e.Keep {
			keep.int(1)
		} else {
			keep.int(0)
		}
	}
	return step{name: "closeKept", text: closeKept, args: append(args, keep), each: written(w.closed)}
}

func (w *settling) postpone() step {
	n := len(w.again)
	ids, tokens, states, priorities, due := ints(n), ints(n), ints(n), ints(n), ints(n)
	attempts, deferrals, snoozes, interrupts, memos := ints(n), ints(n), ints(n), ints(n), blobs(n)
	for _, e := range w.again {
		c := e.run.Counters(e.Cause)
		ids.int(int64(e.ID))
		tokens.int(int64(e.Token))
		states.int(int64(e.To))
		priorities.setInt(int64(e.Priority))
		due.int(int64(e.due))
		attempts.int(int64(c.Attempts))
		deferrals.int(int64(c.Deferrals))
		snoozes.int(int64(c.Snoozes))
		interrupts.int(int64(c.Interrupts))
		memos.blob(e.Memo)
	}
	return step{name: "postponeJobs", text: postponeJobs, each: written(w.again),
		args: []any{ids, tokens, states, priorities, due, attempts, deferrals, snoozes, interrupts, memos}}
}

// write writes what belongs to the outcomes that are noted, and more.
func (w *settling) write(more []step) error {
	var steps []step
	if w.deaths != nil {
		steps = append(steps, step{name: "buryJobs", text: buryJobs, args: w.deaths.args()})
	}
	if w.failures != nil {
		steps = append(steps, step{name: "keepFailures", text: keepFailures, args: w.failures.args()})
	}
	w.deaths, w.failures = nil, nil
	if steps = append(steps, more...); len(steps) == 0 {
		return nil
	}
	return w.t.send(steps...)
}
