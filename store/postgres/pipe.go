package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/redrive/redrive/internal/sqlstore"
)

// step is one statement of several that go to the server in one flush. Its text says the types of its parameters.
type step struct {
	q    *sqlstore.Query
	args []any                    // int64, string, []byte, *vector; nil is NULL
	each func(sqlstore.Row) error // nil: no row is looked at
	n    *int                     // gets the number of rows changed or returned
	tag  *string                  // gets what the server says it did
	anew bool                     // it is planned each time
}

// send runs the steps in their order, all in one flush. The rows are handed on
// after the last answer has come.
func (s *session) send(steps ...step) error {
	names := make([]string, len(steps))
	if s.stmts != nil {
		for i := range steps {
			if steps[i].anew {
				continue
			}
			d, err := s.prepare(s.texts.Of(steps[i].q))
			if err != nil {
				return &failed{steps[i].q.Name, err}
			}
			names[i] = d.Name
		}
	}
	p := s.conn.StartPipeline(s.ctx)
	for i := range steps {
		values, formats := encodeArgs(steps[i].args)
		if names[i] != "" {
			p.SendQueryPrepared(names[i], values, formats, binaryColumns)
		} else {
			p.SendQueryParams(s.texts.Of(steps[i].q), values, nil, formats, binaryColumns)
		}
	}
	results := make([]*result, len(steps))
	err := s.receive(p, steps, results)
	if cerr := p.Close(); err == nil && cerr != nil {
		err = &failed{"flush", cerr}
	}
	for i := range steps {
		r, each := results[i], steps[i].each
		if r == nil {
			continue
		}
		if err == nil && each != nil {
			err = r.each(steps[i].q.Name, each)
		}
		s.done(r)
	}
	return err
}

// commit sends the last steps of a fast transaction with its COMMIT. One that never
// began has nothing to commit.
func (s *session) commit() error {
	if !s.begun {
		return nil
	}
	// The commit is not to be given up: watch cuts the connection when it takes too
	// long.
	tag := ""
	if err := s.send(append(s.last, step{q: fastCommit, tag: &tag})...); err != nil {
		return err
	}
	return committed(tag)
}

// receive reads the answers of all steps.
func (s *session) receive(p *pgconn.Pipeline, steps []step, results []*result) error {
	if err := p.Sync(); err != nil {
		return &failed{"flush", err}
	}
	for i := range steps {
		got, err := p.GetResults()
		if err != nil {
			return &failed{steps[i].q.Name, err}
		}
		answer, ok := got.(*pgconn.ResultReader)
		if !ok {
			return &failed{steps[i].q.Name, fmt.Errorf("answer of an unexpected kind %T", got)}
		}
		r := s.result()
		results[i] = r
		for answer.NextRow() {
			if steps[i].each != nil {
				r.add(answer.FieldDescriptions(), answer.Values())
			}
		}
		tag, err := answer.Close()
		if err != nil {
			return &failed{steps[i].q.Name, err}
		}
		if steps[i].n != nil {
			*steps[i].n = int(tag.RowsAffected())
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
		case *vector:
			values[i] = a.encode()
		default:
			panic(fmt.Sprintf("postgres: argument of type %T", a))
		}
	}
	return values, formats
}
