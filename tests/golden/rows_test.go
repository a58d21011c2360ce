package golden_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
)

// The JSON tags fix the names of the fields, so that fields of the code can be renamed.

// runRow is a run: its outcome and its stored failure record.
type runRow struct {
	Key      string          `json:"key"`
	Cause    string          `json:"cause,omitempty"` // the cause of the outcome; empty for a crash, because a crash has no outcome
	State    string          `json:"state,omitempty"`
	Reason   job.Reason      `json:"reason,omitempty"`
	Wait     int64           `json:"wait_us,omitempty"`
	Cost     int64           `json:"cost,omitempty"`
	Result   string          `json:"result,omitempty"`
	Failure  *failureRow     `json:"failure,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
}

type failureRow struct {
	Run         int64           `json:"run"`
	Life        int32           `json:"life"`
	Attempt     int32           `json:"attempt"`
	Ended       int64           `json:"ended_us"` // when the run ended: the time since the job was created, by the store's clock
	How         job.How         `json:"how"`
	Class       string          `json:"class"`
	Code        string          `json:"code,omitempty"`
	Permanent   bool            `json:"permanent"`
	Message     string          `json:"message"`
	UserMessage string          `json:"user_message,omitempty"`
	HTTPStatus  int             `json:"http_status,omitempty"`
	Exit        *int            `json:"exit,omitempty"`
	Signal      string          `json:"signal,omitempty"`
	Holder      string          `json:"holder"`
	Correlation string          `json:"correlation,omitempty"`
	Fingerprint string          `json:"fingerprint"`
	Details     json.RawMessage `json:"details,omitempty"`
	Stderr      string          `json:"stderr,omitempty"`
	Stack       string          `json:"stack,omitempty"`
	Cost        int64           `json:"cost,omitempty"`
	Sends       int32           `json:"sends,omitempty"`
}

// endRow is a job after its last run.
type endRow struct {
	Key      string     `json:"key"`
	State    string     `json:"state"`
	Reason   job.Reason `json:"reason,omitempty"`
	Queue    string     `json:"queue"`
	Priority int8       `json:"priority"`
	Life     int32      `json:"life"`
	Runs     int64      `json:"runs"`

	Attempts   int32 `json:"attempts"`
	Crashes    int32 `json:"crashes,omitempty"`
	Deferrals  int32 `json:"deferrals,omitempty"`
	Snoozes    int32 `json:"snoozes,omitempty"`
	Interrupts int32 `json:"interrupts,omitempty"`

	Ended  int64    `json:"ended_us,omitempty"`
	Cost   int64    `json:"cost,omitempty"`
	Result string   `json:"result,omitempty"`
	Dead   *deadRow `json:"dead,omitempty"`
}

type deadRow struct {
	Life    int32          `json:"life"`
	Status  string         `json:"status"`
	Reason  job.Reason     `json:"reason"`
	Class   string         `json:"class,omitempty"`
	Code    string         `json:"code,omitempty"`
	Group   string         `json:"group,omitempty"`
	Message string         `json:"message,omitempty"`
	Died    int64          `json:"died_us"`
	Revived bool           `json:"revived,omitempty"`
	Action  job.DeadAction `json:"action,omitempty"`
}

// steps are the times at which the engine runs the due jobs, counted from the start of the clock.
// They do not depend on the waits of jobs, so that a changed wait of one job does not change the
// times of other jobs.
var steps = []time.Duration{
	0, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour, 25 * time.Hour, 30 * time.Hour,
	36 * time.Hour, 48 * time.Hour, 60 * time.Hour, 72 * time.Hour, 96 * time.Hour, 120 * time.Hour, 144 * time.Hour,
	168 * time.Hour, 192 * time.Hour, 30 * 24 * time.Hour, 60 * 24 * time.Hour,
}

// queues are the default queue and the queues to which presets move jobs.
var queues = map[string]redrive.Queue{redrive.DefaultQueue: {}, "compute-engine-high-memory": {}}

// workAll runs the due jobs after each step until all jobs have ended, and adds their outcomes.
func workAll(t *testing.T, e *redrivetest.Engine, outcomes map[job.ID][]redrivetest.Outcome, ids ...job.ID) {
	t.Helper()
	var at time.Duration
	for _, step := range steps {
		e.Advance(step - at)
		at = step
		for _, o := range e.Work() {
			outcomes[o.ID] = append(outcomes[o.ID], o)
		}
		if !slices.ContainsFunc(ids, func(id job.ID) bool { return lives(t, e, id) }) {
			return
		}
	}
}

func lives(t *testing.T, e *redrivetest.Engine, id job.ID) bool {
	t.Helper()
	j, err := e.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return !j.State.Terminal()
}

// rowsOf returns the rows of a job: one for each run, in order, and one for its end.
func rowsOf(t *testing.T, c *redrive.Client, id job.ID, outcomes []redrivetest.Outcome, key, hash string) (runs []runRow, end endRow) {
	t.Helper()
	ctx := t.Context()
	j, err := c.Get(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	failures, err := c.Failures(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	since := func(at job.Micros) int64 {
		if at == 0 {
			return 0
		}
		return int64(at - j.CreatedAt)
	}
	add := func(r runRow) { // runs are numbered in the order in which they are added
		r.Key = fmt.Sprintf("%s run %d", key, len(runs)+1)
		runs = append(runs, r)
	}
	for i := range outcomes {
		o := &outcomes[i]
		r := runRow{
			Cause: o.Cause.String(), State: o.State.String(), Reason: o.Reason, Wait: o.Wait.Microseconds(), Cost: o.Cost, Result: string(o.Result),
		}
		if o.Failure != nil {
			for len(failures) > 0 && failures[0].Token < o.Failure.Token { // each earlier failure belongs to a crash before this run
				add(runRow{Failure: failureOf(&failures[0], since)})
				failures = failures[1:]
			}
			if len(failures) == 0 || failures[0].Token != o.Failure.Token {
				t.Fatalf("row %s: no failure of run %d is stored, want one", key, o.Failure.Token)
			}
			r.Failure = failureOf(&failures[0], since)
			r.Decision = decisionOf(&failures[0], hash)
			failures = failures[1:]
		}
		add(r)
	}
	for i := range failures {
		add(runRow{Failure: failureOf(&failures[i], since), Decision: decisionOf(&failures[i], hash)})
	}
	end = endRow{
		Key: key + " end", State: j.State.String(), Reason: j.Reason, Queue: j.Queue, Priority: j.Priority, Life: j.Life, Runs: int64(j.Token),
		Attempts: j.Counters.Attempts, Crashes: j.Counters.Crashes, Deferrals: j.Counters.Deferrals, Snoozes: j.Counters.Snoozes,
		Interrupts: j.Counters.Interrupts, Ended: since(j.FinishedAt), Cost: j.Cost, Result: string(j.Result),
	}
	d, err := c.DeadLetter(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return runs, end
	}
	if err != nil {
		t.Fatal(err)
	}
	end.Dead = &deadRow{
		Life: d.Life, Status: d.Status.String(), Reason: d.Reason, Class: d.Class, Code: d.Code, Group: d.Fingerprint, Message: d.Message,
		Died: since(d.DiedAt), Revived: d.Revived, Action: d.Action,
	}
	return runs, end
}

// age matches the age of the job in a decision.
var age = regexp.MustCompile(`,"age_us":\d+`)

// decisionOf returns a stored decision without the values that may vary: the hash of the current
// policy, which has its own row, and the fraction of a second in the job's age, which depends on
// the speed of the engine.
func decisionOf(f *job.Failure, hash string) []byte {
	d := bytes.ReplaceAll(f.Decision, []byte(`,"hash":"`+hash+`"`), nil)
	return age.ReplaceAllFunc(d, func(field []byte) []byte {
		n, err := strconv.ParseInt(string(field[len(`,"age_us":`):]), 10, 64)
		if err != nil || n < 1e6 {
			return nil
		}
		return fmt.Appendf(nil, `,"age_us":%d`, n-n%1e6)
	})
}

func failureOf(f *job.Failure, since func(job.Micros) int64) *failureRow {
	stack := f.Stack
	if strings.HasPrefix(stack, "goroutine ") { // the stack of a panic is left out, because it has paths and addresses
		stack = "present"
	}
	return &failureRow{
		Run: int64(f.Token), Life: f.Life, Attempt: f.Attempt, Ended: since(f.EndedAt), How: f.How, Class: f.Class, Code: f.Code,
		Permanent: f.Permanent, Message: f.Message, UserMessage: f.UserMessage, HTTPStatus: f.HTTPStatus, Exit: f.Exit, Signal: f.Signal,
		Holder: f.Holder, Correlation: f.Correlation, Fingerprint: f.Fingerprint, Details: f.Details, Stderr: string(f.Stderr), Stack: stack,
		Cost: f.Cost, Sends: f.Sends,
	}
}
