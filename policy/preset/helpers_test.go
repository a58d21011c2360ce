package preset_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// load reads a preset. Changes, if any, are merged over the preset.
func load(t *testing.T, name, changes string) *policyfile.File {
	t.Helper()
	f, err := policyfile.Parse("test.yaml", []byte("extends: "+name+"\n"+changes))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// almostOne is the largest random number below 1.
var almostOne = math.Nextafter(1, 0)

// run is one attempt that failed.
type run struct {
	evidence failure.Evidence
	how      job.How
}

// failing returns an attempt that failed with a message and other evidence.
func failing(message string, more ...func(*failure.Evidence)) run {
	r := run{failure.Evidence{Message: message}, job.ByError}
	for _, m := range more {
		m(&r.evidence)
	}
	return r
}

func status(n int) func(*failure.Evidence)      { return func(e *failure.Evidence) { e.HTTPStatus = n } }
func code(c string) func(*failure.Evidence)     { return func(e *failure.Evidence) { e.Code = c } }
func exit(n int) func(*failure.Evidence)        { return func(e *failure.Evidence) { e.Exit = &n } }
func typed(s ...string) func(*failure.Evidence) { return func(e *failure.Evidence) { e.Types = s } }

// timeLimit returns an attempt that ended at its time limit.
func timeLimit() run {
	return run{failure.Evidence{Message: "context deadline exceeded", Timeout: true}, job.ByTimeout}
}

// life is a job that runs as in the engine, but with the same random number for each wait.
type life struct {
	kind    string
	u       float64
	message *policy.Override
	attrs   string
}

// execute makes the job fail with the given runs, one after the other, and then again and
// again with the last run, until the job is not retried any more. As the engine does, it
// classifies each failure, decides, and passes the memo on to the next decision.
func (l life) execute(t *testing.T, p *policy.Policy, runs ...run) []policy.Decision {
	t.Helper()
	if l.kind == "" {
		l.kind = "job"
	}
	in := policy.Input{Kind: l.kind, U: l.u, Message: l.message}
	in.Admission = p.Admit(&policy.RuleInput{Kind: l.kind, Queue: "default", Priority: 2, Attrs: []byte(l.attrs)})
	var all []policy.Decision
	for n := range 1000 {
		r := runs[min(n, len(runs)-1)]
		in.Evidence, in.How = &r.evidence, r.how
		in.Class = p.Classify(&r.evidence, l.kind)
		d := p.Decide(&in)
		all = append(all, d)
		if d.Action != policy.Retry {
			return all
		}
		in.Attempts++
		in.Age += time.Minute + d.Wait
		in.Memo = policy.ParseMemo(d.Memo.Append(nil))
	}
	t.Fatalf("the job is still retried after the largest number of attempts, want a dead job")
	return nil
}

// waits returns the waits between the attempts of a life.
func waits(all []policy.Decision) (w []time.Duration) {
	for _, d := range all[:len(all)-1] {
		w = append(w, d.Wait)
	}
	return w
}

func nominal(all []policy.Decision) (w []time.Duration) {
	for _, d := range all[:len(all)-1] {
		w = append(w, d.Nominal)
	}
	return w
}

func seconds(s ...float64) []time.Duration {
	all := []time.Duration{}
	for _, v := range s {
		all = append(all, time.Duration(v*1e6)*time.Microsecond)
	}
	return all
}

// figures contains the retries that are expected after failures of one class.
type figures struct {
	name   string
	life   life
	runs   []run
	class  failure.Class
	waits  []time.Duration                               // the nominal waits
	bounds func(time.Duration) (low, high time.Duration) // a function that returns the shortest and the longest wait for a nominal wait
	reason job.Reason                                    // the reason of the last decision
}

// check runs each failure with the lowest, a middle and the highest random number. It compares
// each wait and the last decision with the expected values.
func (f figures) check(t *testing.T, p *policy.Policy) {
	t.Helper()
	for _, r := range f.runs {
		for _, u := range []float64{0, 0.5, almostOne} {
			l := f.life
			l.u = u
			all := l.execute(t, p, r)
			name := fmt.Sprintf("%s: %.60q at draw %.3g", f.name, r.evidence.Message, u)
			f.compare(t, name, u, all)
		}
	}
}

func (f figures) compare(t *testing.T, name string, u float64, all []policy.Decision) {
	t.Helper()
	last := all[len(all)-1]
	if last.Class != f.class || last.Reason != f.reason {
		t.Errorf("%s: the last decision has the class %s and the reason %s (rule %s), want the class %s and the reason %s", name, last.Class, last.Reason, last.By.Rule, f.class, f.reason)
	}
	if len(all) != len(f.waits)+1 {
		t.Errorf("%s: got %d attempts with the waits %v, want %d attempts", name, len(all), waits(all), len(f.waits)+1)
		return
	}
	for i, want := range f.waits {
		d := all[i]
		low, high := f.bounds(want)
		drawn := low + time.Duration(float64(high-low)*u)
		if d.Nominal != want || d.Wait < low || d.Wait > high || (d.Wait-drawn).Abs() > time.Millisecond {
			t.Errorf("%s: wait %d is %v with the nominal wait %v, want %v (between %v and %v) with the nominal wait %v", name, i+1, d.Wait, d.Nominal, drawn, low, high, want)
		}
	}
}

// spread returns a function that gives the shortest and the longest wait: the nominal wait
// minus and plus a share of it.
func spread(share float64) func(time.Duration) (low, high time.Duration) {
	return func(d time.Duration) (low, high time.Duration) {
		return time.Duration(float64(d) * (1 - share)), time.Duration(float64(d) * (1 + share))
	}
}

func exact(d time.Duration) (low, high time.Duration) { return d, d }

func upTo(d time.Duration) (low, high time.Duration) { return 0, d }

// plus returns a function that gives the shortest and the longest wait: the nominal wait, and
// the sum of the nominal wait and the first duration. Both waits are at most the second
// duration.
func plus(more, most time.Duration) func(time.Duration) (low, high time.Duration) {
	return func(d time.Duration) (low, high time.Duration) { return min(d, most), min(d+more, most) }
}

const (
	exhausted = job.MaxRetries
	permanent = job.NonRetriable
)
