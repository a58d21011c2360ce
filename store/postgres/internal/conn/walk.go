package conn

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

func (s *Session) walk(q *sqlstore.Query, each func(sqlstore.Row) error, args []sqlstore.Value) (err error) {
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
		if r.Len() < size {
			return s.closeCursor(cursor, q.Name, nil)
		}
	}
}

// open declares the cursor and reads the first part, in one flush.
func (s *Session) open(cursor string, q *sqlstore.Query, args []sqlstore.Value, r *Result) error {
	s.plainArgs(args)
	p := s.Conn.StartPipeline(s.Ctx)
	p.SendQueryParams("DECLARE "+cursor+" NO SCROLL CURSOR FOR "+s.texts.Of(q), s.values, nil, s.formats, nil)
	p.SendQueryParams(fetchText(cursor, walkParts[0]), nil, nil, nil, BinaryColumns)
	err := p.Sync()
	for err == nil {
		var got any
		if got, err = p.GetResults(); err != nil || got == nil {
			break
		}
		switch answer := got.(type) {
		case *pgconn.ResultReader:
			err = r.Read(answer)
		case *pgconn.PipelineSync:
		}
	}
	if cerr := p.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &Failed{q.Name, err}
	}
	return nil
}

func fetchText(cursor string, n int) string {
	return "FETCH " + strconv.Itoa(n) + " FROM " + cursor
}

func (s *Session) fetch(cursor, name string, n int, r *Result) error {
	if err := r.Read(s.Conn.ExecParams(s.Ctx, fetchText(cursor, n), nil, nil, nil, BinaryColumns)); err != nil {
		return &Failed{name, err}
	}
	return nil
}

// closeCursor ends a walk. After an error of the transaction, which has closed
// the cursor with everything else, nothing is left to do.
func (s *Session) closeCursor(cursor, name string, after error) error {
	if after != nil && s.Conn.TxStatus() != 'T' {
		return nil
	}
	if _, err := s.Conn.ExecParams(s.Ctx, "CLOSE "+cursor, nil, nil, nil, nil).Close(); err != nil {
		return &Failed{name, err}
	}
	return nil
}
