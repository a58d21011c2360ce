// Package conn is the part of the PostgreSQL store that talks to the server: sessions, pipelines of statements,
// arguments and rows, errors, and the interruption of calls. It knows no jobs.
package conn

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
)

// statements are those that a connection has prepared. Without them each
// statement is parsed anew, which is what a pooler in transaction mode wants:
// there the next transaction may be on another connection.
type statements struct {
	known map[string]*pgconn.StatementDescription
}

// Session runs the statements of one transaction on a connection. It implements
// sqlstore.Session.
type Session struct {
	Ctx     context.Context //nolint:containedctx // lives as long as the transaction
	Conn    *pgconn.PgConn
	texts   sqlstore.Texts
	stmts   *statements // nil: nothing is prepared
	free    []*Result   // results that can be used again
	cursors int
	Begun   bool   // of a fast transaction: the server knows of it
	Standby bool   // commits wait for others, see replicates
	callers bool   // in a caller's transaction, which cannot begin anew
	Last    []Step // go with the COMMIT of a fast transaction
	values  [][]byte
	formats []int16
	scratch []byte
}

var _ sqlstore.Session = (*Session)(nil)

// NewSession returns a session on a connection that prepares nothing.
func NewSession(ctx context.Context, conn *pgconn.PgConn, texts sqlstore.Texts) *Session {
	return &Session{Ctx: ctx, Conn: conn, texts: texts}
}

// sessionKey is where a connection keeps its session.
const sessionKey = "redrive"

// SessionOf returns the session of a pooled connection.
func SessionOf(conn *pgxpool.Conn, texts sqlstore.Texts, prepares bool) *Session {
	raw := conn.Conn().PgConn()
	data := raw.CustomData()
	c, ok := data[sessionKey].(*Session)
	if !ok {
		c = NewSession(context.Background(), raw, texts)
		if prepares {
			c.stmts = &statements{known: make(map[string]*pgconn.StatementDescription)}
		}
		data[sessionKey] = c
	}
	c.cursors = 0
	return c
}

// Cut closes a connection at once.
func Cut(conn *pgconn.PgConn) {
	_ = conn.Conn().SetDeadline(Past) // what it is about to say is of no use
	_ = conn.Close(context.Background())
}

// BinaryColumns is the format of all columns of an answer.
var BinaryColumns = []int16{pgtype.BinaryFormatCode}

// Exec implements sqlstore.Session.
func (s *Session) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
	answer, err := s.start(q.Name, s.texts.Of(q), args)
	if err != nil {
		return 0, err
	}
	tag, err := answer.Close()
	if err != nil {
		return 0, &Failed{q.Name, err}
	}
	return int(tag.RowsAffected()), nil
}

// Rows implements sqlstore.Session. What is walked comes in parts through a
// cursor; any other answer is read whole before the first row is handed on.
func (s *Session) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) error {
	if q.Walk {
		return s.walk(q, each, args)
	}
	answer, err := s.start(q.Name, s.texts.Of(q), args)
	if err != nil {
		return err
	}
	r := s.result()
	defer s.done(r)
	if err := r.Read(answer); err != nil {
		return &Failed{q.Name, err}
	}
	if s.texts[q.Name].Overtaken && !s.callers {
		each = notOvertaken(each)
	}
	return r.each(q.Name, each)
}

// Read takes an answer in and ends it.
func (r *Result) Read(answer *pgconn.ResultReader) error {
	for answer.NextRow() {
		r.add(answer.FieldDescriptions(), answer.Values())
	}
	_, err := answer.Close()
	return err
}

func (r *Result) each(name string, each func(sqlstore.Row) error) error {
	for i := range r.Len() {
		if err := each(r.Row(i)); err != nil {
			return err
		}
		if r.Err != nil {
			return fmt.Errorf("%s: %w", name, r.Err)
		}
	}
	return nil
}

// result returns an empty one; done gives it back.
func (s *Session) result() *Result {
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		return r
	}
	return &Result{}
}

// resultKeep bounds the memory that an idle session keeps for answers.
const resultKeep = 1 << 20

func (s *Session) done(r *Result) {
	if cap(r.data) > resultKeep {
		return
	}
	r.reset()
	s.free = append(s.free, r)
}

// start sends a statement and returns the answer, which has to be read and
// closed before the next one.
func (s *Session) start(name, text string, args []sqlstore.Value) (*pgconn.ResultReader, error) {
	if s.stmts == nil {
		s.plainArgs(args)
		return s.Conn.ExecParams(s.Ctx, text, s.values, nil, s.formats, BinaryColumns), nil
	}
	description, err := s.prepare(text)
	if err != nil {
		return nil, &Failed{name, err}
	}
	if len(description.ParamOIDs) != len(args) {
		return nil, fmt.Errorf("%s: %d arguments for %d parameters", name, len(args), len(description.ParamOIDs))
	}
	if err := s.typedArgs(description.ParamOIDs, args); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s.Conn.ExecPrepared(s.Ctx, description.Name, s.values, s.formats, BinaryColumns), nil
}

func (s *Session) prepare(text string) (*pgconn.StatementDescription, error) {
	if d := s.stmts.known[text]; d != nil {
		return d, nil
	}
	d, err := s.Conn.Prepare(s.Ctx, "redrive_"+strconv.Itoa(len(s.stmts.known)), text, nil)
	if err != nil {
		return nil, err
	}
	s.stmts.known[text] = d
	return d, nil
}

// plainArgs writes arguments whose types the server finds out: in text form,
// but bytes as they are.
func (s *Session) plainArgs(args []sqlstore.Value) {
	s.values, s.formats = s.values[:0], s.formats[:0]
	for i := range args {
		a := &args[i]
		var value []byte
		format := int16(pgtype.TextFormatCode)
		switch a.Kind {
		case sqlstore.IsInt:
			value = strconv.AppendInt(nil, a.N, 10)
		case sqlstore.IsText:
			value = []byte(escape(a.S))
		case sqlstore.IsBlob:
			value, format = Present(a.B), pgtype.BinaryFormatCode
		case sqlstore.IsNull:
		}
		s.values, s.formats = append(s.values, value), append(s.formats, format)
	}
}

// typedArgs writes arguments for parameters whose types are known.
func (s *Session) typedArgs(oids []uint32, args []sqlstore.Value) error {
	s.values, s.formats, s.scratch = s.values[:0], s.formats[:0], s.scratch[:0]
	if cap(s.scratch) < 8*len(args) { // so that it does not move while values point at it
		s.scratch = make([]byte, 0, 8*len(args))
	}
	for i := range args {
		value, format, err := s.typedArg(oids[i], &args[i])
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		s.values, s.formats = append(s.values, value), append(s.formats, format)
	}
	return nil
}

func (s *Session) typedArg(oid uint32, a *sqlstore.Value) (value []byte, format int16, err error) {
	switch a.Kind {
	case sqlstore.IsInt:
		from := len(s.scratch)
		switch oid {
		case pgtype.Int8OID:
			s.scratch = binary.BigEndian.AppendUint64(s.scratch, uint64(a.N))
		case pgtype.Int4OID:
			if int64(int32(a.N)) != a.N {
				return nil, 0, fmt.Errorf("%d is beyond 32 bits", a.N)
			}
			s.scratch = binary.BigEndian.AppendUint32(s.scratch, uint32(a.N))
		case pgtype.Int2OID:
			if int64(int16(a.N)) != a.N {
				return nil, 0, fmt.Errorf("%d is beyond 16 bits", a.N)
			}
			s.scratch = binary.BigEndian.AppendUint16(s.scratch, uint16(a.N))
		case pgtype.BoolOID:
			truth := byte(0)
			if a.N != 0 {
				truth = 1
			}
			s.scratch = append(s.scratch, truth)
		default:
			return strconv.AppendInt(nil, a.N, 10), pgtype.TextFormatCode, nil
		}
		return s.scratch[from:len(s.scratch):len(s.scratch)], pgtype.BinaryFormatCode, nil
	case sqlstore.IsText:
		if oid == pgtype.ByteaOID {
			return []byte(a.S), pgtype.BinaryFormatCode, nil
		}
		return []byte(escape(a.S)), pgtype.TextFormatCode, nil
	case sqlstore.IsBlob:
		if oid != pgtype.ByteaOID {
			return []byte(escape(string(a.B))), pgtype.TextFormatCode, nil
		}
		return Present(a.B), pgtype.BinaryFormatCode, nil
	case sqlstore.IsNull:
	}
	return nil, pgtype.TextFormatCode, nil
}

// Present makes an empty value of nil, which would be NULL.
func Present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// notOvertaken hands on rows whose last column says that they can be taken.
func notOvertaken(each func(sqlstore.Row) error) func(sqlstore.Row) error {
	return func(r sqlstore.Row) error {
		if row, ok := r.(Row); ok && row.Int(len(row.fields)-1) != 0 {
			return ErrOvertaken
		}
		return each(r)
	}
}
