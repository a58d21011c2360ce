package sqlstore

import (
	"context"

	"github.com/redrive/redrive/store"
)

// Way gives tests access to the route on which a search reads the dead letters of a filter.
type Way struct {
	Statement string // the statement that reads the rows in descending order
	Keys      int
	None      bool // whether it is known that the filter selects no dead letter
	High      int64

	m *matcher
}

// Way chooses the route for a filter and calls the given function with the route.
func (s *Core) Way(ctx context.Context, f *store.DeadFilter, exact bool, do func(*Way) error) error {
	find := func(c Session) error {
		m, err := newMatcher(c, f, s.db.Clock.Now(), exact)
		if err != nil {
			return err
		}
		w := &Way{Keys: len(m.keys), None: m.none, High: m.high, m: m}
		if !m.none {
			w.Statement = m.route.down.Name
		}
		return do(w)
	}
	if exact {
		return s.db.Read(ctx, find)
	}
	// The search runs in a write transaction, because read transactions end after one second.
	return s.db.Write(ctx, func(t *Txn) error { return find(t.s) })
}

// Search returns four values: the numbers of the found deaths, the death at which the search
// stopped, whether there are more deaths, and an error.
func (w *Way) Search(up bool, low, high int64, want, look int) (found []int64, edge int64, more bool, err error) {
	p, err := search(w.m, up, low, high, want, look, func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	return p.found, p.edge, p.more, err
}

// Counted makes the way add the number of its statements to n.
func (w *Way) Counted(n *int) { w.m.c = &counted{w.m.c, n} }

type counted struct {
	Session
	n *int
}

func (c *counted) Rows(q *Query, each func(Row) error, args ...Value) error {
	*c.n++
	return c.Session.Rows(q, each, args...)
}
