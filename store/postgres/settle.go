package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

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
	deathTypes   = "iittiiiiiiiiittitii"
	failureTypes = "iiiiiittt" + "iiitttti" + "ttbbtbitb"
)

var (
	closeJobs       = &sqlstore.Query{Name: "closeJobs"}
	closeKept       = &sqlstore.Query{Name: "closeKept"}
	postponeJobs    = &sqlstore.Query{Name: "postponeJobs"}
	lockDying       = &sqlstore.Query{Name: "lockDying"}
	lockRunning     = &sqlstore.Query{Name: "lockRunning"}
	buryJobs        = &sqlstore.Query{Name: "buryJobs"}
	keepFailures    = &sqlstore.Query{Name: "keepFailures"}
	delBodies       = &sqlstore.Query{Name: "delBodies"}
	delManyProgress = &sqlstore.Query{Name: "delManyProgress"}
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

	single  *pg.Vector // ids of the others
	careful bool       // all are locked first: after an errMissed
	wait    time.Duration
	stuck   map[job.ID]bool // others hold them

	notice claims.Notice

	deaths   *pg.Table // nil: none
	failures *pg.Table
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
	r := s.hot.runs.Recall(o)
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
		w.single.Int(int64(id))
	}
}

// take takes the runs that are still theirs. Whatever the kinds, it locks the jobs
// in the order of their ids, as everybody does who needs several.
func (w *settling) take() error {
	steps := []pg.Step{limitLocks(w.wait)}
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
		ids, tokens := pg.Ints(len(w.dying)), pg.Ints(len(w.dying))
		for _, e := range w.dying {
			ids.Int(int64(e.ID))
			tokens.Int(int64(e.Token))
		}
		steps = append(steps, pg.Step{Q: lockDying, Args: []any{ids, tokens}, Each: written(w.dying)})
	}
	if apart && w.single.N > 0 {
		steps = append(steps, pg.Step{Q: lockRunning, Args: []any{w.single}})
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
	for _, jobs := range []int{len(w.closed), len(w.again), len(w.dying), w.single.N} {
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
func (w *settling) lockAll() pg.Step {
	ids := w.ids()
	mark := written(w.dying)
	tokens := make(map[job.ID]job.Token, len(w.dying))
	for _, e := range w.dying {
		tokens[e.ID] = e.Token
	}
	return pg.Step{Q: lockRunning, Args: []any{ids}, Each: func(r sqlstore.Row) error {
		if token, ok := tokens[job.ID(r.Int(0))]; !ok || token != job.Token(r.Int(1)) {
			return nil
		}
		return mark(r)
	}}
}

// ids returns the jobs of all outcomes but those that others hold, in their order.
func (w *settling) ids() *pg.Vector {
	all := make([]job.ID, 0, len(w.outcomes))
	for i := range w.outcomes {
		if id := w.outcomes[i].ID; !w.stuck[id] {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	ids := pg.Ints(len(all))
	for _, id := range slices.Compact(all) {
		ids.Int(int64(id))
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

func (w *settling) close() pg.Step {
	n := len(w.closed)
	ids, tokens, costs, sends, results := pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Blobs(n)
	for _, e := range w.closed {
		ids.Int(int64(e.ID))
		tokens.Int(int64(e.Token))
		costs.SetInt(e.Cost)
		sends.SetInt(int64(e.Sends))
		results.Blob(e.Result)
	}
	args := []any{int64(w.t.Now()), ids, tokens, costs, sends, results}
	if !slices.ContainsFunc(w.closed, func(e *ending) bool { return e.Keep }) {
		return pg.Step{Q: closeJobs, Args: args, Each: written(w.closed)}
	}
	keep := pg.Ints(n)
	for _, e := range w.closed {
		if e.Keep {
			keep.Int(1)
		} else {
			keep.Int(0)
		}
	}
	return pg.Step{Q: closeKept, Args: append(args, keep), Each: written(w.closed)}
}

func (w *settling) postpone() pg.Step {
	n := len(w.again)
	ids, tokens, states, priorities, due := pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n)
	attempts, deferrals, snoozes, interrupts, memos := pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Blobs(n)
	for _, e := range w.again {
		c := e.run.Counters(e.Cause)
		ids.Int(int64(e.ID))
		tokens.Int(int64(e.Token))
		states.Int(int64(e.To))
		priorities.SetInt(int64(e.Priority))
		due.Int(int64(e.due))
		attempts.Int(int64(c.Attempts))
		deferrals.Int(int64(c.Deferrals))
		snoozes.Int(int64(c.Snoozes))
		interrupts.Int(int64(c.Interrupts))
		memos.Blob(e.Memo)
	}
	return pg.Step{Q: postponeJobs, Each: written(w.again),
		Args: []any{ids, tokens, states, priorities, due, attempts, deferrals, snoozes, interrupts, memos}}
}

// write writes what belongs to the outcomes that are noted, and more.
func (w *settling) write(more []pg.Step) error {
	var steps []pg.Step
	if w.deaths != nil {
		steps = append(steps, pg.Step{Q: buryJobs, Args: w.deaths.Args()})
	}
	if w.failures != nil {
		steps = append(steps, pg.Step{Q: keepFailures, Args: w.failures.Args()})
	}
	w.deaths, w.failures = nil, nil
	if steps = append(steps, more...); len(steps) == 0 {
		return nil
	}
	return w.t.send(steps...)
}
