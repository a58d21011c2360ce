package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

type doctorCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*doctorCmd) Help() string {
	return `The command checks the files, the settings and every page, and counts all jobs to compare them with the counters. With
PostgreSQL it checks important settings, sizes, old transactions, transactions that delay events, and the two clocks
instead of files and pages. It changes nothing, and workers may run at the same time. A large database takes long. The
exit code is 1 when something is wrong.

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

// findings are the results of examining a database. Each store has a type for them, which
// is also their JSON form.
type findings interface {
	facts(now job.Micros) words.Facts
	problems() []string
}

func (a *app) printReport(r findings) {
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
	f := r.facts(p.now)
	p.facts(f)
	fmt.Fprintln(a.out)
	for _, problem := range r.problems() {
		fmt.Fprintf(a.out, "  %s %s\n", p.style.red("wrong:"), words.Clean(problem))
	}
	if len(r.problems()) == 0 {
		fmt.Fprintln(a.out, "  All is well.")
	}
}

// diagnose examines the database and returns what it found.
func (d *database) diagnose(ctx context.Context, now func() time.Time) (findings, error) {
	if d.file != "" {
		r, err := sqlite.Diagnose(ctx, d.file, now())
		return &fileReport{r}, err
	}
	r, err := postgres.Diagnose(ctx, d.dsn.Reveal(), d.postgres.Schema, now)
	return &serverReport{r}, err
}

// fileReport is the result of examining an SQLite file.
type fileReport struct{ *sqlite.Diagnosis }

func (r *fileReport) problems() []string { return r.Problems }

func (r *fileReport) facts(now job.Micros) words.Facts {
	f := words.Facts{}
	f.Add("file", fmt.Sprintf("%s, %s", r.Path, words.Size(r.Size)))
	f.Add("file system", r.Place)
	f.Add("log", fmt.Sprintf("%s in the write-ahead log", words.Size(r.WALSize)))
	f.Add("pages", fmt.Sprintf("%s of %s bytes, %s free", words.Number(r.Pages), r.Settings["page_size"], words.Number(r.Free)))
	f.Add("settings", fmt.Sprintf("journal_mode %s, synchronous %s", r.Settings["journal_mode"], synchronousText(r.Settings["synchronous"])))
	f.Add("schema", fmt.Sprintf("%d, this program knows %d", r.Schema.Version, r.Schema.Known))
	f.Add("SQLite", r.SQLite)
	for _, module := range slices.Sorted(maps.Keys(r.Modules)) {
		f.Add("", module+" "+r.Modules[module])
	}
	addJobs(&f, r.Jobs)
	if o := r.Oldest; o != nil {
		addOldest(&f, o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	addExpired(&f, r.Expired, r.ExpiredAt, now)
	return f
}

// serverReport is the result of examining a PostgreSQL schema.
type serverReport struct{ *postgres.Diagnosis }

func (r *serverReport) problems() []string { return r.Problems }

func (r *serverReport) facts(now job.Micros) words.Facts {
	f := words.Facts{}
	pooler := ""
	if r.Pooled {
		pooler = ", through a pooler"
	}
	f.Add("database", r.Where)
	f.Add("server", "PostgreSQL "+r.Server+pooler)
	f.Add("schema", fmt.Sprintf("%s, version %d, this program knows %d", r.Name, r.Schema.Version, r.Schema.Known))
	f.Add("settings", fmt.Sprintf("fsync %s, full_page_writes %s, synchronous_commit %s, autovacuum %s",
		r.Settings["fsync"], r.Settings["full_page_writes"], r.Settings["synchronous_commit"], r.Settings["autovacuum"]))
	f.Add("connections", fmt.Sprintf("%s of %s", words.Number(r.Connections), words.Number(r.Allowed)))
	f.Add("size", words.Size(r.Size))
	for i := range min(len(r.Tables), tablesShown) {
		t := &r.Tables[i]
		f.Add("", fmt.Sprintf("%s %s, about %s rows, %s to be cleaned", t.Name, words.Size(t.Size), words.Number(t.Live), words.Number(t.Dead)))
	}
	f.Add("transactions", fmt.Sprintf("the oldest that writes is %s old, the oldest that reads %s",
		words.Span(r.OldestTransaction), words.Span(r.OldestSnapshot)))
	f.Add("events", fmt.Sprintf("%s commits cannot be read yet, %s are not in the counters' table yet", words.Number(r.Hidden), words.Number(r.Unfolded)))
	f.Add("clock", fmt.Sprintf("the server's is %s ahead of this machine's", words.Span(r.ClockAhead)))
	addJobs(&f, r.Jobs)
	if o := r.Oldest; o != nil {
		addOldest(&f, o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	addExpired(&f, r.Expired, r.ExpiredAt, now)
	return f
}

// tablesShown is the number of tables that doctor lists; these are the largest ones.
const tablesShown = 3

func addJobs(f *words.Facts, byState map[string]int64) {
	var jobs []string
	for _, s := range job.States {
		if n := byState[s.String()]; n > 0 {
			jobs = append(jobs, words.Number(n)+" "+s.String())
		}
	}
	f.Add("jobs", strings.Join(jobs, ", "))
}

func addOldest(f *words.Facts, id job.ID, kind, queue string, runAt, now job.Micros) {
	f.Add("oldest due", fmt.Sprintf("job %d, kind %s, queue %s, due %s", id, kind, queue, words.Away(runAt, now)))
}

func addExpired(f *words.Facts, n int64, since, now job.Micros) {
	if n > 0 {
		f.Add("leases", fmt.Sprintf("%d over, the first %s", n, words.Away(since, now)))
	}
}

// synchronousText returns the name of a value of SQLite's setting "synchronous". SQLite
// reports a number.
func synchronousText(n string) string {
	names := map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}
	return cmp.Or(names[n], n)
}
