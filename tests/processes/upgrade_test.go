//go:build linux

package processes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/processes/line"
)

// nextMigration stands for a migration after the newest migration. It adds columns and removes
// nothing. The character $ stands for the name of the schema.
var nextMigration = []string{
	`BEGIN`,
	`ALTER TABLE $.redrive_jobs ADD COLUMN colour text`,
	`CREATE INDEX redrive_colour ON $.redrive_jobs (colour) WHERE colour IS NOT NULL`,
	`CREATE TABLE $.redrive_colours (name text PRIMARY KEY)`,
	`INSERT INTO $.redrive_migrations (version_id, is_applied) SELECT max(version_id) + 1, true FROM $.redrive_migrations`,
	`COMMIT`,
}

// compatible marks the new schema as usable by programs that know only the previous schema.
const compatible = `INSERT INTO $.redrive_meta (key, value)
	SELECT 'compatible_from', max(version_id) - 1 FROM $.redrive_migrations`

func (f *fleet) exec(statements ...string) {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.dsn)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // no error check: an error of Close does not matter
	for _, s := range statements {
		if _, err := conn.Exec(f.Context(), strings.ReplaceAll(s, "$", f.schema), pgx.QueryExecModeSimpleProtocol); err != nil {
			f.Fatalf("run the statement %s: %v", s, err)
		}
	}
}

// Programs of the earlier version keep running while a migration is applied. If the migration
// allows it, programs of the earlier version can also start afterwards. Otherwise they end with a
// log that says what to do.
//
// proves: Q10
func TestQ10_ARollingUpgrade(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	old := f.up(2, "-kinds", "short,broken")
	working := func(than time.Time) func(lines []line.Line) bool {
		return func(lines []line.Line) bool {
			return !slices.ContainsFunc(old, func(p *process) bool { return begun(lines, p.name, than) < 20 })
		}
	}
	jobs := f.busy("short", "both work", working(time.Time{}))
	f.exec(nextMigration...)
	migrated := time.Now()
	jobs += f.busy("short", "both go on", working(migrated))

	late := f.start("late", "-kinds", "short")
	<-late.ended
	if said := late.said(); late.cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said, "install a newer redrive") {
		t.Errorf("a program of the old version ended on the new schema with %s and this log:\n%s\nwant a log that says what to do",
			late.cmd.ProcessState, said)
	}
	f.exec(compatible)
	f.start("compatible", "-kinds", "short").isUp()
	f.enqueue("short", 300)
	jobs += 300

	lines := f.await("all jobs ran", func(lines []line.Line) bool { return count(lines, line.End, "") >= jobs })
	f.stored("all jobs are completed", func() bool { return f.counts()[job.Completed] == int64(jobs) })
	if n := count(lines, line.Begin, ""); n != jobs {
		t.Errorf("got %d runs of %d jobs, want one run for each job", n, jobs)
	}
	for _, p := range old {
		if strings.Contains(p.said(), "level=ERROR") {
			t.Errorf("process %s logged these errors, want none: %s", p.name, p.said())
		}
	}
}
