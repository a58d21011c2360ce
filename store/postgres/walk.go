package postgres

import (
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// A walk reads rows until its reader has enough, of a statement that may return a lot
// more. So it goes through a cursor of the server, in parts that get larger: most
// readers have enough soon.
var walkParts = [...]int{50, 500, 2_000}

func (s *session) walk(q *sqlstore.Query, each func(sqlstore.Row) error, args []sqlstore.Value) (err error) {
	s.cursors++
	cursor := "redrive_walk_" + strconv.Itoa(s.cursors)
	r := s.result()
	defer s.done(r)
	if err := s.open(cursor, q, args, r); err != nil {
		return err
	}
	for part := 0; ; part++ {
		size := walkParts[min(part, len(walkParts)-1)]
		if part > 0 {
			r.reset()
			if err := s.fetch(cursor, q.Name, size, r); err != nil {
				return err
			}
		}
		if err := r.each(q.Name, each); err != nil {
			if cerr := s.closeCursor(cursor, q.Name, err); cerr != nil {
				return errors.Join(err, cerr)
			}
			return err
		}
		if r.len() < size {
			return s.closeCursor(cursor, q.Name, nil)
		}
	}
}

// open declares the cursor and reads the first part, in one flush.
func (s *session) open(cursor string, q *sqlstore.Query, args []sqlstore.Value, r *result) error {
	s.plainArgs(args)
	p := s.conn.StartPipeline(s.ctx)
	p.SendQueryParams("DECLARE "+cursor+" NO SCROLL CURSOR FOR "+s.texts.Of(q), s.values, nil, s.formats, nil)
	p.SendQueryParams(fetchText(cursor, walkParts[0]), nil, nil, nil, binaryColumns)
	err := p.Sync()
	for err == nil {
		var got any
		if got, err = p.GetResults(); err != nil || got == nil {
			break
		}
		switch answer := got.(type) {
		case *pgconn.ResultReader:
			err = r.read(answer)
		case *pgconn.PipelineSync:
		}
	}
	if cerr := p.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &failed{q.Name, err}
	}
	return nil
}

func fetchText(cursor string, n int) string {
	return "FETCH " + strconv.Itoa(n) + " FROM " + cursor
}

func (s *session) fetch(cursor, name string, n int, r *result) error {
	if err := r.read(s.conn.ExecParams(s.ctx, fetchText(cursor, n), nil, nil, nil, binaryColumns)); err != nil {
		return &failed{name, err}
	}
	return nil
}

// closeCursor ends a walk. After an error of the transaction, which has closed
// the cursor with everything else, nothing is left to do.
func (s *session) closeCursor(cursor, name string, after error) error {
	if after != nil && s.conn.TxStatus() != 'T' {
		return nil
	}
	if _, err := s.conn.ExecParams(s.ctx, "CLOSE "+cursor, nil, nil, nil, nil).Close(); err != nil {
		return &failed{name, err}
	}
	return nil
}
