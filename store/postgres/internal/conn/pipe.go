package conn

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/redrive/redrive/internal/sqlstore"
)

// Step is one statement of several that go to the server in one flush. Its text says the types of its parameters.
type Step struct {
	Q    *sqlstore.Query
	Args []any                    // int64, string, []byte, *vector; nil is NULL
	Each func(sqlstore.Row) error // nil: no row is looked at
	N    *int                     // gets the number of rows changed or returned
	tag  *string                  // gets what the server says it did
	Anew bool                     // it is planned each time
}

// Send runs the steps in their order, all in one flush. The rows are handed on
// after the last answer has come.
func (s *Session) Send(steps ...Step) error {
	names := make([]string, len(steps))
	if s.stmts != nil {
		for i := range steps {
			if steps[i].Anew {
				continue
			}
			d, err := s.prepare(s.texts.Of(steps[i].Q))
			if err != nil {
				return &Failed{steps[i].Q.Name, err}
			}
			names[i] = d.Name
		}
	}
	p := s.Conn.StartPipeline(s.Ctx)
	for i := range steps {
		values, formats := encodeArgs(steps[i].Args)
		if names[i] != "" {
			p.SendQueryPrepared(names[i], values, formats, BinaryColumns)
		} else {
			p.SendQueryParams(s.texts.Of(steps[i].Q), values, nil, formats, BinaryColumns)
		}
	}
	results := make([]*Result, len(steps))
	err := s.receive(p, steps, results)
	if cerr := p.Close(); err == nil && cerr != nil {
		err = &Failed{"flush", cerr}
	}
	for i := range steps {
		r, each := results[i], steps[i].Each
		if r == nil {
			continue
		}
		if err == nil && each != nil {
			err = r.each(steps[i].Q.Name, each)
		}
		s.done(r)
	}
	return err
}

// Commit sends the last steps of a fast transaction with its COMMIT. One that never
// began has nothing to commit.
func (s *Session) Commit() error {
	if !s.Begun {
		return nil
	}
	// The commit is not to be given up: watch cuts the connection when it takes too
	// long.
	tag := ""
	if err := s.Send(append(s.Last, Step{Q: fastCommit, tag: &tag})...); err != nil {
		return err
	}
	return Committed(tag)
}

// receive reads the answers of all steps.
func (s *Session) receive(p *pgconn.Pipeline, steps []Step, results []*Result) error {
	if err := p.Sync(); err != nil {
		return &Failed{"flush", err}
	}
	for i := range steps {
		got, err := p.GetResults()
		if err != nil {
			return &Failed{steps[i].Q.Name, err}
		}
		answer, ok := got.(*pgconn.ResultReader)
		if !ok {
			return &Failed{steps[i].Q.Name, fmt.Errorf("answer of an unexpected kind %T", got)}
		}
		r := s.result()
		results[i] = r
		for answer.NextRow() {
			if steps[i].Each != nil {
				r.add(answer.FieldDescriptions(), answer.Values())
			}
		}
		tag, err := answer.Close()
		if err != nil {
			return &Failed{steps[i].Q.Name, err}
		}
		if steps[i].N != nil {
			*steps[i].N = int(tag.RowsAffected())
		}
		if steps[i].tag != nil {
			*steps[i].tag = tag.String()
		}
	}
	return nil
}

// encodeArgs writes the arguments in the binary form; numbers are bigint.
func encodeArgs(args []any) (values [][]byte, formats []int16) {
	values, formats = make([][]byte, len(args)), make([]int16, len(args))
	for i, a := range args {
		formats[i] = pgtype.BinaryFormatCode
		switch a := a.(type) {
		case nil:
		case int64:
			values[i] = []byte{byte(a >> 56), byte(a >> 48), byte(a >> 40), byte(a >> 32), byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}
		case string:
			values[i] = []byte(escape(a))
		case []byte:
			values[i] = a
		case *Vector:
			values[i] = a.encode()
		default:
			panic(fmt.Sprintf("postgres: argument of type %T", a))
		}
	}
	return values, formats
}

// fastCommit ends a fast transaction.
var fastCommit = &sqlstore.Query{Name: "commit"}

// Commit ends any other transaction.
func Commit(conn *pgconn.PgConn) error {
	results, err := conn.Exec(context.Background(), "COMMIT").ReadAll()
	if err != nil {
		return &Failed{"commit", err}
	}
	if len(results) != 1 {
		return &Failed{"commit", ErrAnswer}
	}
	return Committed(results[0].CommandTag.String())
}

// Committed returns an error unless the server has answered to a COMMIT that it has committed. After
// an answer that is not that of a COMMIT, nobody knows.
func Committed(tag string) error {
	switch tag {
	case "COMMIT":
		return nil
	case "ROLLBACK":
		return ErrAborted
	}
	return &Failed{"commit", ErrAnswer}
}
