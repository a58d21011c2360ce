package postgres

import (
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
)

// problems returns the problems that name something.
func problems(r *Diagnosis, what string) (found []string) {
	for _, p := range r.Problems {
		if strings.Contains(p, what) {
			found = append(found, p)
		}
	}
	return found
}

func TestDoctorOfAHealthyDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Setting("fsync", "on")) // whose settings and transactions are only ours
	s := opened(t, server.DSN(), nil)
	for range 3 {
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	claimOne(t, s)
	r, err := Diagnose(t.Context(), server.DSN(), "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) != 0 {
		t.Errorf("problems: %q", r.Problems)
	}
	if r.Jobs["waiting"] != 2 || r.Jobs["running"] != 1 || r.Oldest == nil || r.Oldest.Queue != "default" {
		t.Errorf("jobs %v, oldest %v", r.Jobs, r.Oldest)
	}
	if r.Schema.Version != schemaVersion || r.Server == "" || r.Settings["fsync"] != "on" || r.Size == 0 || len(r.Tables) < 20 ||
		r.Connections < 1 || r.Allowed < 10 || r.Pooled || strings.Contains(r.Where, "password") {
		t.Errorf("%+v", r)
	}
	if r.ClockAhead > time.Second || r.ClockAhead < -time.Second {
		t.Errorf("the clock of this machine is %s from itself", r.ClockAhead)
	}
	if runtime.GOOS == "linux" && (r.Space == nil || r.Space.Free <= 0 || r.Space.Total < r.Space.Free || r.SpaceUnknown != "") {
		t.Errorf("space of a server on this machine: got %+v, unknown because %q; want its file system", r.Space, r.SpaceUnknown)
	}
	if r.Bytes != r.Size {
		t.Errorf("got %d bytes for the limit of --size, want the size of the tables, %d", r.Bytes, r.Size)
	}
}

// The free space is of the server's machine. Nothing is said of the space here if the server is elsewhere.
func TestDoctorDoesNotGuessTheSpaceOfAnotherMachine(t *testing.T) {
	t.Parallel()
	if space, why := spaceOf(int64(os.Getpid()), t.TempDir()); space != nil || why == "" {
		t.Errorf("the process with the id of the server is another program: got the space %+v, unknown because %q; want no space and a reason", space, why)
	}
	server := pgtest.New(t)
	opened(t, server.DSN(), nil)
	conn, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), `CREATE ROLE onlooker LOGIN PASSWORD 'pw'; GRANT USAGE ON SCHEMA redrive TO onlooker;
		GRANT SELECT ON ALL TABLES IN SCHEMA redrive TO onlooker`); err != nil {
		t.Fatal(err)
	}
	as := &url.URL{Scheme: "postgres", User: url.UserPassword("onlooker", "pw"), Path: "/" + conn.Config().Database, RawQuery: url.Values{
		"host": {conn.Config().Host}, "port": {strconv.Itoa(int(conn.Config().Port))}, "sslmode": {"disable"}}.Encode()}
	r, err := Diagnose(t.Context(), as.String(), "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if r.Space != nil || !strings.Contains(r.SpaceUnknown, "pg_read_all_settings") {
		t.Errorf("a role without rights: got the space %+v, unknown because %q; want no space and the right that it needs", r.Space, r.SpaceUnknown)
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Setting("fsync", "off"), pgtest.Setting("autovacuum", "off"))
	s := opened(t, server.DSN(), nil)
	conn := connected(t, server.DSN())
	for range 3 {
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	startedBatch(t, s, 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `UPDATE redrive.redrive_batches SET drafts = 2, outcome = 1`,
		`DELETE FROM redrive.redrive_jobs WHERE id = (SELECT max(id) FROM redrive.redrive_jobs)`)
	run(t, conn, `DELETE FROM redrive.redrive_jobs WHERE id = (SELECT min(id) FROM redrive.redrive_jobs)`,
		`UPDATE redrive.redrive_jobs SET state = 3, lease_until = 1 WHERE id = (SELECT min(id) FROM redrive.redrive_jobs)`,
		`BEGIN`, `CREATE TABLE held (id int)`)
	later := func() time.Time { return time.Now().Add(-time.Hour) }
	r, err := Diagnose(t.Context(), server.DSN(), "", later)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fsync is off", "autovacuum is off", "the counter of queue", "have lost their lease", "batch 1 counts 2 drafts, but there are 0",
		"batch 1 counts 3 live members, but there are 2", "batch 1 counts 1 outcomes, but there are 0", "ahead of this machine's"} {
		if len(problems(r, want)) == 0 {
			t.Errorf("not found: %s in %q", want, r.Problems)
		}
	}
	if r.OldestTransaction <= 0 {
		t.Errorf("the open transaction is not seen")
	}
	run(t, conn, `ROLLBACK`)
	if _, err := Migrate(t.Context(), server.DSN(), "", 0); err != nil {
		t.Fatal(err)
	}
	if r, err = Diagnose(t.Context(), server.DSN(), "", time.Now); err != nil || len(problems(r, "has no tables of redrive's")) != 1 {
		t.Errorf("an empty schema: %v, %v", r, err)
	}
	if _, err := Diagnose(t.Context(), "postgres://127.0.0.1:1/db?connect_timeout=1", "", time.Now); err == nil {
		t.Error("no server, and no error")
	}
}
