package sqlstore

import (
	"context"
	"reflect"
	"testing"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// oneRow is a fake session for tests. Every statement returns one row, or no row.
type oneRow struct{ none bool }

func (s oneRow) Exec(*Query, ...Value) (int, error) { return 1, nil }

func (s oneRow) Rows(_ *Query, each func(Row) error, _ ...Value) error {
	if s.none {
		return nil
	}
	return each(row{})
}

// row is a fake row: every column has the number 1 and the text "1".
type row struct{}

func (row) Int(int) int64   { return 1 }
func (row) Text(int) string { return "1" }
func (row) Blob(int) []byte { return nil }
func (row) Null(int) bool   { return false }

// A store may call the function of a read twice. The result must then contain no rows from the
// first call.
func TestARepeatedReadHasNoRowsTwice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	reads := map[string]func(*Core) (any, error){
		"Get":         func(s *Core) (any, error) { return s.Get(ctx, 1) },
		"Failures":    func(s *Core) (any, error) { return s.Failures(ctx, 1) },
		"List":        func(s *Core) (any, error) { return s.List(ctx, store.Filter{}) },
		"GetAll":      func(s *Core) (any, error) { return s.GetAll(ctx, []job.ID{1}) },
		"Latest":      func(s *Core) (any, error) { return s.Latest(ctx, []job.ID{1}) },
		"Lookup":      func(s *Core) (any, error) { return s.Lookup(ctx, "o", "k", "key") },
		"Processed":   func(s *Core) (any, error) { return s.Processed(ctx, "o", "k", "key") },
		"Counts":      func(s *Core) (any, error) { return s.Counts(ctx) },
		"Queues":      func(s *Core) (any, error) { return s.Queues(ctx) },
		"Signals":     func(s *Core) (any, error) { return s.Signals(ctx, "w") },
		"Events":      func(s *Core) (any, error) { return s.Events(ctx, event.Cursor{}, 10) },
		"Audit":       func(s *Core) (any, error) { return s.Audit(ctx, 0, 10) },
		"AuditPage":   func(s *Core) (any, error) { return s.AuditPage(ctx, store.AuditFilter{Actor: "1", Limit: 10}) },
		"Policy":      func(s *Core) (any, error) { return s.Policy(ctx, "1") },
		"PolicyList":  func(s *Core) (any, error) { return s.PolicyList(ctx) },
		"DeadLetter":  func(s *Core) (any, error) { return s.DeadLetter(ctx, 1) },
		"DeadLetters": func(s *Core) (any, error) { return s.DeadLetters(ctx, store.DeadFilter{}, store.DeadPaging{}) },
		"Original":    func(s *Core) (any, error) { return s.Original(ctx, 1) },
		"DeadStats":   func(s *Core) (any, error) { return s.DeadStats(ctx) },
		"Groups":      func(s *Core) (any, error) { return s.Groups(ctx, store.GroupFilter{}) },
		"Preview": func(s *Core) (any, error) {
			return s.Preview(ctx, store.Action{Do: store.ActIgnore, IDs: []job.ID{1}})
		},
		"Redrive":     func(s *Core) (any, error) { return s.Redrive(ctx, 1) },
		"RedriveList": func(s *Core) (any, error) { return s.RedriveList(ctx) },
		"Schedules":   func(s *Core) (any, error) { return s.CronSlots(ctx) },
	}
	core := func(sessions ...Session) *Core {
		return NewCore(DB{Clock: &jumpyClock{}, Read: func(_ context.Context, do func(Session) error) (err error) {
			for _, s := range sessions {
				err = do(s)
			}
			return err
		}})
	}
	for name, read := range reads {
		for _, last := range []oneRow{{}, {none: true}} {
			want, wantErr := read(core(last))
			got, err := read(core(oneRow{}, last))
			if !reflect.DeepEqual(got, want) || (err == nil) != (wantErr == nil) {
				t.Errorf("%s, read twice (the second read finds no rows: %t): got %+v, error %v; want only the rows of the second read: %+v, error %v", name, last.none, got, err, want, wantErr)
			}
		}
	}
}
