package redrive_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store/memory"
)

// video is a job of system C: the errors of its runs, one after the other; after them it succeeds.
type video struct {
	Errors []string
}

// System C: two time limits of the network and a success are three runs with growing waits; a private video has one run; a
// video of 7 h has one retry, on its queue and with its settings; one of 9 h never runs, and the administrator
// gets a mail. What a user reads meanwhile has the words of the preset.
//
// part of: Y1
func TestY1_TranscribeOverItsPreset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, transcribes)
}

func transcribes(t *testing.T) {
	preset, err := policyfile.Preset("transcribe")
	if err != nil {
		t.Fatal(err)
	}
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Name: "w", Policy: preset.Policy, TempDir: t.TempDir(),
		Queues: map[string]redrive.Queue{redrive.DefaultQueue: {}, "compute-engine-high-memory": {}}})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[video]("transcribe")
	type start struct {
		at        time.Time
		queue     string
		overrides map[string]string
	}
	var mu sync.Mutex
	starts := make(map[job.ID][]start)
	redrive.Handle(c, kind, func(_ context.Context, j *redrive.Job[video]) error {
		mu.Lock()
		defer mu.Unlock()
		starts[j.ID] = append(starts[j.ID], start{time.Now(), j.Queue, j.Overrides})
		if n := len(starts[j.ID]); n <= len(j.Args.Errors) {
			return errors.New(j.Args.Errors[n-1])
		}
		return nil
	}, nil)
	if _, err := c.PublishNotify(t.Context(), redrive.By{Actor: "ann"}, &notify.Rules{
		People:   map[string][]string{"administrator": {"admin@example.com"}},
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules:    []notify.Rule{{On: []notify.Event{notify.JobHeld}, Channel: "mail", To: []string{notify.HoldNotify}}},
	}); err != nil {
		t.Fatal(err)
	}
	enqueue := func(hours float64, errs ...string) job.ID {
		t.Helper()
		r, err := c.Enqueue(t.Context(), kind.New(video{errs}, &redrive.Options{Attrs: map[string]any{"duration_seconds": hours * 3600}}))
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	get := func(id job.ID) job.Job {
		t.Helper()
		j, err := c.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	const timeout, private = "Connection timeout", "Video is private"
	healed, closed, long, endless := enqueue(1, timeout, timeout), enqueue(1, private), enqueue(7, timeout, timeout, timeout), enqueue(9)

	pass(10 * time.Second) // the first runs have ended, and no wait is over
	words := preset.Spec.Words
	mu.Lock()
	first := starts[healed][0].at
	mu.Unlock()
	if j := get(healed); words.State(j.State, j.Reason) != "RETRYING" || j.RunAt.Time().Sub(first) < 24*time.Second || j.RunAt.Time().Sub(first) > 36*time.Second {
		t.Errorf("after the first failure: got the state %s and the next run at %s, want RETRYING in 24 s to 36 s", words.State(j.State, j.Reason), j.RunAt.Time())
	}
	pass(5 * time.Minute)
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) && err != nil {
		t.Errorf("the worker ended with %v", err)
	}

	runs := starts[healed]
	if j := get(healed); len(runs) != 3 || j.State != job.Completed {
		t.Fatalf("the healed video: got %d runs and the state %s, want 3 and completed", len(runs), j.State)
	}
	for i, bounds := range [][2]time.Duration{{24 * time.Second, 36 * time.Second}, {48 * time.Second, 72 * time.Second}} {
		if gap := runs[i+1].at.Sub(runs[i].at); gap < bounds[0] || gap > bounds[1] {
			t.Errorf("gap %d: got %s, want %s to %s", i+1, gap, bounds[0], bounds[1])
		}
	}
	for id, want := range map[job.ID]struct {
		runs         int
		state, reads string
	}{
		closed:  {1, "FAILED", "This video cannot be opened. Please check that it exists and is public."},
		long:    {2, "FAILED", "The connection was interrupted too often, and your video could not be processed. Please start it again later."},
		endless: {0, "MANUAL_REVIEW", "Please contact support for videos over 8 hours"},
	} {
		j := get(id)
		failures, err := c.Failures(t.Context(), id)
		if err != nil || len(failures) == 0 {
			t.Fatalf("job %d: got no failures, error %v", id, err)
		}
		if reads := failures[len(failures)-1].UserMessage; len(starts[id]) != want.runs || words.State(j.State, j.Reason) != want.state || reads != want.reads {
			t.Errorf("job %d: got %d runs, the state %s and the text %q, want %+v", id, len(starts[id]), words.State(j.State, j.Reason), reads, want)
		}
	}
	if s := starts[long]; len(s) == 2 && (s[1].queue != "compute-engine-high-memory" || !maps.Equal(s[1].overrides, map[string]string{"chunk_strategy": "adaptive", "model": "gemini-flash"})) {
		t.Errorf("the long video ran on %s with %v, want the queue and both settings of the preset", s[1].queue, s[1].overrides)
	}
	mails, err := c.List(t.Context(), redrive.JobFilter{Kind: notify.KindMail})
	if err != nil || len(mails.Jobs) != 1 {
		t.Fatalf("got %d mails, error %v, want one", len(mails.Jobs), err)
	}
	mail := get(mails.Jobs[0].ID)
	n, err := notify.Read(mail.Payload)
	if err != nil || n.On != notify.JobHeld || n.To != "admin@example.com" {
		t.Errorf("got the notice %+v, error %v, want one to the administrator about the video that is held", n, err)
	}
}
