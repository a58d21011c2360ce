package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store"
)

// proxied opens a store that reaches the shared server through a proxy.
func proxied(t *testing.T) (*Store, *pgproxy.Proxy) {
	t.Helper()
	dsn, schema := pgtest.Schema(t)
	p, through, err := pgproxy.Before(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return opened(t, through, &Options{Schema: schema}), p
}

// cutAt calls do until the connection that it is on has been cut, and returns its
// error. What the store does by itself may run into a cut, too.
func cutAt(t *testing.T, p *pgproxy.Proxy, point pgproxy.Point, match func(*pgproxy.Message) bool, do func() error) error {
	t.Helper()
	for range 100 {
		cut := p.Cut(point, match)
		for {
			err := do()
			if err != nil {
				<-cut.Done()
				return err
			}
			select {
			case <-cut.Done():
			default:
				continue
			}
			break
		}
	}
	t.Fatal("no call was cut")
	return nil
}

// A connection that is lost before COMMIT was sent has written nothing, and says
// so; one that is lost after it leaves that open.
//
// part of: Q10
func TestQ10_ConnectionLostAroundTheCommit(t *testing.T) {
	t.Parallel()
	commit := func(m *pgproxy.Message) bool {
		return m.Commit && strings.EqualFold(strings.TrimSpace(m.SQL), "commit")
	}
	for name, c := range map[string]struct {
		point   pgproxy.Point
		match   func(*pgproxy.Message) bool
		want    error
		written func(bool) bool // whether it may be so
	}{
		"before a statement": {pgproxy.BeforeMessage, pgproxy.Runs("redrive_queues (name)"), store.ErrUnavailable, func(w bool) bool { return !w }},
		"after a statement":  {pgproxy.BeforeReply, pgproxy.Runs("redrive_queues (name)"), store.ErrUnavailable, func(w bool) bool { return !w }},
		"before the commit":  {pgproxy.BeforeMessage, commit, store.ErrUnknown, func(w bool) bool { return !w }},
		"during the commit":  {pgproxy.AfterMessage, commit, store.ErrUnknown, func(bool) bool { return true }},
		"before its answer":  {pgproxy.BeforeReply, commit, store.ErrUnknown, func(w bool) bool { return w }},
		"in its answer":      {pgproxy.InReply, commit, store.ErrUnknown, func(w bool) bool { return w }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := proxied(t)
			n := 0
			err := cutAt(t, p, c.point, c.match, func() error {
				n++
				return s.Declare(t.Context(), []string{fmt.Sprint("q", n)})
			})
			if !errors.Is(err, c.want) || errors.Is(err, store.ErrUnknown) != (c.want == store.ErrUnknown) {
				t.Errorf("%v, want %v", err, c.want)
			}
			queues, err := s.Queues(t.Context())
			if err != nil {
				t.Fatalf("after it: %v", err)
			}
			written := len(queues) == n
			if len(queues) < n-1 || !c.written(written) {
				t.Errorf("%d queues after %d calls", len(queues), n)
			}
			// Asked again it is as it should be.
			if err := s.Declare(t.Context(), []string{fmt.Sprint("q", n)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A read that is cut at its end has nothing that could be in doubt.
//
// part of: Q10
func TestQ10_ReadsAreNeverInDoubt(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	err := cutAt(t, p, pgproxy.BeforeReply, pgproxy.Commit, func() error {
		_, err := s.Counts(t.Context())
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

// A redrive whose start is cut around the commit and asked again by its key is
// started once.
//
// part of: D7
func TestD7_ARedriveIsStartedOnce(t *testing.T) {
	t.Parallel()
	for _, point := range []pgproxy.Point{pgproxy.BeforeMessage, pgproxy.AfterMessage, pgproxy.BeforeReply, pgproxy.InReply} {
		t.Run(fmt.Sprint(point), func(t *testing.T) {
			t.Parallel()
			s, p := proxied(t)
			keys := 0
			start := func() (store.Redrive, error) {
				return s.StartRedrive(t.Context(), store.By{Actor: "ann"}, store.RedriveSpec{Through: 1, Total: 1, Key: fmt.Sprint(keys)})
			}
			err := cutAt(t, p, point, pgproxy.Commit, func() error {
				keys++
				_, err := start()
				return err
			})
			if !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("%v", err)
			}
			again, err := start()
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.RedriveList(t.Context())
			if err != nil || len(list) != keys || list[0].ID != again.ID {
				t.Errorf("%d redrives of %d keys, the last is %+v, %v", len(list), keys, again, err)
			}
		})
	}
}
