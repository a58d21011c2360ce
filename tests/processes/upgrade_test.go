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

// nextMigration is what the migration after the newest one may be: it adds, and
// takes nothing away. $ stands for the schema.
var nextMigration = []string{
	`BEGIN`,
	`ALTER TABLE $.redrive_jobs ADD COLUMN colour text`,
	`CREATE INDEX redrive_colour ON $.redrive_jobs (colour) WHERE colour IS NOT NULL`,
	`CREATE TABLE $.redrive_colours (name text PRIMARY KEY)`,
	`INSERT INTO $.redrive_migrations (version_id, is_applied) SELECT max(version_id) + 1, true FROM $.redrive_migrations`,
	`COMMIT`,
}

// compatible says that programs which know the schema before may use the new one.
const compatible = `INSERT INTO $.redrive_meta (key, value)
	SELECT 'compatible_from', max(version_id) - 1 FROM $.redrive_migrations`

func (f *fleet) exec(statements ...string) {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.dsn)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // nothing is left to say
	for _, s := range statements {
		if _, err := conn.Exec(f.Context(), strings.ReplaceAll(s, "$", f.schema), pgx.QueryExecModeSimpleProtocol); err != nil {
			f.Fatalf("%s: %v", s, err)
		}
	}
}

// Programs of the version before go on while a migration is applied, and those
// that start afterwards work or say what to do, as the migration allows.
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
		t.Errorf("an old program that starts on the new schema ends with %s and says:\n%s\nwant it to name the cure",
			late.cmd.ProcessState, said)
	}
	f.exec(compatible)
	f.start("compatible", "-kinds", "short").isUp()
	f.enqueue("short", 300)
	jobs += 300

	lines := f.await("all jobs ran", func(lines []line.Line) bool { return count(lines, line.End, "") >= jobs })
	f.stored("all jobs are completed", func() bool { return f.counts()[job.Completed] == int64(jobs) })
	if n := count(lines, line.Begin, ""); n != jobs {
		t.Errorf("%d runs of %d jobs", n, jobs)
	}
	for _, p := range old {
		if strings.Contains(p.said(), "level=ERROR") {
			t.Errorf("%s was in trouble: %s", p.name, p.said())
		}
	}
}
