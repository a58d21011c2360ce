package words_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const now = job.Micros(1_800_000_000_000_000)

// zone matches the times in a text. The tests replace them, because they depend on the time
// zone of the machine.
var zone = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d`)

func hideTimes(text string) string { return zone.ReplaceAllString(text, "T") }

// way is a function of the type Way. Its text contains only the fields of the step.
func way(s words.Step) string { return fmt.Sprintf("<%d %d%s>", s.Verb, s.Job, s.Queue) }

func TestDetails_InWords(t *testing.T) {
	t.Parallel()
	ago, in := now.Add(-90*time.Second), now.Add(5*time.Minute)
	failed := []job.Failure{{Token: 1, Life: 1, Attempt: 1, How: job.ByError, Class: "NetworkTimeout"}}
	crashed := []job.Failure{{Token: 2, Life: 1, Attempt: 1, How: job.ByCrash, Class: "Crash"}}
	for name, tt := range map[string]struct {
		d                      words.Details
		standing, because, nxt string
	}{
		"new": {words.Details{Job: job.Job{State: job.Waiting, Queue: "q", Life: 1, RunAt: ago}},
			"Waiting: attempt 1 has been due since T (1m30s ago)", ", because it has not run yet",
			"a worker of queue q that runs this kind takes it when it is due"},
		"later, paused, with a deadline": {words.Details{Job: job.Job{State: job.Waiting, Queue: "q", Life: 1, RunAt: in, Deadline: in}, Queue: store.Queue{Mode: store.Paused}},
			"Waiting: attempt 1 is due at T (in 5m); queue q is paused", ", because it has not run yet",
			"nothing until someone runs <14 0q>; if it has not started by T, its deadline, it is dead"},
		"retrying": {words.Details{Job: job.Job{State: job.Retrying, Queue: "q", Life: 1, RunAt: in, Counters: job.Counters{Attempts: 1}}, Failures: failed, Scheduled: 3},
			"Retrying: attempt 2 of 3 is due at T (in 5m)", ", because attempt 1 failed with NetworkTimeout",
			"a worker of queue q that runs this kind takes it when it is due"},
		"crashed": {words.Details{Job: job.Job{State: job.Waiting, Token: 2, Life: 1, RunAt: now, Counters: job.Counters{Crashes: 1}}, Failures: crashed},
			"Waiting: attempt 1 has been due since T (now)", ", because run 2 crashed: its lease ended without a result (Crash)",
			"a worker of queue  that runs this kind takes it when it is due"},
		"snoozed twice": {words.Details{Job: job.Job{State: job.Waiting, Life: 1, RunAt: in, Counters: job.Counters{Snoozes: 2}}},
			"Waiting: attempt 1 is due at T (in 5m)",
			", because the handler asked to run it again later, which used up no attempt (2 times in this life)",
			"a worker of queue  that runs this kind takes it when it is due"},
		"handed back": {words.Details{Job: job.Job{State: job.Waiting, Life: 1, RunAt: in, Counters: job.Counters{Interrupts: 1}}},
			"Waiting: attempt 1 is due at T (in 5m)", ", because a worker that stopped handed it back, which used up no attempt",
			"a worker of queue  that runs this kind takes it when it is due"},
		"handed back for several reasons": {words.Details{Job: job.Job{State: job.Waiting, Life: 1, RunAt: in, Counters: job.Counters{Interrupts: 1, Snoozes: 1200}}},
			"Waiting: attempt 1 is due at T (in 5m)", ", because it was handed back, 1,200 snoozes, 1 interruption",
			"a worker of queue  that runs this kind takes it when it is due"},
		"a new life": {words.Details{Job: job.Job{State: job.Waiting, Life: 2, RunAt: in}, Failures: failed},
			"Waiting: attempt 1 is due at T (in 5m)", ", because it was retried by hand after it was dead: this is life 2",
			"a worker of queue  that runs this kind takes it when it is due"},
		"running": {words.Details{Job: job.Job{State: job.Running, Life: 1, ClaimedAt: ago, LeaseUntil: in, Holder: "w1"}},
			"Running for 1m30s: attempt 1, on w1", "", "its run ends; if its worker stops extending the lease, another worker takes it after T"},
		"running on a lease that is over": {words.Details{Job: job.Job{State: job.Running, Life: 1, ClaimedAt: ago, LeaseUntil: ago, Holder: "w1"}, Failures: failed},
			"Running for 1m30s: attempt 1, on w1; its lease ended 1m30s ago, so another worker will take it",
			"; before, attempt 1 failed with NetworkTimeout", "its run ends; if its worker stops extending the lease, another worker takes it after T"},
		"completed": {words.Details{Job: job.Job{State: job.Completed, Life: 1, ClaimedAt: ago.Add(-1500 * time.Millisecond), FinishedAt: ago, Counters: job.Counters{Attempts: 1}}},
			"Completed at T (1m30s ago) by attempt 1, which took 1.5s", "", ""},
		"dead": {words.Details{Job: job.Job{ID: 17, State: job.Dead, Life: 1, FinishedAt: ago, Reason: job.MaxRetries}, Failures: failed},
			"Dead since T (1m30s ago): all attempts are used up (max_retries_exceeded)", ", because attempt 1 failed with NetworkTimeout",
			"nothing until someone runs <0 17>, which gives it a new life"},
		"held": {words.Details{Job: job.Job{ID: 17, State: job.Dead, Life: 1, FinishedAt: ago, Reason: job.ManualReview},
			Failures: []job.Failure{{Life: 1, How: job.ByHold, Message: "held by rule large-files\nmore"}}},
			"Dead since T (1m30s ago): a rule holds it until a person decides (manual_review)", ", because it was held by rule large-files",
			"nothing until a person decides: <0 17> releases it, <3 17> refuses it"},
		"cancelled": {words.Details{Job: job.Job{State: job.Cancelled, Life: 1, FinishedAt: ago}}, "Cancelled at T (1m30s ago)", "", ""},
	} {
		got := []string{hideTimes(tt.d.Standing(now)), tt.d.Because(), hideTimes(tt.d.Next(way))}
		if diff := cmp.Diff([]string{tt.standing, tt.because, tt.nxt}, got); diff != "" {
			t.Errorf("job %s: the texts about the job differ (-want +got): %s", name, diff)
		}
	}
}

func TestReason_HasATextForEach(t *testing.T) {
	t.Parallel()
	for _, r := range []job.Reason{
		job.NonRetriable, job.MaxRetries, job.Stalled, job.DeadlineOver, job.MaxCost, job.HintTooLong, job.ManualReview,
	} {
		if text := words.Reason(r); !strings.HasSuffix(text, " ("+string(r)+")") {
			t.Errorf("reason %s: got the text %q, want a text that ends with the stored word", r, text)
		}
	}
	if text := words.Reason("of_a_newer_program"); text != "of_a_newer_program" {
		t.Error(text)
	}
}

func TestDeadDetails_InWords(t *testing.T) {
	t.Parallel()
	letter := func(s job.Status, l job.DeadLetter) words.DeadDetails {
		l.Job, l.Life, l.Status, l.Reason, l.Class, l.DiedAt = 17, 1, s, job.MaxRetries, "Mine", now.Add(-time.Hour)
		if l.Action != "" {
			l.ActedBy, l.ActedAt = "tess", now.Add(-time.Minute)
		}
		return words.DeadDetails{Details: &words.Details{Job: job.Job{State: job.Waiting}, Letter: &l}}
	}
	for _, tt := range []struct {
		d     words.DeadDetails
		want  string
		steps []words.Verb
	}{
		{letter(job.Pending, job.DeadLetter{}), "Pending: died T (1h ago); no action taken yet",
			[]words.Verb{words.RetryJob, words.ResolveDead, words.IgnoreDead, words.ExplainJob}},
		{letter(job.Pending, job.DeadLetter{Action: job.ActionReopened}), "Pending: died T (1h ago); reopened by tess T (1m ago)",
			[]words.Verb{words.RetryJob, words.ResolveDead, words.IgnoreDead, words.ExplainJob}},
		{letter(job.Redriven, job.DeadLetter{Action: job.ActionRetried, Revived: true, Redrive: 3}),
			"Retried: died T (1h ago); retried by tess T (1m ago); the job is waiting", []words.Verb{words.ShowJob, words.ShowRedrive, words.ExplainJob}},
		{letter(job.Resolved, job.DeadLetter{Action: job.ActionCompleted, Revived: true}),
			"Resolved: died T (1h ago); completed after tess had retried it, T (1m ago); the job is waiting", []words.Verb{words.ExplainJob}},
		{letter(job.Ignored, job.DeadLetter{Action: job.ActionMuted, ReopenAt: now.Add(72 * time.Hour)}),
			"Ignored: died T (1h ago); ignored at once, because tess ignores its group, T (1m ago); pending again T (in 3 days)",
			[]words.Verb{words.ReopenDead, words.RetryJob, words.ExplainJob}},
	} {
		if got := hideTimes(tt.d.Standing(now)); got != tt.want {
			t.Errorf("wrong text about the dead letter:\ngot  %s\nwant %s", got, tt.want)
		}
		var verbs []words.Verb
		for _, s := range tt.d.Steps() {
			verbs = append(verbs, s.Verb)
			if s.Does == "" || s.Verb != words.ShowRedrive && s.Job != 17 || s.Verb == words.ShowRedrive && s.Redrive != 3 {
				t.Errorf("step %+v has no text, or the wrong job or redrive", s)
			}
		}
		if diff := cmp.Diff(tt.steps, verbs); diff != "" {
			t.Errorf("the steps of the dead letter %q differ (-want +got): %s", tt.want, diff)
		}
		if got := tt.d.Cause(); got != "all attempts are used up (max_retries_exceeded); class Mine" {
			t.Error(got)
		}
	}
}

func TestGroup_InWords(t *testing.T) {
	t.Parallel()
	g := store.Group{Fingerprint: "1:0123456789abcdef", N: 1, FirstAt: now.Add(-time.Hour), LastAt: now, Pending: 1}
	for _, tt := range []struct {
		change func()
		want   string
	}{
		{func() {}, "01234567: no other job has died of this"},
		{func() { g.N, g.Pending = 1_234_567, 0 }, "01234567: 1,234,567 deaths by this cause, 0 pending; first 1h ago, last now"},
		{func() { g.Muted, g.MutedFor = true, 1 },
			"01234567: 1,234,567 deaths by this cause, 0 pending; first 1h ago, last now; ignored for 1 more death"},
	} {
		tt.change()
		if got := words.GroupStanding(&g, now); got != tt.want {
			t.Errorf("wrong text about the group:\ngot  %s\nwant %s", got, tt.want)
		}
	}
	for want, g := range map[string]store.Group{
		"first": {Message: "\nfirst\nsecond", Code: "c"}, "c": {Code: "c"}, "died before it could run": {}, "": {Class: "X"},
	} {
		if got := words.GroupCause(&g); got != want {
			t.Errorf("group %+v: got the cause %q, want %q", g, got, want)
		}
	}
}

// Each state of a redrive has a sentence, and steps that are possible in this state.
func TestRedrive_InWords(t *testing.T) {
	t.Parallel()
	r := store.Redrive{ID: 3, Released: 1200, Answered: 10, Completed: 1000, Dead: 190, Why: "9 of 10 failed"}
	r.Total, r.Canary, r.Rate, r.StopShare, r.StopOther, r.StopDead = 5000, 10, 50, 0.2, 0.5, 1
	for state, want := range map[store.RedriveState]string{
		store.RedriveCanary:    "Canary: 10 of the first 10 jobs have a result",
		store.RedriveRamping:   "Ramping: retried 1,200 of 5,000 jobs",
		store.RedriveSettling:  "Settling: all jobs have been retried, 10 have not ended",
		store.RedrivePaused:    "Paused: no more jobs are retried until someone resumes it",
		store.RedriveStopped:   "Stopped by itself: 9 of 10 failed",
		store.RedriveCompleted: "Completed: 1,000 of 1,200 jobs",
		store.RedriveEnded:     "Ended: 1,000 of 1,200 jobs completed, 190 dead again",
		store.RedriveCancelled: "Cancelled: no more jobs are retried",
	} {
		r.State = state
		if got := words.RedriveStanding(&r); got != want {
			t.Errorf("redrive in state %s: got the text %q, want %q", state, got, want)
		}
		for _, s := range words.RedriveSteps(&r) {
			if s.Redrive != 3 || s.Does == "" {
				t.Errorf("redrive in state %s: step %+v has no text or the wrong redrive", state, s)
			}
		}
	}
	if got := words.RedrivePlan(&r); got != "5,000 jobs, 10 first, at most 50/s, stops when more than 20 % of first attempts fail again by the same cause, or more than 50 % fail by another cause" {
		t.Error(got)
	}
	if got := words.RedriveCounts(&r); got != "1,200 of 5,000 retried  10 answered  0 failed again  0 failed otherwise  1,000 completed  190 dead" {
		t.Error(got)
	}
}

func TestFilter_InWords(t *testing.T) {
	t.Parallel()
	f := store.DeadFilter{Statuses: []job.Status{job.Pending, job.Ignored}, Class: "X", Group: "1:0123456789abcdef", Since: now, Text: "a b", Redrive: 2}
	if got, want := hideTimes(words.Filter(&f)), `status pending or ignored, class X, group 01234567, died since T, with "a b", redrive 2`; got != want {
		t.Errorf("wrong text about the filter:\ngot  %s\nwant %s", got, want)
	}
	f = store.DeadFilter{Batch: 7, Worker: "w1", Correlation: "req-7", Kind: "k", Key: "order-1", Attr: store.Attr{Name: "bucket", Value: "2"}}
	if got, want := words.Filter(&f), "kind k, batch 7, worker w1, correlation req-7, key order-1, attribute bucket=2"; got != want {
		t.Errorf("the filter is described as %q, want %q", got, want)
	}
	if got := words.Filter(&store.DeadFilter{}); got != "" {
		t.Error(got)
	}
}

// The last failure of a job that has ended otherwise, or runs again, is past: it is dated and does not say how the job stands.
func TestPastFailure(t *testing.T) {
	t.Parallel()
	failed := []job.Failure{{Token: 4, Life: 1, Attempt: 4, How: job.ByError, EndedAt: now.Add(-time.Hour)}}
	const past = "Its last failure: attempt 4 of life 1, 1h ago"
	for name, tt := range map[string]struct {
		d    words.Details
		want string
	}{
		"no failure":             {words.Details{Job: job.Job{State: job.Completed, Life: 1}}, ""},
		"dead":                   {words.Details{Job: job.Job{State: job.Dead, Life: 1, Token: 4}, Failures: failed}, ""},
		"retrying":               {words.Details{Job: job.Job{State: job.Retrying, Life: 1, Token: 4}, Failures: failed}, ""},
		"retried by a person":    {words.Details{Job: job.Job{State: job.Waiting, Life: 2, Token: 4}, Failures: failed}, past},
		"completed, same life":   {words.Details{Job: job.Job{State: job.Completed, Life: 1, Token: 5}, Failures: failed}, past},
		"cancelled while it ran": {words.Details{Job: job.Job{State: job.Cancelled, Life: 1, Token: 4}, Failures: failed}, ""},
		"cancelled later":        {words.Details{Job: job.Job{State: job.Cancelled, Life: 1, Token: 5}, Failures: failed}, past},
	} {
		if got := words.PastFailure(&tt.d, now); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// A dead letter is a failure that did not end by itself: its text does not say that nobody has to act at first.
func TestActs(t *testing.T) {
	t.Parallel()
	const text = "Nobody at first. If it goes on: the operators of the service."
	if got := words.Acts(text, true); got != "Who acts: the operators of the service." {
		t.Errorf("dead: got %q", got)
	}
	if got := words.Acts(text, false); got != "Who acts: "+text {
		t.Errorf("not dead: got %q", got)
	}
	if got := words.WhoActs(text); got != "The operators of the service" {
		t.Errorf("as a column: got %q", got)
	}
	if got := words.WhoActs("") + words.Acts("", true); got != "" {
		t.Errorf("without a text: got %q", got)
	}
}
