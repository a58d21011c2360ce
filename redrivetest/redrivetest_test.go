package redrivetest_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/redrivetest"
)

func TestMain(m *testing.M) {
	if os.Getenv("REDRIVETEST_ROLE") == "server" {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			_, err = listener.Accept() // this blocks until the test kills the process
		}
		panic(err)
	}
	goleak.VerifyTestMain(pgtest.Stopping(m))
}

type charge struct{ Euros int }

const pay = redrive.Kind[charge]("pay")

func TestWork_RunsWhatIsDueAndWhatFollows(t *testing.T) {
	t.Parallel()
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, pay, func(ctx context.Context, j *redrive.Job[charge]) error {
		switch j.Args.Euros {
		case 0:
			return errors.New("nothing to pay")
		case 1:
			return nil
		}
		_, err := e.Enqueue(ctx, pay.New(charge{j.Args.Euros - 1}, nil))
		return err
	}, nil)
	for _, euros := range []int{3, 0} {
		if _, err := e.Enqueue(t.Context(), pay.New(charge{euros}, nil)); err != nil {
			t.Fatal(err)
		}
	}
	var states []job.State
	for _, o := range e.Work() {
		states = append(states, o.State)
	}
	want := []job.State{job.Completed, job.Retrying, job.Completed, job.Completed}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("wrong states of the outcomes (-want +got):\n%s", diff)
	}
	if out := e.Work(); len(out) != 0 {
		t.Errorf("the retry ran before it was due: got outcomes %+v, want none", out)
	}
	e.Advance(time.Minute)
	if out := e.Work(); len(out) != 1 || out[0].Attempt != 2 || out[0].Kind != "pay" {
		t.Errorf("after the wait: got outcomes %+v, want the second attempt of the kind pay", out)
	}
}

func TestAttempt_ReturnsDecisionAndFailure(t *testing.T) {
	o := redrivetest.Attempt(t, func(_ context.Context, j *redrive.Job[charge]) error {
		return failure.Permanent(failure.Code("CARD_EXPIRED", errors.New("no"), "euros", j.Args.Euros))
	}, charge{5})
	if o.State != job.Dead || o.Reason != job.NonRetriable || o.Decision.Rule != "mark.permanent" {
		t.Errorf("got state %v, reason %q, rule %q; want a dead job, reason non_retriable_error, rule mark.permanent", o.State, o.Reason, o.Decision.Rule)
	}
	if o.Failure.Code != "CARD_EXPIRED" || string(o.Failure.Details) != `{"euros":5}` {
		t.Errorf("got code %q, details %s; want CARD_EXPIRED with 5 euros", o.Failure.Code, o.Failure.Details)
	}
	if len(o.TempFiles) > 0 || len(o.Processes) > 0 {
		t.Errorf("Attempt reported the files %v and the processes %v, want no files and no processes", o.TempFiles, o.Processes)
	}
}

func TestAttempt_FindsWhatIsLeftBehind(t *testing.T) {
	var process *os.Process
	o := redrivetest.Attempt(t, func(ctx context.Context, j *redrive.Job[charge]) error {
		own, err := j.TempDir()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(own, "tidy"), nil, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(os.TempDir(), "leak"), nil, 0o600); err != nil {
			return err
		}
		env := append(os.Environ(), "REDRIVETEST_ROLE=server")
		tidy := j.Command(ctx, os.Args[0])
		tidy.Env = env
		if err := tidy.Start(); err != nil {
			return err
		}
		go func() { _ = tidy.Wait() }()
		process, err = os.StartProcess(os.Args[0], []string{"leaked-server"}, &os.ProcAttr{Env: env})
		return err
	}, charge{})
	defer func() { _, _ = process.Wait() }()
	defer func() { _ = process.Kill() }()
	if o.State != job.Completed {
		t.Fatalf("got state %v and failure %+v, want a job completed without a failure", o.State, o.Failure)
	}
	if len(o.TempFiles) != 1 || filepath.Base(o.TempFiles[0]) != "leak" {
		t.Errorf("got the files %v, want the file that the handler left behind", o.TempFiles)
	}
	if runtime.GOOS == "linux" && (len(o.Processes) != 1 || !strings.HasPrefix(o.Processes[0], "leaked-server (process ")) {
		t.Errorf("got the processes %v, want the process that the handler left behind", o.Processes)
	}
}

// proves: I3
func TestI3_TwiceShowsDoubleEffects(t *testing.T) {
	t.Parallel()
	var mail, pay redrivetest.Effects
	handlers := map[string]struct {
		handler func(context.Context, *redrive.Job[charge]) error
		effects *redrivetest.Effects
		want    []string
	}{
		"without a key": {func(context.Context, *redrive.Job[charge]) error {
			mail.Do("mail to ann", "")
			return nil
		}, &mail, []string{"mail to ann"}},
		"with the key of the step": {func(_ context.Context, j *redrive.Job[charge]) error {
			if first := pay.Do("charge ann", j.StepKey("charge")); first != (j.Run == 1) {
				t.Errorf("run %d: Do returned %v for the payment, want true in the first run only", j.Run, first)
			}
			pay.Do("receipt to ann", j.StepKey("receipt"))
			return nil
		}, &pay, nil},
	}
	for name, h := range handlers {
		if diff := cmp.Diff(h.want, redrivetest.Twice(t, h.handler, charge{5}, h.effects)); diff != "" {
			t.Errorf("wrong effects of the second run of the handler %s (-want +got):\n%s", name, diff)
		}
	}
}

// An Engine calls the hooks of its configuration, and Work waits for OnOutcome. The jobs keep their
// owners.
func TestWork_CallsTheHooksOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var reported, handled []string
	enqueued := 0
	e := redrivetest.New(t, &redrive.Config{
		OnOutcome: func(_ context.Context, o redrive.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, o.Owner)
		},
		Middleware: []redrive.Middleware{func(next redrive.HandlerFunc) redrive.HandlerFunc {
			return func(ctx context.Context, run *redrive.Info) error {
				handled = append(handled, run.Owner)
				return next(ctx, run)
			}
		}},
		EnqueueMiddleware: []redrive.EnqueueMiddleware{func(next redrive.EnqueueFunc) redrive.EnqueueFunc {
			return func(ctx context.Context, specs []redrive.Spec) ([]redrive.Receipt, error) {
				enqueued += len(specs)
				return next(ctx, specs)
			}
		}},
	})
	redrive.Handle(e.Client, pay, func(context.Context, *redrive.Job[charge]) error { return nil }, nil)
	for _, owner := range []string{"ann", ""} {
		if _, err := e.Enqueue(t.Context(), pay.New(charge{7}, &redrive.Options{Owner: owner})); err != nil {
			t.Fatal(err)
		}
	}
	e.Work()
	slices.Sort(reported) // the order of the calls of OnOutcome is not fixed, because they are concurrent
	if want := []string{"", "ann"}; !slices.Equal(reported, want) {
		t.Errorf("OnOutcome got the outcomes of the owners %q, want %q", reported, want)
	}
	if want := []string{"ann", ""}; !slices.Equal(handled, want) {
		t.Errorf("the middleware got the jobs of the owners %q, want %q", handled, want)
	}
	if enqueued != 2 {
		t.Errorf("the enqueue middleware got %d jobs, want 2", enqueued)
	}
	for _, owner := range []string{"ann", ""} {
		redrivetest.RequireEnqueued(t, e.Client, pay, redrivetest.Owner(owner), redrivetest.Count(1))
	}
}
