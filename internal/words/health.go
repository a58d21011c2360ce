package words

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// Limits contains the thresholds of Warnings, which returns a warning beyond each of them.
type Limits struct {
	Nobody     time.Duration // a warning if jobs are due for this time and no process can run them
	Oldest     time.Duration // a warning if the oldest due job has been due for this time
	FreeShare  float64       // a warning if less than this share of the file system is free
	FreeSize   int64         // a warning if less than this number of bytes is free
	Size       int64         // a warning if the database has more bytes; 0 means no limit
	Lag        time.Duration // a warning if retention or counters are behind for longer than this
	Deaths     int           // a warning if this many jobs died within DeathsIn
	DeathsIn   time.Duration
	Clocks     time.Duration // a warning if two clocks differ by more than this
	SweepEvery time.Duration // time between two sweeps; a row can be this late without a fault, so it is added to Lag
	// Keep is the retention of the configuration. A field that is 0 is not checked.
	Keep store.Retention
}

// DefaultLimits returns the limits that apply unless a person sets others.
func DefaultLimits() Limits {
	return Limits{
		Nobody: time.Minute, Oldest: 5 * time.Minute, FreeShare: 0.1, FreeSize: 1 << 30, Lag: time.Minute,
		Deaths: 10, DeathsIn: 10 * time.Minute, Clocks: 2 * time.Second, SweepEvery: time.Minute,
	}
}

// Warning describes something that a person should look at although the database works.
type Warning struct {
	Check string `json:"check"` // what was checked, such as "free-space"
	Text  string `json:"message"`
}

// The values of Warning.Check.
const (
	checkWorkers   = "workers"
	checkOldest    = "oldest-due"
	checkSpace     = "free-space"
	checkSize      = "size"
	checkRetention = "retention"
	checkCounters  = "counters"
	checkDeaths    = "dead-letters"
	checkClocks    = "clocks"
	checkOwners    = "no-owner"
	checkNotices   = "notices"
)

// Warnings compares what was found in a database with limits.
func Warnings(f *store.Findings, l *Limits, now job.Micros) []Warning {
	w := health{findings: f, limits: l, now: now, list: []Warning{}}
	w.due()
	w.space()
	w.size()
	w.retention()
	w.counters()
	w.deaths()
	w.clocks()
	w.owners()
	w.notices()
	return w.list
}

// health collects the warnings about one database.
type health struct {
	findings *store.Findings
	limits   *Limits
	now      job.Micros
	list     []Warning
}

func (w *health) warn(check, format string, args ...any) {
	w.list = append(w.list, Warning{check, fmt.Sprintf(format, args...)})
}

// lanesShown is the maximum number of warnings about single queues and kinds.
const lanesShown = 10

// due warns about due jobs that no process can run or start, and about the oldest of the other due jobs. It
// does not warn about jobs of a paused queue, because a person wants them to wait.
func (w *health) due() {
	nobody, late := 0, false
	for i := range w.findings.Due {
		d := &w.findings.Due[i]
		waits := w.now.Sub(d.RunAt)
		if d.Paused {
			continue
		}
		living, quiet := w.workersOf(d)
		cause, sick := w.sickOf(d)
		switch {
		case living > quiet && sick && nobody < lanesShown:
			nobody++
			w.warn(checkWorkers, "jobs of kind %s in queue %s are due and stand still, because each running worker that has this kind "+
				"cannot start its program; the error of one worker: %s", d.Kind, d.Queue, Clean(cause))
		case living > quiet && waits >= w.limits.Oldest && !late:
			late = true
			w.warn(checkOldest, "job %d (kind %s, queue %s) has been due for %s; more than %s is late: add workers, or look at limits and rates "+
				"with `redrive queues list`", d.ID, d.Kind, d.Queue, Span(waits), Span(w.limits.Oldest))
		case living > quiet || waits < w.limits.Nobody:
		case nobody >= lanesShown:
			nobody++
		case living > 0:
			nobody++
			w.warn(checkWorkers, "jobs of kind %s in queue %s have been due for %s, and each worker that runs them is quiet: "+
				"wake one with `redrive workers wake NAME`", d.Kind, d.Queue, Span(waits))
		case d.Kind == notify.KindMail:
			nobody++
			w.warn(checkNotices, "mails have been due for %s, and no running worker can send them: start one whose configuration has the mail server "+
				"in the section notify", Span(waits))
		default:
			nobody++
			w.warn(checkWorkers, "jobs of kind %s in queue %s have been due for %s, and no running worker has this kind and queue: start one",
				d.Kind, d.Queue, Span(waits))
		}
	}
	if nobody > lanesShown {
		w.warn(checkWorkers, "no worker claims the due jobs of %s more pairs of a kind and a queue", Number(int64(nobody-lanesShown)))
	}
}

// workersOf returns the number of living processes that have the queue and kind of a job,
// and how many of them are quiet.
func (w *health) workersOf(d *store.DueLane) (living, quiet int) {
	for i := range w.findings.Processes {
		p := &w.findings.Processes[i]
		if p.Silent || !slices.Contains(p.Queues, d.Queue) || !slices.Contains(p.Kinds, d.Kind) {
			continue
		}
		living++
		if p.Quiet {
			quiet++
		}
	}
	return living, quiet
}

// sickOf reports whether no worker can start the program of a job's kind. It asks only living
// workers with the job's queue and kind that are not quiet. The first result is the error of one of
// these workers.
func (w *health) sickOf(d *store.DueLane) (cause string, all bool) {
	for i := range w.findings.Processes {
		p := &w.findings.Processes[i]
		if p.Silent || p.Quiet || !slices.Contains(p.Queues, d.Queue) || !slices.Contains(p.Kinds, d.Kind) {
			continue
		}
		if cause, all = p.HasSick(d.Kind); !all {
			return "", false
		}
	}
	return cause, all
}

func (w *health) space() {
	s := w.findings.Space
	if s == nil || s.Total <= 0 {
		return
	}
	share := float64(s.Free) / float64(s.Total)
	if s.Free >= w.limits.FreeSize && share >= w.limits.FreeShare {
		return
	}
	w.warn(checkSpace, "%s are free on the file system of the database, %s; less than %s or %s is too little: make room, or shorten the retention",
		Size(s.Free), Share(share), Size(w.limits.FreeSize), Share(w.limits.FreeShare))
}

func (w *health) size() {
	if n := w.findings.Bytes; w.limits.Size > 0 && n > w.limits.Size {
		w.warn(checkSize, "the database has %s, more than %s: shorten the retention, or set a higher limit", Size(n), Size(w.limits.Size))
	}
}

func (w *health) retention() {
	for _, kept := range [...]struct {
		what   string
		oldest job.Micros
		keep   time.Duration
	}{
		{"ended job", w.findings.OldestEnded, w.limits.Keep.Completed}, {"event", w.findings.OldestEvent, w.limits.Keep.Events},
	} {
		if kept.oldest == 0 || kept.keep == 0 {
			continue
		}
		if lag := w.now.Sub(kept.oldest) - kept.keep; lag > w.limits.Lag+w.limits.SweepEvery {
			w.warn(checkRetention, "the oldest %s should have been removed %s ago (it is kept for %s); workers remove old rows: is one running, "+
				"and does its log say why it cannot?", kept.what, Span(lag), Span(kept.keep))
		}
	}
}

// counters warns if the table of counters is behind. Running processes bring this table up to date,
// so there is no warning if no process runs.
func (w *health) counters() {
	lag := w.findings.CounterLag
	if lag <= w.limits.Lag || w.living() == 0 {
		return
	}
	w.warn(checkCounters, "the table of counters does not contain the commits of the last %s; more than %s is late: look for old transactions "+
		"of the server above", Span(lag), Span(w.limits.Lag))
}

func (w *health) living() (n int) {
	for i := range w.findings.Processes {
		if !w.findings.Processes[i].Silent {
			n++
		}
	}
	return n
}

func (w *health) deaths() {
	n, since := 0, w.now.Add(-w.limits.DeathsIn)
	for _, at := range w.findings.Deaths {
		if at > since {
			n++
		}
	}
	if w.limits.Deaths == 0 || n < w.limits.Deaths {
		return
	}
	atLeast := ""
	if n == store.DeathsMax {
		atLeast = "at least "
	}
	w.warn(checkDeaths, "%s%s died in the last %s; %s or more are too many: `redrive dlq groups` shows the causes",
		atLeast, Count(int64(n), "job"), Span(w.limits.DeathsIn), Number(int64(w.limits.Deaths)))
}

func (w *health) clocks() {
	ahead := w.findings.ClockAhead
	if ahead <= w.limits.Clocks && ahead >= -w.limits.Clocks {
		return
	}
	side := "ahead of"
	if ahead < 0 {
		side, ahead = "behind", -ahead
	}
	w.warn(checkClocks, "the clock of the database is %s %s the clock of this machine; more than %s is too much: set both by NTP",
		Span(ahead), side, Span(w.limits.Clocks))
}

// owners warns about pending dead letters that are not classified and whose cause is assigned to
// nobody. For all other dead letters, the text of their class says who must act.
func (w *health) owners() {
	for _, c := range w.findings.Classes {
		if c.Class != string(failure.UnknownError) || c.UnassignedPending == 0 {
			continue
		}
		w.warn(checkOwners, "the cause of %s in %s is not classified, and nobody is assigned to it: `redrive dlq groups --class %s` lists them; "+
			"give them a class in the policy, or assign them with `redrive dlq groups assign`",
			Count(c.UnassignedPending, "pending dead letter"), Count(c.Unassigned, "group"), c.Class)
	}
}

// notices warns about notices that nobody gets.
func (w *health) notices() {
	n := &w.findings.Notices
	for _, name := range n.Missing[:min(len(n.Missing), lanesShown)] {
		w.warn(checkNotices, "the rules of notifications name the webhook %s, which does not exist, so its notices die: add it with "+
			"`redrive webhooks add %s URL`, or correct the rules", name, name)
	}
	for _, name := range n.Off[:min(len(n.Off), lanesShown)] {
		w.warn(checkNotices, "the rules of notifications name the webhook %s, which is off, so no notices are made for it: "+
			"turn it on with `redrive webhooks on %s` when its receiver works again", name, name)
	}
	if n.Dead > 0 {
		w.warn(checkNotices, "%s could not be sent: `redrive dlq list --queue %s` shows why, and `redrive dlq retry --queue %s` sends them again",
			Count(n.Dead, "notice"), notify.Queue, notify.Queue)
	}
}

// Share returns the text of a share, such as "12 %".
func Share(share float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + " %"
}
