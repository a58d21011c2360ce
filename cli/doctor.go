package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

type doctorCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*doctorCmd) Help() string {
	return `Looks at the files, reads the settings back, checks every page, and counts all jobs anew to compare them with
the counters. It changes nothing and may run beside workers; of a large database it takes its time. The exit
code is 1 when something is wrong.

    redrive doctor
    redrive doctor --json | jq -r '.problems[]'`
}

func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	path, err := a.database()
	if err != nil {
		return err
	}
	if err := a.exists(path); err != nil {
		return err
	}
	r, err := sqlite.Diagnose(ctx, path, a.now())
	if err != nil {
		return err
	}
	if c.JSON {
		err = a.printJSON(r)
	} else {
		a.printReport(r)
	}
	if err == nil && len(r.Problems) > 0 {
		return failed{}
	}
	return err
}

func (a *app) printReport(r *sqlite.Report) {
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
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
	var jobs []string
	for _, s := range job.States {
		if n := r.Jobs[s.String()]; n > 0 {
			jobs = append(jobs, number(n)+" "+s.String())
		}
	}
	f.add("jobs", strings.Join(jobs, ", "))
	if o := r.Oldest; o != nil {
		f.add("oldest due", fmt.Sprintf("job %d, kind %s, queue %s, due %s", o.ID, o.Kind, o.Queue, away(o.RunAt, p.now)))
	}
	if r.Expired > 0 {
		f.add("leases", fmt.Sprintf("%d over, the first %s", r.Expired, away(r.ExpiredAt, p.now)))
	}
	f.print(p)
	fmt.Fprintln(a.out)
	for _, problem := range r.Problems {
		fmt.Fprintf(a.out, "  %s %s\n", p.style.red("wrong:"), clean(problem))
	}
	if len(r.Problems) == 0 {
		fmt.Fprintln(a.out, "  All is well.")
	}
}

// synchronousText names what SQLite gives as a number.
func synchronousText(n string) string {
	names := map[string]string{"0": "off", "1": "normal", "2": "full", "3": "extra"}
	return cmp.Or(names[n], n)
}
