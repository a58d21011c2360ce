package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

type doctorCmd struct {
	jsonFlag
	Nobody    string `default:"60s" placeholder:"60s" help:"Warn when jobs have been due for this long and no running worker has their kind and queue."`
	Oldest    string `default:"5m" placeholder:"5m" help:"Warn when the oldest due job has been due for this long."`
	FreeShare string `default:"10%" placeholder:"10%" help:"Warn when less than this share of the file system is free."`
	FreeSize  string `default:"1GiB" placeholder:"1GiB" help:"Warn when less than this is free on the file system."`
	Size      string `default:"0B" placeholder:"0B" help:"Warn when the database is larger than this, such as 50GiB; 0B never warns."`
	Lag       string `default:"1m" placeholder:"1m" help:"Warn when retention or counters are behind for longer."`
	Dead      int    `default:"10" placeholder:"10" help:"Warn when this number of jobs died within --dead-in; 0 never warns."`
	DeadIn    string `default:"10m" placeholder:"10m" help:"The last period, of which --dead counts the deaths."`
	Clocks    string `default:"2s" placeholder:"2s" help:"Warn when the clocks of database and machine differ by more."`
}

// Help implements kong.HelpProvider.
func (*doctorCmd) Help() string {
	return `Checks the files and the settings, reads every page, and compares the counters with all jobs. With PostgreSQL it checks
settings, sizes, old transactions, what delays events, and both clocks instead of files and pages. Then it compares due jobs,
workers, free space, retention, counters, deaths and clocks with the limits that the flags set.

It changes nothing and can run beside workers. A large database takes a while. The exit code is 1 when something is wrong, and 9
when everything works but there are warnings. Retention is checked only with a configuration, which has its times.

    redrive doctor
    redrive doctor --oldest 1h --dead 100
    redrive doctor --json | jq -r '.problems[], .warnings[].message'`
}

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	limits, err := c.limits(a.known())
	if err != nil {
		return err
	}
	d, err := a.database()
	if err != nil {
		return err
	}
	if err := d.there(ctx); err != nil {
		return err
	}
	over := a.busy("checking the database")
	r, err := d.diagnose(ctx, a.now)
	over()
	if err != nil {
		return err
	}
	r.compare(&limits, job.At(a.now()))
	if c.JSON {
		err = a.printJSON(r)
	} else {
		a.printReport(r)
	}
	switch {
	case err != nil:
		return err
	case len(r.found().Problems) > 0:
		return failed{}
	case len(r.warnings()) > 0:
		return warned{}
	}
	return nil
}

// limits returns the limits that the flags set, with the retention of a configuration.
func (c *doctorCmd) limits(known *config.Config) (words.Limits, error) {
	l := words.DefaultLimits()
	var wrong several
	for _, d := range []struct {
		flag, text string
		into       *time.Duration
	}{
		{"--nobody", c.Nobody, &l.Nobody}, {"--oldest", c.Oldest, &l.Oldest}, {"--lag", c.Lag, &l.Lag}, {"--dead-in", c.DeadIn, &l.DeathsIn},
		{"--clocks", c.Clocks, &l.Clocks},
	} {
		span, err := human.ParseDuration(d.text)
		if err != nil || span == 0 {
			wrong = append(wrong, usagef("%s %.40q: must be a duration above 0 such as 90s, 2h or 3d", d.flag, d.text))
		}
		*d.into = span
	}
	share, err := strconv.ParseFloat(strings.TrimSuffix(c.FreeShare, "%"), 64)
	if l.FreeShare = share / 100; err != nil || !(share >= 0 && share <= 100) || !strings.HasSuffix(c.FreeShare, "%") {
		wrong = append(wrong, usagef("--free-share %.40q: must be 0%% to 100%%, such as 10%%", c.FreeShare))
	}
	if l.FreeSize, err = parseSize("--free-size", c.FreeSize); err != nil {
		wrong = append(wrong, err)
	}
	if l.Size, err = parseSize("--size", c.Size); err != nil {
		wrong = append(wrong, err)
	}
	if l.Deaths = c.Dead; c.Dead < 0 || c.Dead > store.DeathsMax {
		wrong = append(wrong, usagef("--dead %d: must be 0 to %d", c.Dead, store.DeathsMax))
	}
	if len(known.KindNames) > 0 {
		kept := retention(known)
		l.Keep.Completed = max(0, cmp.Or(kept.Completed, redrive.CompletedDefault))
		l.Keep.Events = max(0, cmp.Or(kept.Events, redrive.EventsDefault))
	}
	return l, wrong.asError()
}

// parseSize returns the number of bytes that a text such as 512MiB means.
func parseSize(flag, text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTi")
	shift, known := map[string]int{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > math.MaxInt64>>shift {
		return 0, usagef("%s %.40q: must be a whole number with the unit B, KiB, MiB, GiB or TiB, such as 1GiB", flag, text)
	}
	return n << shift, nil
}

// findings are the results of examining a database. Each store has a type for them, which
// is also their JSON form.
type findings interface {
	facts(now job.Micros) words.Facts
	found() *store.Findings
	compare(l *words.Limits, now job.Micros)
	warnings() []words.Warning
}

// verdict is the part of a report that says which findings are outside the limits.
type verdict struct{ wire.Verdict }

func (v *verdict) warnings() []words.Warning { return v.Warnings }

func (a *app) printReport(r findings) {
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
	f := r.facts(p.now)
	p.facts(f)
	fmt.Fprintln(a.out)
	for _, problem := range r.found().Problems {
		fmt.Fprintf(a.out, "  %s %s\n", p.style.red("wrong:"), words.Clean(problem))
	}
	for _, w := range r.warnings() {
		fmt.Fprintf(a.out, "  %s %s\n", p.style.yellow("warning:"), words.Clean(w.Text))
	}
	if len(r.found().Problems)+len(r.warnings()) == 0 {
		fmt.Fprintln(a.out, "  All is well.")
	}
}

// diagnose examines the database and returns what it found.
func (d *database) diagnose(ctx context.Context, now func() time.Time) (findings, error) {
	if d.file != "" {
		r, err := sqlite.Diagnose(ctx, d.file, now)
		return &fileReport{Diagnosis: r}, err
	}
	r, err := postgres.Diagnose(ctx, d.dsn.Reveal(), d.postgres.Schema, now)
	return &serverReport{Diagnosis: r}, err
}

// fileReport is the result of examining an SQLite file.
type fileReport struct {
	*sqlite.Diagnosis
	verdict
}

func (r *fileReport) found() *store.Findings { return &r.Findings }

func (r *fileReport) compare(l *words.Limits, now job.Micros) {
	r.Warnings = words.Warnings(&r.Findings, l, now)
}

func (r *fileReport) facts(now job.Micros) words.Facts {
	f := words.Facts{}
	f.Add("file", fmt.Sprintf("%s, %s", r.Path, words.Size(r.Size)))
	f.Add("file system", strings.TrimPrefix(r.Place+spaceText(r.Space), ", "))
	f.Add("log", fmt.Sprintf("%s in the write-ahead log", words.Size(r.WALSize)))
	f.Add("pages", fmt.Sprintf("%s of %s bytes, %s free", words.Number(r.Pages), r.Settings["page_size"], words.Number(r.Free)))
	f.Add("settings", fmt.Sprintf("journal_mode %s, synchronous %s", r.Settings["journal_mode"], synchronousText(r.Settings["synchronous"])))
	f.Add("schema", fmt.Sprintf("%d, this program knows %d", r.Schema.Version, r.Schema.Known))
	f.Add("SQLite", r.SQLite)
	for _, module := range slices.Sorted(maps.Keys(r.Modules)) {
		f.Add("", module+" "+r.Modules[module])
	}
	addWorkers(&f, r.Processes)
	addJobs(&f, r.Jobs)
	if o := r.Oldest; o != nil {
		addOldest(&f, o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	addExpired(&f, r.Expired, r.ExpiredAt, now)
	return f
}

// serverReport is the result of examining a PostgreSQL schema.
type serverReport struct {
	*postgres.Diagnosis
	verdict
}

func (r *serverReport) found() *store.Findings { return &r.Findings }

// compare uses the clock of the server, because the times in the report are the server's.
func (r *serverReport) compare(l *words.Limits, now job.Micros) {
	r.Warnings = words.Warnings(&r.Findings, l, now.Add(r.ClockAhead))
}

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
	if r.Space != nil {
		f.Add("file system", strings.TrimPrefix(spaceText(r.Space), ", "))
	} else if r.SpaceUnknown != "" {
		f.Add("file system", "free space not known: "+r.SpaceUnknown)
	}
	f.Add("size", words.Size(r.Size))
	for i := range min(len(r.Tables), tablesShown) {
		t := &r.Tables[i]
		f.Add("", fmt.Sprintf("%s %s, about %s rows, %s to be cleaned", t.Name, words.Size(t.Size), words.Number(t.Live), words.Number(t.Dead)))
	}
	f.Add("transactions", fmt.Sprintf("the oldest that writes is %s old, the oldest that reads %s",
		words.Span(r.OldestTransaction), words.Span(r.OldestSnapshot)))
	f.Add("events", fmt.Sprintf("%s commits cannot be read yet, %s are not in the counters' table yet", words.Number(r.Hidden), words.Number(r.Unfolded)))
	f.Add("clock", fmt.Sprintf("the server's is %s ahead of this machine's", words.Span(r.ClockAhead)))
	addWorkers(&f, r.Processes)
	addJobs(&f, r.Jobs)
	if o := r.Oldest; o != nil {
		addOldest(&f, o.ID, o.Kind, o.Queue, o.RunAt, now)
	}
	addExpired(&f, r.Expired, r.ExpiredAt, now)
	return f
}

// tablesShown is the number of tables that doctor lists; these are the largest ones.
const tablesShown = 3

func spaceText(s *store.Space) string {
	if s == nil || s.Total <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s of %s free", words.Size(s.Free), words.Size(s.Total))
}

// addWorkers adds the numbers of workers, by what they do.
func addWorkers(f *words.Facts, list []store.Process) {
	count := map[string]int64{}
	for i := range list {
		count[words.ProcessState(&list[i])]++
	}
	var parts []string
	for _, state := range []string{"working", "idle", "sick", "quiet", "silent"} {
		if n := count[state]; n > 0 {
			parts = append(parts, words.Number(n)+" "+state)
		}
	}
	f.Add("workers", cmp.Or(strings.Join(parts, ", "), "none"))
}

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
