package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Details holds the stored data about a job.
type Details struct {
	Job      job.Job
	Failures []job.Failure   // the failures of the job, the oldest first
	Letter   *job.DeadLetter // the dead letter of the job; nil if the job never became dead
	Notes    []store.Note    // notes and feedbacks, the oldest first
	Queue    store.Queue
	// Scheduled is the number of attempts per life in the retry schedule of the kind. It is
	// 0 if this number is not known.
	Scheduled int
}

// Last returns the last failure, or nil if there are no failures.
func (d *Details) Last() *job.Failure {
	if len(d.Failures) == 0 {
		return nil
	}
	return &d.Failures[len(d.Failures)-1]
}

// LastOfLife returns the last failure of the current life, or nil if that life has no
// failures. A life is the time from the enqueue or a manual retry to the next manual retry.
func (d *Details) LastOfLife() *job.Failure {
	if last := d.Last(); last != nil && last.Life == d.Job.Life {
		return last
	}
	return nil
}

// PastFailure names the last failure of a job if it does not say how the job stands now: the job has completed, was
// cancelled, or runs again in a later life. Otherwise it returns "".
func PastFailure(d *Details, now job.Micros) string {
	f := d.Last()
	if f == nil || f == d.LastOfLife() && d.Job.State != job.Completed && d.Job.State != job.Cancelled {
		return ""
	}
	if d.Job.State == job.Cancelled && f.Token == d.Job.Token {
		return "" // the failure of the run that was cancelled
	}
	what := fmt.Sprintf("attempt %d", f.Attempt)
	if f.How == job.ByCrash || f.How == job.ByHold {
		what = fmt.Sprintf("run %d", f.Token)
	}
	return fmt.Sprintf("Its last failure: %s of life %d, %s", what, f.Life, Away(f.EndedAt, now))
}

// MaxAttempts returns the largest number of attempts in the current life. It is 0 if this
// number is not known.
func (d *Details) MaxAttempts() int { return MaxAttempts(&d.Job, d.Failures, d.Scheduled) }

// Standing returns a sentence about the state of the job and its next or last attempt.
func (d *Details) Standing(now job.Micros) string {
	j := &d.Job
	next := fmt.Sprintf("attempt %d", j.Counters.Attempts+1)
	if most := d.MaxAttempts(); most > 0 {
		next += fmt.Sprintf(" of %d", most)
	}
	switch j.State {
	case job.Waiting, job.Retrying:
		label := "Waiting"
		if j.State == job.Retrying {
			label = "Retrying"
		}
		due := "has been due since"
		if j.RunAt > now {
			due = "is due at"
		}
		text := fmt.Sprintf("%s: %s %s %s (%s)", label, next, due, Time(j.RunAt), Away(j.RunAt, now))
		if d.Queue.Mode == store.Paused {
			text += fmt.Sprintf("; queue %s is paused", j.Queue)
		}
		return text
	case job.Running:
		return fmt.Sprintf("Running for %s: %s, on %s%s", Span(max(0, now.Sub(j.ClaimedAt))), next, j.Holder, runNote(j, now))
	case job.Completed:
		return fmt.Sprintf("Completed at %s (%s) by attempt %d, which took %s", Time(j.FinishedAt), Away(j.FinishedAt, now),
			j.Counters.Attempts, Span(max(0, j.FinishedAt.Sub(j.ClaimedAt))))
	case job.Dead:
		return fmt.Sprintf("Dead since %s (%s): %s", Time(j.FinishedAt), Away(j.FinishedAt, now), Reason(j.Reason))
	case job.Cancelled:
		return fmt.Sprintf("Cancelled at %s (%s)", Time(j.FinishedAt), Away(j.FinishedAt, now))
	case job.None:
	}
	return j.State.String()
}

func runNote(j *job.Job, now job.Micros) string {
	switch {
	case j.LeaseUntil < now:
		return fmt.Sprintf("; its lease ended %s, so another worker will take it", Away(j.LeaseUntil, now))
	case j.CancelAt > 0:
		return fmt.Sprintf("; it was asked to stop %s", Away(j.CancelAt, now))
	}
	return ""
}

// Reason describes why a job is dead. The stored name of the reason follows in parentheses.
func Reason(r job.Reason) string {
	text := ""
	switch r {
	case job.NonRetriable:
		text = "another attempt would not help"
	case job.MaxRetries:
		text = "all attempts are used up"
	case job.Stalled:
		text = "too many of its runs crashed"
	case job.DeadlineOver:
		text = "its deadline passed before it could run"
	case job.MaxCost:
		text = "its attempts have cost more than is allowed"
	case job.HintTooLong:
		text = "the other side asked for a longer wait than the policy allows"
	case job.ManualReview:
		text = "a rule holds it until a person decides"
	case job.Malformed:
		text = "its record cannot be read"
	case job.UnknownType:
		text = "its stream does not know the task type"
	case job.KeyConflict:
		text = "another job has its key, with another payload"
	default:
		return string(r)
	}
	return text + " (" + string(r) + ")"
}

// Because describes the cause of the state of the job. The text continues the sentence of
// Standing. It is "" if there is nothing to add.
func (d *Details) Because() string {
	j, last := &d.Job, d.LastOfLife()
	switch j.State {
	case job.Waiting:
		if why := d.waitsFor(last); why != "" {
			return ", because " + why
		}
	case job.Retrying, job.Dead:
		if last != nil {
			return ", because " + cause(last)
		}
	case job.Running:
		if last != nil {
			return "; before, " + cause(last)
		}
	case job.Cancelled:
		if last != nil && last.Token == j.Token && last.Class == string(failure.Cancelled) {
			return ", because " + cause(last)
		}
	case job.None, job.Completed:
	}
	return ""
}

// waitsFor describes why a waiting job waits. If there are several reasons, the text names all
// of them, because the store does not record which of them was the last.
func (d *Details) waitsFor(last *job.Failure) string {
	j := &d.Job
	switch c := &j.Counters; {
	case last != nil && last.Token == j.Token && last.How == job.ByCrash:
		return cause(last)
	case last != nil && last.Token == j.Token && c.Deferrals > 0:
		return deferredBy(last)
	case c.Sum() == 0 && j.Life > 1:
		return fmt.Sprintf("it was retried by hand after it was dead: this is life %d", j.Life)
	case c.Sum() == 0:
		return "it has not run yet"
	case c.Snoozes == c.Sum()-c.Attempts:
		return "the handler asked to run it again later, which used up no attempt" + times(c.Snoozes)
	case c.Interrupts == c.Sum()-c.Attempts:
		return "a worker that stopped handed it back, which used up no attempt" + times(c.Interrupts)
	default:
		return "it was handed back" + Counters(c)
	}
}

// deferredBy describes why the job was deferred after a failure.
func deferredBy(f *job.Failure) string {
	r, err := policy.ParseRecord(f.Decision)
	if err != nil {
		return "it was deferred, which used up no attempt"
	}
	return r.Reason()
}

func times(n int32) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d times in this life)", n)
}

// cause describes the failure that led to the current state.
func cause(f *job.Failure) string {
	switch f.How {
	case job.ByHold:
		return "it was " + FirstLine(f.Message)
	case job.ByCrash:
		return fmt.Sprintf("run %d crashed: its lease ended without a result (%s)", f.Token, f.Class)
	case job.ByError, job.ByPanic, job.ByTimeout:
	}
	text := fmt.Sprintf("attempt %d failed with %s", f.Attempt, f.Class)
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		text += ": " + r.Reason()
	}
	return text
}

// Next describes what will happen to the job next, and who must do it. It returns "" if the
// job is completed or cancelled.
func (d *Details) Next(way Way) string {
	j := &d.Job
	switch j.State {
	case job.Waiting, job.Retrying:
		text := fmt.Sprintf("a worker of queue %s that runs this kind takes it when it is due", j.Queue)
		if d.Queue.Mode == store.Paused {
			text = fmt.Sprintf("nothing until someone runs %s", way(Step{Verb: ResumeQueue, Queue: j.Queue}))
		}
		if j.Deadline > 0 {
			text += fmt.Sprintf("; if it has not started by %s, its deadline, it is dead", Time(j.Deadline))
		}
		return text
	case job.Running:
		return fmt.Sprintf("its run ends; if its worker stops extending the lease, another worker takes it after %s", Time(j.LeaseUntil))
	case job.Dead:
		retry := way(Step{Verb: RetryJob, Job: j.ID})
		if j.Reason == job.ManualReview {
			return fmt.Sprintf("nothing until a person decides: %s releases it, %s refuses it", retry, way(Step{Verb: ResolveDead, Job: j.ID}))
		}
		if RetriesOff(d.LastOfLife()) {
			return fmt.Sprintf("nothing: the policy switches its retries off (retry: false), so no retry is offered; %s still runs it once more", retry)
		}
		return fmt.Sprintf("nothing until someone runs %s, which gives it a new life", retry)
	case job.Completed, job.Cancelled, job.None:
	}
	return ""
}

// When describes the most important time of a job: when it is due, how long it has been
// running, or when it ended.
func When(j *job.Job, now job.Micros) string {
	switch {
	case j.State == job.Running:
		return "for " + Span(max(0, now.Sub(j.ClaimedAt)))
	case j.State.Terminal():
		return Away(j.FinishedAt, now)
	case j.RunAt > now:
		return Away(j.RunAt, now)
	}
	return "due"
}

// Attempts returns the number of attempts in the current life and, if it is known, the
// largest possible number, such as "2/5".
func Attempts(j *job.Job, most int) string {
	made := strconv.Itoa(int(j.Counters.Attempts))
	if most == 0 {
		return made
	}
	return made + "/" + strconv.Itoa(most)
}

// MaxAttempts returns the largest number of attempts in the current life. The number comes from
// the last decision. If there is no decision, it is the given number, which comes from the
// retry schedule of the kind. The result is 0 if the number is not known: a policy with a
// separate budget for each class has no such number before the first failure.
func MaxAttempts(j *job.Job, failures []job.Failure, scheduled int) int {
	made := int(j.Counters.Attempts)
	for _, f := range slices.Backward(failures) {
		if f.Life != j.Life {
			break
		}
		if r, err := policy.ParseRecord(f.Decision); err == nil && r.Action != "" && r.Rule != policy.RuleWorker {
			return max(made, attemptsAfter(&r))
		}
	}
	if scheduled > 0 {
		return max(made, scheduled)
	}
	return 0
}

// LimitsAttempts reports whether the decision about a failure says how many attempts the job
// has. After a crash or a deferral by a worker, the decision does not say it; then an earlier
// failure may say it.
func LimitsAttempts(f *job.Failure) bool {
	r, err := policy.ParseRecord(f.Decision)
	return err == nil && r.Action != "" && r.Rule != policy.RuleWorker
}

// attemptsAfter returns the largest number of attempts in the life for which the decision was
// made. It assumes that all further attempts fail in the same way.
func attemptsAfter(d *policy.Record) int {
	counted := d.ClassFailures
	if d.Count == "total" {
		counted = d.Failures
	}
	most := d.Failures + max(0, d.Of+1-counted)
	if d.TotalMax != nil {
		most = min(most, *d.TotalMax+1)
	}
	if d.MaxAttempts > 0 {
		most = min(most, d.MaxAttempts)
	}
	return most
}

// Counters lists the runs that used up no attempt, such as ", 1 crash, 2 snoozes". It
// returns "" if there were no such runs.
func Counters(c *job.Counters) string {
	var text strings.Builder
	for _, n := range []struct {
		n    int32
		noun string
	}{{c.Crashes, "crash"}, {c.Deferrals, "deferral"}, {c.Snoozes, "snooze"}, {c.Interrupts, "interruption"}} {
		if n.n > 0 {
			text.WriteString(", " + Count(int64(n.n), n.noun))
		}
	}
	return text.String()
}

// MayHaveFailed reports whether a job may have failure records. Only then its row needs them.
func MayHaveFailed(j *job.Job) bool {
	switch j.State {
	case job.Retrying, job.Dead:
		return true
	case job.Completed:
		return j.Counters.Attempts > 1
	case job.None, job.Waiting, job.Running, job.Cancelled:
	}
	return j.Counters.Attempts > 0
}
