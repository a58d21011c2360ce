package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// readers is a pool of connections that only read.
type readers struct {
	free chan *native
	all  []*native
}

func openReaders(path string, n int) (*readers, error) {
	r := &readers{free: make(chan *native, n)}
	for range n {
		conn, err := connect(path, roleReader)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		s := newNative(conn)
		r.all = append(r.all, s)
		r.free <- s
	}
	return r, nil
}

func (r *readers) close() (err error) {
	for range r.all {
		s := <-r.free
		err = errors.Join(err, s.conn.Close())
	}
	return err
}

var beginRead = &sqlstore.Query{Name: "beginRead"}

// read calls the given function in one read transaction, so that all its reads see the same
// snapshot.
func (s *Store) read(ctx context.Context, do func(sqlstore.Session) error) (err error) {
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	var conn *native
	select {
	case conn = <-s.readers.free:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed
	}
	defer func() { s.readers.free <- conn }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.ReadLimit,
		fmt.Errorf("the read took longer than %s; select fewer rows, or try again when the machine is less busy: %w",
			s.options.ReadLimit, store.ErrUnavailable))
	defer cancel()
	conn.conn.SetInterrupt(ctx.Done())
	defer conn.conn.SetInterrupt(nil)
	if _, err = conn.Exec(beginRead); err == nil {
		err = do(conn)
		conn.conn.SetInterrupt(nil) // the end of ctx must not interrupt the rollback
		if _, rerr := conn.Exec(rollbackTx); err == nil {
			err = rerr
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return asStoreError(err)
}
