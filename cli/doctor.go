package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

type doctorCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*doctorCmd) Help() string {
	return `Looks at the files, reads the settings back, checks every page, and counts all jobs anew to compare them with
the counters. With PostgreSQL it looks at the settings that matter, sizes, old transactions, what holds events
back and the two clocks instead of files and pages. It changes nothing and may run beside workers; of a large database it takes its time. The exit
code is 1 when something is wrong.

    redrive doctor
    redrive doctor --json | jq -r '.problems[]'`
}

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	if err := d.fileThere(); err != nil {
		return err
	}
	r, err := d.diagnose(ctx, a.now)
	if err != nil {
		return err
	}
	if c.JSON {
		err = a.printJSON(r)
	} else {
		a.printReport(r)
	}
	if err == nil && len(r.problems()) > 0 {
		return failed{}
	}
	return err
}

// findings are what examining a database has shown; as JSON they are as its store has them.
type findings interface {
	facts(now job.Micros) facts
	problems() []string
}

func (a *app) printReport(r findings) {
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
	f := r.facts(p.now)
	f.print(p)
	fmt.Fprintln(a.out)
	for _, problem := range r.problems() {
		fmt.Fprintf(a.out, "  %s %s\n", p.style.red("wrong:"), clean(problem))
	}
	if len(r.problems()) == 0 {
		fmt.Fprintln(a.out, "  All is well.")
	}
}

// diagnose examines the database.
func (d *database) diagnose(ctx context.Context, now func() time.Time) (findings, error) {
	if d.file != "" {
		r, err := sqlite.Diagnose(ctx, d.file, now())
		return &fileReport{r}, err
	}
	r, err := postgres.Diagnose(ctx, d.dsn.Reveal(), d.postgres.Schema, now)
	return &serverReport{r}, err
}

// fileReport is of a file of SQLite's.
type fileReport struct{ *sqlite.Diagnosis }

func (r *fileReport) problems() []string { return r.Problems }

func (r *fileReport) facts(now job.Micros) facts {
	f := facts{}
	f.add("file", fmt.Sprintf("%s, %s", r.Path, size(r.Size)))
	f.add("file system", r.Place)
	f.add("log", fmt.Sprintf("%s in the write-ahead log", size(r.WALSize)))
	f.add("pages", fmt.Sprintf("%s of %s bytes, %s free", number(r.Pages), r.Settings["page_size"], number(r.Free)))
	f.add("settings", fmt.Sprintf("journal_mode %s, synchronous %s", r.Settings["journal_mode"], synchronousText(r.Settings["synchronous"])))
	f.add("schema", fmt.Sprintf("%d, this program knows %d", r.Schema.Version, r.Schema.Known))
	f.add("SQLite", r.SQLite)
	for _, module := range slices.Sorted(maps.Keys(r.Modules)) {
		f.add("", module+" "+r.Modules[module])
	}
	f.jobs(r.Jobs)
	if o := r.Oldest; o != nil {
		f.oldest(o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	f.expired(r.Expired, r.ExpiredAt, now)
	return f
}

// serverReport is of a schema in PostgreSQL.
type serverReport struct{ *postgres.Diagnosis }

func (r *serverReport) problems() []string { return r.Problems }

func (r *serverReport) facts(now job.Micros) facts {
	f := facts{}
	pooler := ""
	if r.Pooled {
		pooler = ", through a pooler"
	}
	f.add("database", r.Where)
	f.add("server", "PostgreSQL "+r.Server+pooler)
	f.add("schema", fmt.Sprintf("%s, version %d, this program knows %d", r.Name, r.Schema.Version, r.Schema.Known))
	f.add("settings", fmt.Sprintf("fsync %s, full_page_writes %s, synchronous_commit %s, autovacuum %s",
		r.Settings["fsync"], r.Settings["full_page_writes"], r.Settings["synchronous_commit"], r.Settings["autovacuum"]))
	f.add("connections", fmt.Sprintf("%s of %s", number(r.Connections), number(r.Allowed)))
	f.add("size", size(r.Size))
	for i := range min(len(r.Tables), tablesShown) {
		t := &r.Tables[i]
		f.add("", fmt.Sprintf("%s %s, about %s rows, %s to be cleaned", t.Name, size(t.Size), number(t.Live), number(t.Dead)))
	}
	f.add("transactions", fmt.Sprintf("the oldest that writes is %s old, the oldest that reads %s",
		span(r.OldestTransaction), span(r.OldestSnapshot)))
	f.add("events", fmt.Sprintf("%s commits cannot be read yet, %s are not in the counters' table yet", number(r.Hidden), number(r.Unfolded)))
	f.add("clock", fmt.Sprintf("the server's is %s ahead of this machine's", span(r.ClockAhead)))
	f.jobs(r.Jobs)
	if o := r.Oldest; o != nil {
		f.oldest(o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	f.expired(r.Expired, r.ExpiredAt, now)
	return f
}

// tablesShown is how many tables doctor lists, the largest.
const tablesShown = 3

func (f *facts) jobs(byState map[string]int64) {
	var jobs []string
	for _, s := range job.States {
		if n := byState[s.String()]; n > 0 {
			jobs = append(jobs, number(n)+" "+s.String())
		}
	}
	f.add("jobs", strings.Join(jobs, ", "))
}

func (f *facts) oldest(id job.ID, kind, queue string, runAt, now job.Micros) {
	f.add("oldest due", fmt.Sprintf("job %d, kind %s, queue %s, due %s", id, kind, queue, away(runAt, now)))
}

func (f *facts) expired(n int64, since, now job.Micros) {
	if n > 0 {
		f.add("leases", fmt.Sprintf("%d over, the first %s", n, away(since, now)))
	}
}

// synchronousText names what SQLite gives as a number.
func synchronousText(n string) string {
	names := map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}
	return cmp.Or(names[n], n)
}
