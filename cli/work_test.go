package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// A worker does not wait for jobs of queues and kinds that it does not run, nor for jobs of
// a paused queue. The log says that these jobs are left.
func TestWorker_WaitsForWhatItCouldRun(t *testing.T) {
	t.Parallel()
	st := &counting{counts: []redrive.JobCount{
		{Queue: "a", Kind: "k", State: job.Waiting, N: 1},
		{Queue: "a", Kind: "k", State: job.Retrying, N: 2},
		{Queue: "a", Kind: "k", State: job.Dead, N: 100},
		{Queue: "a", Kind: "stranger", State: job.Waiting, N: 1000},
		{Queue: "elsewhere", Kind: "k", State: job.Running, N: 2000},
		{Queue: "elsewhere", Kind: "k", State: job.Completed, N: 4000},
		{Queue: "paused", Kind: "k", State: job.Waiting, N: 10},
		{Queue: "paused", Kind: "k", State: job.Retrying, N: 20},
		{Queue: "paused", Kind: "k", State: job.Running, N: 4}, // a running job continues even if its queue is paused
		{Queue: "draining", Kind: "k", State: job.Waiting, N: 8},
	}, queues: []redrive.QueueSettings{{Name: "a"}, {Name: "paused", Mode: redrive.QueuePaused}, {Name: "draining", Mode: redrive.QueueDraining}}}
	var log bytes.Buffer
	w := &worker{log: slog.New(newConsole(&log, style{}, slog.LevelInfo)), settings: settings{Config: &config.Config{
		Queues:    map[string]config.Queue{"a": {Workers: 1}, "paused": {Workers: 1}, "draining": {Workers: 1}},
		KindNames: []string{"k"}, Kinds: map[string]config.Kind{"k": {Command: []string{"true"}}}, Limits: config.Limits{PayloadBytes: 1},
	}}}
	client, err := w.client(&opened{st})
	if err != nil {
		t.Fatal(err)
	}
	left, err := client.Backlog(t.Context())
	if err != nil || left.Runnable() != 1+2+4+8 {
		t.Errorf("the worker waits for %d jobs with error %v, want 15 jobs", left.Runnable(), err)
	}
	w.logLeft(t.Context(), client)
	for _, want := range []string{
		"jobs are left in a paused queue  queue=paused jobs=30\n", "queue or kind  queue/kind=a/stranger jobs=1000\n",
		"queue or kind  queue/kind=elsewhere/k jobs=2000\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not contain the text %q, want it there:\n%s", want, log.String())
		}
	}
}

// counting is a store that reports the given counters and queues.
type counting struct {
	store.Store
	counts []redrive.JobCount
	queues []redrive.QueueSettings
}

func (c *counting) Counts(context.Context) ([]redrive.JobCount, error)      { return c.counts, nil }
func (c *counting) Queues(context.Context) ([]redrive.QueueSettings, error) { return c.queues, nil }
func (c *counting) RedriveList(context.Context) ([]redrive.Redrive, error)  { return nil, nil }

func TestProgressLine(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	p := &progress{now: func() time.Time { return now }}
	s := &redrive.Backlog{
		Jobs: map[job.State]int64{job.Waiting: 1200, job.Retrying: 1, job.Completed: 10}, Paused: map[string]int64{"mail": 5},
	}
	if got, want := p.line(s, false), "1,200 waiting  1 retrying  0 running  10 completed  mail is paused"; got != want {
		t.Errorf("the status line is %q, want %q", got, want)
	}
	now = now.Add(4 * time.Second)
	s.Jobs[job.Completed], s.Jobs[job.Dead] = 25, 3
	if got := p.line(s, true); !strings.Contains(got, "25 completed  3 dead  4.5/s  mail is paused  stopping") {
		t.Errorf("the status line of a worker that stops is %q, want it to contain the numbers, the rate, the paused queue and \"stopping\"", got)
	}
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, out string
		cut       bool
		want      string
	}{
		{"JSON stays as it is", `{"a": 1}` + "\n", false, `{"a": 1}` + "\n"},
		{"a text is a text", "third time\nlucky\n", false, `"third time\nlucky"`},
		{"nothing", "", false, ""},
		{"only line ends", "\r\n\n", false, ""},
		{"cut JSON is a text", `[1,2]`, true, `"[1,2]"`},
		{"no UTF-8", "\xff", false, `"\ufffd"`},
	} {
		if got := string(resultOf([]byte(tt.out), tt.cut)); got != tt.want {
			t.Errorf("case %s: got the result %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzResultOf(f *testing.F) {
	f.Add([]byte("{}"), false, uint16(1))
	f.Add([]byte("\x00\xffé"), true, uint16(30000))
	f.Fuzz(func(t *testing.T, unit []byte, cut bool, repeat uint16) {
		out := []byte(strings.Repeat(string(unit), int(repeat)+1))
		out = out[:min(len(out), proc.StdoutMax)]
		result := resultOf(out, cut)
		if len(result) > job.ResultMax {
			t.Fatalf("got a result of %d bytes, want at most %d bytes", len(result), job.ResultMax)
		}
		if len(result) > 0 && !json.Valid(result) {
			t.Fatalf("the result is not valid JSON, want JSON: %.100s", result)
		}
		if len(result) == 0 && strings.Trim(string(out), "\r\n") != "" {
			t.Fatalf("the output %.100q gave no result, want a result", out)
		}
	})
}

func TestCommandError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		exit proc.ExitError
		want string
	}{
		{proc.ExitError{Name: "x", Status: proc.Status{Code: 65}, Stderr: []byte("reading\nnot an image\n")}, "exit code 65: not an image"},
		{proc.ExitError{Name: "x", Status: proc.Status{Code: 1}}, "exit code 1"},
		{proc.ExitError{Name: "x", Status: proc.Status{Code: -1, Signal: "SIGSEGV"}}, "killed by SIGSEGV"},
	} {
		e := &commandError{exit: &tt.exit}
		evidence := failure.Of(e)
		if got := classify.Complete(&evidence, &classify.Classification{}); got != tt.want {
			t.Errorf("the message of the command is %q, want %q", got, tt.want)
		}
		if e.ExitCode() != tt.exit.Status.Code || e.SignalName() != tt.exit.Status.Signal || string(e.StderrTail()) != string(tt.exit.Stderr) {
			t.Errorf("error %q: exit code, signal or error output differ from those of the command, want the same", e)
		}
	}
}

func TestSchedule_ZeroMaxRetriesMeansNoRetry(t *testing.T) {
	t.Parallel()
	k := config.Kind{Retry: &config.Retry{MaxRetries: 0, Waits: []time.Duration{time.Second}}, PermanentExitCodes: []int{65}}
	want := &policy.Schedule{Waits: k.Retry.Waits, MaxRetries: policy.NoRetry, PermanentExitCodes: []int{65}}
	if diff := cmp.Diff(want, schedule(&k)); diff != "" {
		t.Error(diff)
	}
	if got := schedule(&k).Retries(); got != 0 {
		t.Errorf("the schedule has %d retries, want 0", got)
	}
}

func TestSchedule_WithoutARetrySectionThePolicyDecides(t *testing.T) {
	t.Parallel()
	if got := schedule(&config.Kind{}); got != nil {
		t.Errorf("a kind without settings has the schedule %+v, want nil", got)
	}
	c := &config.Config{
		MaxAttempts: 100, KindNames: []string{"k"}, Kinds: map[string]config.Kind{"k": {PermanentExitCodes: []int{65}}},
	}
	p, err := underConfig(policy.Default(), c)
	if err != nil {
		t.Fatal(err)
	}
	code := 65
	for exit, want := range map[*int]string{&code: policy.RuleExitCode, nil: policy.RuleSchedule} {
		e := &failure.Evidence{Message: "broken", Class: failure.RateLimitExceeded, Exit: exit}
		d := p.Decide(&policy.Input{Kind: "k", How: job.ByError, Evidence: e})
		if d.Rule != want || d.Of != 5 {
			t.Errorf("rule %s decided with %d retries, want rule %s with the 5 retries of the class", d.Rule, d.Of, want)
		}
	}
}

func TestScheduledAttempts(t *testing.T) {
	t.Parallel()
	c := &config.Config{Kinds: map[string]config.Kind{"own": {Retry: &config.Retry{MaxRetries: 2, Waits: []time.Duration{0}}}, "free": {}}}
	for kind, want := range map[string]int{"own": 3, "free": 0, "unknown": 0} {
		if got := scheduledAttempts(c, kind); got != want {
			t.Errorf("kind %s has %d scheduled attempts, want %d", kind, got, want)
		}
	}
}

func TestGraceOf_ZeroMeansNoGraceTime(t *testing.T) {
	t.Parallel()
	if got := graceOf(0); got >= 0 {
		t.Errorf("graceOf(0) = %v, want a negative duration, which means no grace time", got)
	}
	if got := graceOf(time.Minute); got != time.Minute {
		t.Errorf("graceOf(1m) = %v, want 1m", got)
	}
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]redrive.Rate{
		"10/s": {N: 10, Per: time.Second}, "600/m": {N: 600, Per: time.Minute}, "1/h": {N: 1, Per: time.Hour}, "default": {},
	} {
		got, err := parseRate(text)
		if err != nil || got != want {
			t.Errorf("parseRate(%q) = %+v with error %v, want %+v", text, got, err, want)
		}
		if back := words.Rate(got); back != text && text != "default" {
			t.Errorf("the rate %q is written as %q, want the same text", text, back)
		}
	}
	for _, text := range []string{"", "0", "10", "10/", "/s", "0/s", "-1/s", "1.5/s", "10/d", "1000001/s", "10/s/s"} {
		if _, err := parseRate(text); wire.KindOf(err) != wire.InvalidField {
			t.Errorf("parseRate(%q) = %v, want a usage error", text, err)
		}
	}
}

func TestWatch_CountsJobsOnlyWhenNeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                      string
		untilIdle, terminal, look bool
	}{
		{"neither", false, false, false},
		{"--until-idle", true, false, true},
		{"a status line", false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := faultstore.New(memory.New(memory.Options{}), nil)
				w := &worker{
					settings: settings{Config: config.Default()}, now: time.Now, log: slog.New(slog.DiscardHandler),
					screen: &live{w: io.Discard, style: style{terminal: tt.terminal}},
				}
				ended := make(chan error, 1)
				time.AfterFunc(10*lookEvery, func() { ended <- nil })
				if err := w.watch(t.Context(), func() {}, clientOn(t, st), ended, tt.untilIdle); err != nil {
					t.Fatal(err)
				}
				if looked := st.Calls("Counts") > 0; looked != tt.look {
					t.Errorf("the worker counted the jobs %d times; want it to count them: %t", st.Calls("Counts"), tt.look)
				}
			})
		})
	}
}

// part of: Q8
func TestQ8_TheEndOfAStopTellsWhatIsLeft(t *testing.T) {
	t.Parallel()
	err := &returnedError{&redrive.Returned{Jobs: 2, Unsaved: 3}}
	if got := err.Error(); got != words.Stopped(2, 3) || wire.KindOf(err) != wire.Stopping {
		t.Errorf("the error is %q of kind %s, want %q of kind %s", got, wire.KindOf(err), words.Stopped(2, 3), wire.Stopping)
	}
}
