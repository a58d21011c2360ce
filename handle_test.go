package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
)

type renderArgs struct {
	Scene int64  `json:"scene"`
	Title string `json:"title,omitempty"`
}

const render = redrive.Kind[renderArgs]("render")

var quiet = slog.New(slog.DiscardHandler)

// handle registers h for the kind render on a new engine.
func handle(t *testing.T, h func(context.Context, *redrive.Job[renderArgs]) error, o *redrive.HandlerOptions) *redrivetest.Engine {
	t.Helper()
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, render, h, o)
	return e
}

func succeed(context.Context, *redrive.Job[renderArgs]) error { return nil }

// enqueue enqueues one job and returns its id.
func enqueue(t *testing.T, e *redrivetest.Engine, s redrive.Spec) redrive.JobID {
	t.Helper()
	r, err := e.Enqueue(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// get returns the current job.
func get(t *testing.T, e *redrivetest.Engine, id redrive.JobID) job.Job {
	t.Helper()
	j, err := e.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// proves: Q1
func TestQ1_AHandlerSeesWhatWasEnqueued(t *testing.T) {
	t.Parallel()
	var got []*redrive.Job[renderArgs]
	e := redrivetest.New(t, &redrive.Config{Queues: map[string]redrive.Queue{"default": {}, "video": {}}})
	redrive.Handle(e.Client, render, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		got = append(got, j)
		return nil
	}, nil)
	start := e.Now()
	id := enqueue(t, e, render.New(renderArgs{Scene: 7, Title: "<&é>"}, &redrive.Options{
		Queue: "video", Priority: 1, RunAt: start.Add(time.Hour), Deadline: start.Add(2 * time.Hour),
		Owner: "ann", Correlation: "req-9", Attrs: map[string]any{"length": 90}, Batch: openBatch(t, e.Client),
	}))
	if out := e.Work(); len(out) != 0 {
		t.Fatalf("a job ran before it was due: got the outcomes %+v, want no run", out)
	}
	e.Advance(time.Hour)
	e.Work()
	if len(got) != 1 {
		t.Fatalf("the handler was called %d times, want 1", len(got))
	}
	want := &redrive.Job[renderArgs]{
		Args: renderArgs{Scene: 7, Title: "<&é>"},
		Info: redrive.Info{
			ID: id, Kind: "render", Queue: "video", Priority: 1, Life: 1, Attempt: 1, Run: 1,
			Owner: "ann", Correlation: "req-9", Batch: 1, Attrs: []byte(`{"length":90}`),
			CreatedAt: start, DueAt: start.Add(time.Hour), Deadline: start.Add(2 * time.Hour),
		},
	}
	if diff := cmp.Diff(want, got[0], cmpopts.IgnoreUnexported(redrive.Info{})); diff != "" {
		t.Errorf("the handler got a wrong job (-want +got):\n%s", diff)
	}
}

// proves: Q1
func TestQ1_BulkOfSeveralKinds(t *testing.T) {
	t.Parallel()
	const probe = redrive.Kind[[]string]("probe")
	var order []string
	e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		order = append(order, fmt.Sprint("render ", j.Args.Scene))
		return nil
	}, nil)
	redrive.Handle(e.Client, probe, func(_ context.Context, j *redrive.Job[[]string]) error {
		order = append(order, "probe "+strings.Join(j.Args, ","))
		return nil
	}, nil)
	receipts, err := e.EnqueueMany(t.Context(), []redrive.Spec{
		render.New(renderArgs{Scene: 1}, nil),
		probe.New([]string{"a", "b"}, nil),
		render.New(renderArgs{Scene: 2}, &redrive.Options{Priority: 1}),
	})
	if err != nil || len(receipts) != 3 {
		t.Fatalf("EnqueueMany: got %d receipts, error %v; want 3 receipts", len(receipts), err)
	}
	e.Work()
	if diff := cmp.Diff([]string{"render 2", "render 1", "probe a,b"}, order); diff != "" {
		t.Errorf("wrong order of the runs (-want +got):\n%s", diff)
	}
	if none, err := e.EnqueueMany(t.Context(), nil); none != nil || err != nil {
		t.Errorf("EnqueueMany of no jobs: got %v, error %v; want nil and no error", none, err)
	}
}

func TestArgs_WholeNumbersAbove2To53Survive(t *testing.T) {
	t.Parallel()
	const big = 1<<53 + 1
	var got int64
	e := handle(t, func(_ context.Context, j *redrive.Job[renderArgs]) error {
		got = j.Args.Scene
		return nil
	}, nil)
	enqueue(t, e, render.New(renderArgs{Scene: big}, nil))
	e.Work()
	if got != big {
		t.Errorf("the handler got the number %d in its arguments, want %d", got, int64(big))
	}
}

func TestArgs_APayloadThatDoesNotFitIsAPermanentFailure(t *testing.T) {
	t.Parallel()
	e := handle(t, func(context.Context, *redrive.Job[renderArgs]) error {
		t.Error("the handler ran with a payload that does not fit its arguments, want no run")
		return nil
	}, nil)
	for _, payload := range []string{`{"scene":"seven"}`, `{"scene":`, ``, `{} {}`} {
		enqueue(t, e, redrive.NewRaw("render", []byte(payload), nil))
		out := e.Work()
		if len(out) != 1 || out[0].State != job.Dead || out[0].Reason != job.NonRetriable {
			t.Fatalf("payload %q: got the outcomes %+v, want a dead job after one run", payload, out)
		}
		f := out[0].Failure
		if f.Code != redrive.CodeBadPayload || !f.Permanent {
			t.Errorf("payload %q: got code %q, permanent %v; want a permanent failure with CodeBadPayload", payload, f.Code, f.Permanent)
		}
		if want := `payload of kind "render" does not fit redrive_test.renderArgs: `; !strings.HasPrefix(f.Message, want) {
			t.Errorf("got message %q, want it to begin with %q", f.Message, want)
		}
	}
}

func TestHandleRaw_GetsTheBytes(t *testing.T) {
	t.Parallel()
	payload := []byte("not { JSON \x00\xff")
	e := redrivetest.New(t, nil)
	redrive.HandleRaw(e.Client, "exec", func(_ context.Context, j *redrive.Job[[]byte]) error {
		return j.SetResult(j.Args)
	}, nil)
	id := enqueue(t, e, redrive.NewRaw("exec", payload, nil))
	e.Work()
	if got := get(t, e, id).Result; string(got) != string(payload) {
		t.Errorf("got the payload %q, want %q", got, payload)
	}
}

func TestHandle_PanicsOnMistakes(t *testing.T) {
	t.Parallel()
	e := handle(t, succeed, nil)
	mistakes := []struct {
		panics string
		make   func()
	}{
		{`redrive: kind "render" has a handler already`, func() { redrive.Handle(e.Client, render, succeed, nil) }},
		{`redrive: kind "a b": only letters, digits and _-.:/ are allowed: invalid`, func() {
			redrive.Handle(e.Client, redrive.Kind[renderArgs]("a b"), succeed, nil)
		}},
		{`redrive: kind "nil": the handler is nil`, func() { redrive.Handle[int](e.Client, "nil", nil, nil) }},
		{`redrive: kind "raw": the handler is nil`, func() { redrive.HandleRaw(e.Client, "raw", nil, nil) }},
		{`redrive: kind "late": Handle must come before Run`, func() {
			e.Work()
			redrive.Handle(e.Client, redrive.Kind[renderArgs]("late"), succeed, nil)
		}},
	}
	for _, mistake := range mistakes {
		func() {
			defer func() {
				if got := recover(); got != mistake.panics {
					t.Errorf("got panic %v\nwant %s", got, mistake.panics)
				}
			}()
			mistake.make()
		}()
	}
}

// proves: Q11
func TestQ11_ProgressResultAndCost(t *testing.T) {
	t.Parallel()
	var seen job.Progress
	var e *redrivetest.Engine
	e = handle(t, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		if j.Attempt == 1 {
			j.AddCost(0.0000014)
			j.AddCost(-1)
			j.Progress(3, 10, "clip 3")
			e.Advance(time.Second) // the time after which the next progress report may be written
			for seen.Done == 0 && ctx.Err() == nil {
				seen = get(t, e, j.ID).Progress
			}
			return errors.New("oops")
		}
		if p := get(t, e, j.ID).Progress; p.Done != 0 {
			t.Errorf("the second run began with the progress %+v, want no progress", p)
		}
		j.AddCost(1.25)
		if err := j.SetResult(map[string]int{"frames": 240}); err != nil {
			return err
		}
		if err := j.SetResult(strings.Repeat("x", job.ResultMax)); err == nil {
			t.Error("SetResult accepted a result above the limit, want an error")
		}
		return nil
	}, nil)
	id := enqueue(t, e, render.New(renderArgs{}, nil))
	if out := e.Work(); out[0].Cost != 1 {
		t.Errorf("got the cost %d of the failed run, want 1", out[0].Cost)
	}
	if seen.Done != 3 || seen.Total != 10 || seen.Note != "clip 3" {
		t.Errorf("got the progress %+v, want 3 of 10 with the note \"clip 3\"", seen)
	}
	e.Advance(30 * time.Second)
	e.Work()
	j := get(t, e, id)
	if string(j.Result) != `{"frames":240}` || j.Cost != 1_250_001 {
		t.Errorf("got the result %s and the cost %d, want 240 frames and the sum of the costs of both runs", j.Result, j.Cost)
	}
}

func TestTryHandle_ReturnsWhatHandlePanicsWith(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{redrive.TryHandle(e.Client, render, succeed, &redrive.HandlerOptions{Workers: -1}),
			`redrive: kind "render": HandlerOptions.Workers -1: must not be negative`},
		{redrive.TryHandle(e.Client, render, nil, nil), `redrive: kind "render": the handler is nil`},
		{redrive.TryHandle(e.Client, render, succeed, nil), ""},
		{redrive.TryHandle(e.Client, render, succeed, nil), `redrive: kind "render" has a handler already`},
		{redrive.TryHandleRaw(e.Client, "a b", func(context.Context, *redrive.Job[[]byte]) error { return nil }, nil),
			`redrive: kind "a b": only letters, digits and _-.:/ are allowed: invalid`},
	} {
		if tt.err == nil && tt.want != "" || tt.err != nil && tt.err.Error() != tt.want {
			t.Errorf("got error %v\nwant %s", tt.err, tt.want)
		}
	}
	enqueue(t, e, render.New(renderArgs{}, nil))
	if out := e.Work(); len(out) != 1 {
		t.Errorf("got %d outcomes, want 1", len(out))
	}
	const late = redrive.Kind[int]("late")
	if err := redrive.TryHandle(e.Client, late, func(context.Context, *redrive.Job[int]) error { return nil }, nil); err == nil ||
		err.Error() != `redrive: kind "late": Handle must come before Run` {
		t.Errorf("TryHandle after Run: got error %v, want an error", err)
	}
}

// An enqueue is refused when this client has a handler of the kind for another type of arguments,
// because that handler could not decode the payload.
func TestEnqueue_RefusesArgumentsOfAnotherType(t *testing.T) {
	t.Parallel()
	type otherArgs struct{ Scene string }
	const other = redrive.Kind[otherArgs]("render")
	e := handle(t, succeed, nil)
	_, err := e.EnqueueMany(t.Context(), []redrive.Spec{render.New(renderArgs{}, nil), other.New(otherArgs{}, nil)})
	want := `enqueue, job 2 of 2: kind "render": the arguments are of type redrive_test.otherArgs, and its handler takes redrive_test.renderArgs: ` +
		"a kind has one type of arguments; declare it once, or give one of the two another name: invalid"
	if err == nil || err.Error() != want || !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got error %v\nwant %s", err, want)
	}
	for _, s := range []redrive.Spec{ // these specs are accepted: their payload has no type, or this client has no handler of their kind
		redrive.NewRaw("render", []byte(`{}`), nil), redrive.Kind[otherArgs]("elsewhere").New(otherArgs{}, nil),
	} {
		if _, err := e.Enqueue(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
}
