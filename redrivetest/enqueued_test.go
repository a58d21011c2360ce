package redrivetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// failing is a testing.TB that records the message of the failure that ends a test.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// messageOf runs f and returns the message with which f ends its test, or "" when f does not
// end its test.
func messageOf(t *testing.T, f func(t testing.TB)) string {
	recorded := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(recorded)
	}()
	<-done
	return recorded.message
}

func clientOf(t *testing.T, s store.Store) *redrive.Client {
	t.Helper()
	c, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add enqueues jobs, as the code under test would do.
func add(t *testing.T, c *redrive.Client, specs ...redrive.Spec) {
	t.Helper()
	if _, err := c.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
}

func TestRequireEnqueued_FindsWhatWasEnqueued(t *testing.T) {
	t.Parallel()
	c := clientOf(t, memory.New(memory.Options{}))
	at := time.Now().Add(time.Hour)
	add(t, c, Upload.New(upload{"a.png"}, nil),
		Upload.New(upload{"b.png"}, &redrive.Options{Queue: "images", Owner: "ann", Key: "k", RunAt: at}),
		redrive.NewRaw("other", []byte("x"), nil))

	all := redrivetest.RequireEnqueued(t, c, Upload)
	if len(all) != 2 || all[0].Args.File != "a.png" || all[1].Args.File != "b.png" || all[1].Queue != "images" {
		t.Errorf("got the jobs %+v, want both uploads, the oldest first", all)
	}
	for name, want := range map[string]redrivetest.Want{
		"args": redrivetest.Args(upload{"b.png"}), "args as a map": redrivetest.Args(map[string]string{"File": "b.png"}),
		"queue": redrivetest.Queue("images"), "owner": redrivetest.Owner("ann"), "key": redrivetest.Key("k"), "run at": redrivetest.RunAt(at),
	} {
		if got := redrivetest.RequireEnqueued(t, c, Upload, want, redrivetest.Count(1)); got[0].Args.File != "b.png" {
			t.Errorf("%s: got the job %+v, want the job for b.png", name, got[0])
		}
	}
	redrivetest.RequireNotEnqueued(t, c, Upload, redrivetest.Args(upload{"c.png"}))
	redrivetest.RequireNotEnqueued(t, c, redrive.Kind[upload]("download"))
}

func TestRequireEnqueued_FindsMoreThanAPageOfJobs(t *testing.T) {
	t.Parallel()
	c := clientOf(t, memory.New(memory.Options{}))
	specs := make([]redrive.Spec, 1100)
	for i := range specs {
		specs[i] = Upload.New(upload{fmt.Sprint(i)}, nil)
	}
	add(t, c, specs...)
	all := redrivetest.RequireEnqueued(t, c, Upload, redrivetest.Count(1100))
	if all[0].Args.File != "0" || all[1099].Args.File != "1099" {
		t.Errorf("the first job has the file %s and the last %s, want file 0 and file 1099", all[0].Args.File, all[1099].Args.File)
	}
}

func TestRequireEnqueued_SaysWhatDiffers(t *testing.T) {
	t.Parallel()
	c := clientOf(t, memory.New(memory.Options{}))
	add(t, c, Upload.New(upload{"a.png"}, nil), Upload.New(upload{"b.png"}, &redrive.Options{Queue: "images"}))
	for name, test := range map[string]struct {
		check func(t testing.TB)
		want  string
	}{
		"no such job": {func(t testing.TB) {
			redrivetest.RequireEnqueued(t, c, Upload, redrivetest.Args(upload{"b.png"}), redrivetest.Queue("default"))
		}, `want at least one job of kind "upload" with args {"File":"b.png"}, queue "default"; found 0 among the 2 jobs of this kind in the store
  job 1, waiting: args {"File":"a.png"}, want args {"File":"b.png"}
  job 2, waiting: queue "images", want queue "default"`},
		"another number": {func(t testing.TB) { redrivetest.RequireEnqueued(t, c, Upload, redrivetest.Count(1)) },
			`want exactly one job of kind "upload"; found 2 among the 2 jobs of this kind in the store
  job 1, waiting: meets all conditions, args {"File":"a.png"}
  job 2, waiting: meets all conditions, args {"File":"b.png"}`},
		"not wanted": {func(t testing.TB) { redrivetest.RequireNotEnqueued(t, c, Upload, redrivetest.Queue("images")) },
			`want no job of kind "upload" with queue "images"; found 1 among the 2 jobs of this kind in the store
  job 1, waiting: queue "default", want queue "images"
  job 2, waiting: meets all conditions, args {"File":"b.png"}`},
		"nothing there": {func(t testing.TB) {
			redrivetest.RequireEnqueued(t, c, redrive.Kind[upload]("download"), redrivetest.Count(2))
		},
			`want exactly 2 jobs of kind "download"; found 0 among the 0 jobs of this kind in the store`},
		"arguments of another type": {func(t testing.TB) { redrivetest.RequireEnqueued(t, c, redrive.Kind[int]("upload")) },
			`job 1 of kind "upload": the arguments do not fit int: json: cannot unmarshal object into Go value of type int`},
		"no transactions": {func(t testing.TB) { redrivetest.RequireEnqueuedTx(t, c, sqlite.Tx(nil), Upload) },
			`read the jobs of kind "upload": read jobs: a store of type *memory.Store cannot read in a caller's own transaction: ` +
				`read after its commit: invalid`},
	} {
		if got := messageOf(t, test.check); got != test.want {
			t.Errorf("%s: got the message\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestRequireEnqueued_SaysThatArgumentsAreGone(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, Upload, func(context.Context, *redrive.Job[upload]) error { return nil }, nil)
	add(t, e.Client, Upload.New(upload{"a.png"}, nil))
	e.Work()
	redrivetest.RequireEnqueued(t, e.Client, Upload, redrivetest.Count(1))
	got := messageOf(t, func(t testing.TB) {
		redrivetest.RequireEnqueued(t, e.Client, Upload, redrivetest.Args(upload{"a.png"}))
	})
	if !strings.Contains(got, "args are not stored any more, because the job is completed") {
		t.Errorf("RequireEnqueued with the arguments of a completed job: got the message %q, want the reason why the arguments are not found", got)
	}
}

var errRollBack = errors.New("the code under test rolls back")

// On each store and in each kind of transaction, a test sees the uncommitted jobs of the
// transaction. After a rollback it sees no job of the transaction.
func TestRequireEnqueuedTx_SeesWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (store.Store, func(do func(store.Tx) error) error){
		"sqlite": onSQLite, "postgres with pgx": onPgx, "postgres with database/sql": onDatabaseSQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, transact := open(t)
			c := clientOf(t, s)
			add(t, c, Upload.New(upload{"first"}, nil))
			for _, end := range []error{errRollBack, nil} {
				err := transact(func(tx store.Tx) error {
					redrivetest.RequireNotEnqueuedTx(t, c, tx, Upload, redrivetest.Args(upload{"a.png"}))
					if _, err := c.EnqueueTx(t.Context(), tx, Upload.New(upload{"a.png"}, &redrive.Options{Queue: "images"})); err != nil {
						return err
					}
					found := redrivetest.RequireEnqueuedTx(t, c, tx, Upload, redrivetest.Args(upload{"a.png"}), redrivetest.Queue("images"))
					if len(found) != 1 || found[0].Args.File != "a.png" {
						t.Errorf("RequireEnqueuedTx found the jobs %+v, want the uncommitted job a.png", found)
					}
					redrivetest.RequireEnqueuedTx(t, c, tx, Upload, redrivetest.Count(2))
					return end
				})
				if !errors.Is(err, end) {
					t.Fatalf("transaction: got error %v, want error %v", err, end)
				}
				if end != nil {
					redrivetest.RequireNotEnqueued(t, c, Upload, redrivetest.Args(upload{"a.png"}))
				} else {
					redrivetest.RequireEnqueued(t, c, Upload, redrivetest.Args(upload{"a.png"}), redrivetest.Count(1))
				}
			}
		})
	}
}

func onSQLite(t *testing.T) (store.Store, func(func(store.Tx) error) error) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	closes(t, s, err)
	return s, func(do func(store.Tx) error) error {
		return s.Tx(t.Context(), func(_ context.Context, tx *sql.Tx) error { return do(sqlite.Tx(tx)) })
	}
}

func onPgx(t *testing.T) (store.Store, func(func(store.Tx) error) error) {
	dsn, schema := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	closes(t, s, err)
	return s, func(do func(store.Tx) error) error {
		tx, err := pgtest.Connect(t, dsn).Begin(t.Context())
		if err != nil {
			return err
		}
		if err := do(postgres.Tx(tx)); err != nil {
			return errors.Join(err, tx.Rollback(t.Context()))
		}
		return tx.Commit(t.Context())
	}
}

func onDatabaseSQL(t *testing.T) (store.Store, func(func(store.Tx) error) error) {
	dsn, schema := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	closes(t, s, err)
	db, err := sql.Open("pgx", dsn)
	closes(t, db, err)
	return s, func(do func(store.Tx) error) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		if err := do(postgres.SQLTx(tx)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
}

// closes closes a database or store when the test ends.
func closes(t *testing.T, c interface{ Close() error }, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
