package sqlstore

import (
	"context"

	"github.com/redrive/redrive/store"
)

// Way exports the route of a filter through the dead letters for tests.
type Way struct {
	Statement string // the statement that reads the rows in descending order
	Keys      int
	None      bool // whether the filter can select nothing
	High      int64

	m *matcher
}

// Way chooses the route for a filter and calls do with it.
func (s *Core) Way(ctx context.Context, f *store.DeadFilter, exact bool, do func(*Way) error) error {
	find := func(c Session) error {
		m, err := newMatcher(c, f, exact)
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
	return s.db.Write(ctx, func(t *Txn) error { return find(t.s) }) // in the writer's transaction, because a reader has a time limit of one second
}

// Search returns the numbers of the deaths that were found, the death at which the
// search stopped, and whether there are more.
func (w *Way) Search(up bool, low, high int64, want, look int) (found []int64, edge int64, more bool, err error) {
	p, err := search(w.m, up, low, high, want, look, func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	return p.found, p.edge, p.more, err
}
