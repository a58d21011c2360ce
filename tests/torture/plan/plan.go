// Package plan defines what the jobs of the torture test do, and how each of them must end whatever
// happens to the processes.
package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Plan says what a job does.
type Plan string

// The plans.
const (
	Quick   Plan = "quick"   // the job succeeds at once
	Slow    Plan = "slow"    // the job takes a while, reports progress, then succeeds
	Tx      Plan = "tx"      // the handler completes the job in a transaction, together with a row
	Flaky   Plan = "flaky"   // the first attempt of the job fails
	Panics  Plan = "panics"  // the first attempt of the job panics
	Snoozes Plan = "snoozes" // the first run of the job asks for a later run
	Fails   Plan = "fails"   // every attempt of the job fails
	Bad     Plan = "bad"     // the first run of the job fails permanently
	Hangs   Plan = "hangs"   // every attempt of the job reaches its time limit
	Hasty   Plan = "hasty"   // the job has a deadline, and succeeds at once if it begins before
	Poison  Plan = "poison"  // every run of the job kills its process
)

// The kinds. Every plan belongs to one kind.
const (
	Work  = "work"
	Brief = "brief" // jobs of this kind have a short time limit
	Toxic = "toxic" // jobs of this kind may crash twice
)

// The limits of the kinds.
const (
	Retries      = 2 // the number of retries of the kind Work
	BriefRetries = 1
	BriefTimeout = 60 * time.Millisecond
	RetryWait    = 20 * time.Millisecond
	ToxicCrashes = 2
)

// The deadline of a job with the plan Hasty: so long after the enqueue.
const (
	DeadlineMin = time.Second
	DeadlineMax = 3 * time.Second
)

// ExitBad is the exit code of a command that fails permanently.
const ExitBad = 64

// Kind returns the kind of the plan's jobs.
func (p Plan) Kind() string {
	switch p {
	case Hangs:
		return Brief
	case Poison:
		return Toxic
	default:
		return Work
	}
}

// Broken is the error of a run that fails, unless the handler of the plan says more. Its class is
// marked, so that the words of the name cannot decide how the job ends: that is the plan's business.
func Broken(run int64, name string) error {
	return failure.WithClass(failure.UnknownError, fmt.Errorf("run %d of %s broke", run, name))
}

// Schedule returns the retry schedule of a kind.
func Schedule(kind string) *policy.Schedule {
	retries := Retries
	if kind == Brief {
		retries = BriefRetries
	}
	return &policy.Schedule{Waits: []time.Duration{RetryWait}, MaxRetries: retries}
}

// Limits returns the limits of the kinds, for the checker.
func Limits() map[string]check.Limits {
	return map[string]check.Limits{
		Work:  {Attempts: Retries + 1, WaitMin: RetryWait, WaitMax: RetryWait},
		Brief: {Attempts: BriefRetries + 1, WaitMin: RetryWait, WaitMax: RetryWait},
		Toxic: {Attempts: Retries + 1, Crashes: ToxicCrashes, Kills: true, WaitMin: RetryWait, WaitMax: RetryWait},
	}
}

// PadMax is the largest padding of a payload. The payload then fills a pipe several times.
const PadMax = 200 << 10

// Args are the payload of a job.
type Args struct {
	Name string `json:"name"`
	Plan Plan   `json:"plan"`
	Pad  string `json:"pad"`
}

// Payload returns the payload of a job with padding of the given size in bytes. The same arguments
// give the same bytes.
func Payload(name string, p Plan, pad int) []byte {
	b, err := json.Marshal(Args{name, p, strings.Repeat("x", pad)})
	if err != nil {
		panic(err) // this cannot happen, because a struct of strings can always be encoded
	}
	return b
}

// mix is the number of jobs with each plan among 100 jobs.
var mix = [...]struct {
	plan Plan
	n    int
}{{Quick, 40}, {Hasty, 5}, {Slow, 18}, {Tx, 6}, {Flaky, 10}, {Panics, 4}, {Snoozes, 5}, {Fails, 6}, {Bad, 4}, {Hangs, 2}}

// Pick returns a plan for a random number in [0, 100). It never returns Poison.
func Pick(percent int) Plan {
	for _, m := range mix {
		if percent -= m.n; percent < 0 {
			return m.plan
		}
	}
	return Quick
}

// end returns how a job with the plan must end.
type end struct {
	state    job.State
	reason   job.Reason
	attempts int32
}

func (p Plan) end() end {
	switch p {
	case Flaky, Panics:
		return end{job.Completed, "", 2}
	case Fails:
		return end{job.Dead, job.MaxRetries, Retries + 1}
	case Bad:
		return end{job.Dead, job.NonRetriable, 1}
	case Hangs:
		return end{job.Dead, job.MaxRetries, BriefRetries + 1}
	case Poison:
		return end{job.Dead, job.Stalled, 0}
	default:
		return end{job.Completed, "", 1}
	}
}

// Verdict returns an error if the job did not end as planned. Any job may have been cancelled by a
// person, and may be dead after too many of its processes died.
func (p Plan) Verdict(j *job.Job) error {
	crashes := int32(job.MaxCrashes)
	if j.Kind == Toxic {
		crashes = ToxicCrashes
	}
	switch {
	case j.State == job.Cancelled:
		return nil
	case p == Hasty && j.State == job.Dead && j.Reason == job.DeadlineOver && j.Counters.Attempts == 0:
		return nil
	case j.State == job.Dead && j.Reason == job.Stalled && j.Counters.Crashes == crashes:
		return nil
	}
	want, got := p.end(), end{j.State, j.Reason, j.Counters.Attempts}
	if got != want {
		return fmt.Errorf("job %d with plan %s ended in state %s with reason %q after %d attempts, want state %s with reason %q after %d attempts",
			j.ID, p, got.state, got.reason, got.attempts, want.state, want.reason, want.attempts)
	}
	return nil
}
