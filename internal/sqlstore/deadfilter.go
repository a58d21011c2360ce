package sqlstore

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// LookMax is the maximum number of dead letters that one page of a list, or one step of an
	// action, examines. Because of this limit, a filter that selects few dead letters costs
	// milliseconds instead of a walk over all of them.
	LookMax = 7_000
	// MessageCost is the cost of reading the text of one message, or the columns of severalJobs.
	// Its unit is the cost of examining one dead letter.
	MessageCost = 8
	// lanesMerged is the maximum number of lanes whose dead letters a search reads lane by
	// lane and merges. For more lanes the search uses another route.
	lanesMerged = 8
)

var (
	selLanesOf      = ask("selLanesOf")
	selDeathFrom    = ask("selDeathFrom")
	selNewest       = ask("selNewest")
	selSpan         = ask("selSpan")
	severalJobs     = ask("severalJobs")
	severalMessages = ask("severalMessages")
	sumDead         = ask("sumDead")
)

// deadRow contains those parts of a dead letter that an action needs. It lacks the texts of the
// failure and the earlier actions.
type deadRow struct {
	job.DeadLetter
	lane     *Lane
	group    int64
	token    job.Token
	priority int8
	batch    int64 // below 0 for a member that is aside
	long     bool
	name     string // the idempotency key of the dead job
}

// key returns the fields by which the counters count the dead letter.
func (d *deadRow) key() deadKey { return deadKey{d.lane.id, d.Reason, d.Class, d.Status} }

// matcher finds the dead letters that a filter selects.
type matcher struct {
	c Session
	f *store.DeadFilter
	// takes reports whether the act applies to an entry. If it is nil, the act applies to all
	// entries.
	takes    func(*job.DeadLetter) bool
	statuses [job.Ignored + 1]bool // the statuses that the filter selects
	groups   []int64               // the groups that the filter names; nil means all
	job      job.ID                // the only selected job; 0 means all
	lanes    map[int64]bool        // the lanes that the filter selects; nil means all lanes
	ofJob    bool                  // whether the filter needs the columns of severalJobs
	text     string
	low      int64 // the filter selects only deaths with numbers from low to high
	high     int64
	none     bool // whether it is known that the filter selects no entry

	route route
	keys  []Value // the keys to look up in the index of the route; a search reads the index once for each key
	most  int64   // maximum number of entries that the filter can select; math.MaxInt64 if it is not known
}

// newMatcher looks up the names in the filter and chooses a route. The time is the store's
// time. The last argument must be false if this transaction has already changed anything,
// because then the counters of dead letters may differ from the rows.
func newMatcher(c Session, f *store.DeadFilter, now job.Micros, exact bool) (*matcher, error) {
	m := &matcher{c: c, f: f, text: strings.ToLower(f.Text), low: 1, high: math.MaxInt64, most: math.MaxInt64}
	for s := range m.statuses {
		m.statuses[s] = len(f.Statuses) == 0
	}
	for _, s := range f.Statuses {
		m.statuses[s] = true
	}
	if err := m.lookUp(now); err != nil || m.none {
		return m, err
	}
	m.ofJob = f.Worker != "" || f.Attr.Name != "" || f.Correlation != "" && m.job != 0
	return m, m.choose(exact)
}

// lookUp replaces the names in the filter by their ids in the database.
func (m *matcher) lookUp(now job.Micros) (err error) {
	f := m.f
	if f.Key != "" {
		m.job, err = lookup(m.c, keyName{f.Owner, f.Kind, f.Key}, now)
		if m.none = errors.Is(err, store.ErrNotFound); m.none {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if names := f.Fingerprints(); len(names) > 0 {
		since := job.Micros(math.MaxInt64)
		for _, name := range names {
			err := m.c.Rows(selSpan, func(r Row) error {
				m.groups, since = append(m.groups, r.Int(0)), min(since, job.Micros(r.Int(1)))
				return nil
			}, text(name))
			if err != nil {
				return err
			}
		}
		if m.none = len(m.groups) == 0; m.none {
			return nil
		}
		if !m.pendingOnly() { // for pending entries there is already a short route
			if m.low, err = firstDeath(m.c, since); err != nil {
				return err
			}
		}
	}
	if f.Queue != "" || f.Kind != "" {
		m.lanes = make(map[int64]bool)
		err := m.c.Rows(selLanesOf, func(r Row) error { m.lanes[r.Int(0)] = true; return nil }, setText(f.Queue), setText(f.Kind))
		if m.none = len(m.lanes) == 0; err != nil || m.none {
			return err
		}
	}
	if f.Since > 0 {
		low, err := firstDeath(m.c, f.Since)
		if err != nil {
			return err
		}
		m.low = max(m.low, low)
	}
	if f.Until > 0 {
		above, err := firstDeath(m.c, f.Until)
		if err != nil {
			return err
		}
		m.high = above - 1
	}
	m.none = m.low > m.high
	return nil
}

// firstDeath returns the number of the first death at or after the given time. Later deaths
// have higher numbers.
func firstDeath(c Session, at job.Micros) (int64, error) {
	return firstNumber(c, selNewest, selDeathFrom, at)
}

// firstNumber returns the number of the first row whose time is at or after the given time.
// Later rows of the table must have later times. The first query returns the highest number in
// the table. The second query has a number as its argument, and returns the number and the time
// of the first row with at least that number.
func firstNumber(c Session, last, from *Query, at job.Micros) (int64, error) {
	newest, err := ReadInt(c, last)
	low, high := int64(1), newest+1
	for err == nil && low < high {
		middle := low + (high-low)/2
		err = c.Rows(from, func(r Row) error {
			if job.Micros(r.Int(1)) >= at {
				high = middle
			} else {
				low = r.Int(0) + 1
			}
			return nil
		}, num(middle))
	}
	return low, err
}

func (m *matcher) pendingOnly() bool {
	return m.statuses == [job.Ignored + 1]bool{job.Pending: true}
}

// choose chooses the route with the fewest expected rows.
func (m *matcher) choose(exact bool) error {
	f := m.f
	switch { // each of these routes is expected to have few rows
	case m.job != 0:
		m.take(jobRoute, num(m.job))
		return nil
	case f.Correlation != "":
		m.take(correlationRoute, text(f.Correlation))
		return nil
	case f.Batch != 0:
		m.route, m.keys = batchRoute, []Value{num(f.Batch), num(-f.Batch)}
		return nil
	case m.groups != nil && m.pendingOnly():
		m.route, m.keys = pendingRoute, m.keys[:0]
		for _, id := range m.groups {
			m.keys = append(m.keys, num(id))
		}
		return nil
	}
	m.take(allRoute, Value{})
	named := 0
	for _, is := range [...]bool{f.Owner != "", f.Class != "", m.lanes != nil} {
		if is {
			named++
		}
	}
	of := estimate{owner: -1, class: -1, lanes: -1}
	if named > 1 || exact && (f.Reason != "" || f.Class != "" || m.lanes != nil || len(f.Statuses) > 0) {
		var err error
		if of, err = m.estimate(); err != nil {
			return err
		}
		if exact {
			m.most, m.none = of.selected, of.selected == 0
		}
	}
	// A route whose number of rows is unknown is used only if there is no other route.
	best := int64(math.MaxInt64)
	if f.Owner != "" {
		best = of.owner
		m.take(ownerRoute, text(f.Owner))
	}
	if f.Class != "" && of.class < best {
		best = of.class
		m.take(classRoute, text(f.Class))
	}
	if m.lanes != nil && of.lanes < best && len(m.lanes) <= lanesMerged {
		m.route, m.keys = laneRoute, m.keys[:0]
		for id := range m.lanes {
			m.keys = append(m.keys, num(id))
		}
	}
	return nil
}

func (m *matcher) take(r route, key Value) { m.route, m.keys = r, append(m.keys[:0], key) }

// estimate contains the estimated number of dead letters for each field of a filter, and in the
// field selected for the whole filter. The latter is computed from the counters by reason,
// class, lane and status.
type estimate struct{ owner, class, lanes, selected int64 }

func (m *matcher) estimate() (of estimate, err error) {
	lanes := Value{}
	if m.lanes != nil {
		lanes = idList(slices.Collect(maps.Keys(m.lanes)))
	}
	args := []Value{setText(m.f.Class), lanes, setText(string(m.f.Reason))}
	for _, selected := range m.statuses {
		args = append(args, bit(selected))
	}
	err = m.c.Rows(sumDead, func(r Row) error {
		of.owner, of.class, of.lanes, of.selected = r.Int(0), r.Int(1), r.Int(2), r.Int(3)
		return nil
	}, args...)
	// There are no counters by owner, so the number is a guess: if there are several owners,
	// one of them usually has few entries.
	of.owner = min(of.owner/16, LookMax/4)
	return of, err
}

// fits reports whether the filter selects a dead letter by the columns filterColumns, which the row
// has.
func (m *matcher) fits(r Row) bool {
	f := m.f
	status := job.Status(r.Int(2))
	if !m.statuses[status] || m.lanes != nil && !m.lanes[r.Int(7)] || m.groups != nil && !slices.Contains(m.groups, r.Int(6)) ||
		f.Redrive != 0 && f.Redrive != r.Int(9) || f.Batch != 0 && f.Batch != max(r.Int(11), -r.Int(11)) ||
		f.Reason != "" && string(f.Reason) != r.Text(4) || f.Class != "" && f.Class != r.Text(5) || f.Owner != "" && f.Owner != r.Text(8) {
		return false
	}
	return m.takes == nil || m.takes(&job.DeadLetter{Status: status, Revived: r.Int(3) != 0, Aside: r.Int(11) < 0})
}

// further returns how many further columns, of other rows, decide whether the filter selects a dead
// letter. selects reads them.
func (m *matcher) further() (columns int) {
	if m.ofJob {
		columns++
	}
	if m.text != "" {
		columns++
	}
	return columns
}

// selects returns which of some jobs the filter selects. The dead letters of all of them fit. It reads
// what further counts.
func (m *matcher) selects(jobs []job.ID) (selected map[job.ID]bool, err error) {
	selected = make(map[job.ID]bool, len(jobs))
	if m.ofJob {
		f := m.f
		err := m.c.Rows(severalJobs, func(r Row) error {
			if (f.Correlation == "" || f.Correlation == r.Text(1)) && (f.Worker == "" || f.Worker == r.Text(2)) && f.Attr.Matches(r.Blob(3)) {
				selected[job.ID(r.Int(0))] = true
			}
			return nil
		}, idList(jobs))
		if err != nil || m.text == "" {
			return selected, err
		}
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(id job.ID) bool { return !selected[id] })
		clear(selected)
	}
	if len(jobs) == 0 {
		return selected, nil
	}
	err = m.c.Rows(severalMessages, func(r Row) error {
		if strings.Contains(strings.ToLower(r.Text(1)), m.text) {
			selected[job.ID(r.Int(0))] = true
		}
		return nil
	}, idList(jobs))
	return selected, err
}
