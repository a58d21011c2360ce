package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

// SendArgs are the arguments of the kind that the examples use.
type SendArgs struct {
	To string `json:"to"`
}

// Send binds the name of a kind to the type of its arguments, once.
const Send = redrive.Kind[SendArgs]("send")

// check ends the program if err is not nil.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newExampleClient returns a client without a log on a new store in memory.
func newExampleClient() *redrive.Client {
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	return client
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"), nil)
	check(err)
	defer func() { check(st.Close()) }()
	client, err := redrive.New(st, nil)
	check(err)
	redrive.Handle(client, Send, func(ctx context.Context, j *redrive.Job[SendArgs]) error {
		fmt.Println("sent to", j.Args.To)
		return nil
	}, nil)
	_, err = client.Enqueue(ctx, Send.New(SendArgs{To: "ann"}, nil))
	check(err)
	check(client.RunUntilEmpty(ctx)) // a server calls Run instead
	// Output: sent to ann
}

// The error that a handler returns decides what happens to the job.
func ExampleHandle() {
	client := newExampleClient()
	redrive.Handle(client, Send, func(ctx context.Context, j *redrive.Job[SendArgs]) error {
		switch j.Args.To {
		case "nobody":
			return failure.Permanent(failure.Code("NO_SUCH_USER", errors.New("there is no nobody"), "to", j.Args.To))
		case "busy":
			return failure.RetryAfter(2*time.Minute, errors.New("the server is busy"))
		case "tomorrow":
			return failure.Snooze(24 * time.Hour)
		}
		return nil
	}, &redrive.HandlerOptions{
		Timeout:  time.Minute,
		Schedule: &policy.Schedule{Waits: []time.Duration{time.Second, time.Minute, time.Hour}},
	})
	ctx := context.Background()
	var specs []redrive.Spec
	for _, to := range []string{"ann", "nobody", "busy", "tomorrow"} {
		specs = append(specs, Send.New(SendArgs{To: to}, nil))
	}
	receipts, err := client.EnqueueMany(ctx, specs)
	check(err)
	check(client.RunUntilIdle(ctx))
	for _, r := range receipts {
		j, err := client.Get(ctx, r.ID)
		check(err)
		failures, err := client.Failures(ctx, r.ID)
		check(err)
		fmt.Println(j.ID, j.State)
		for _, f := range failures {
			decision, _ := policy.ParseRecord(f.Decision)
			fmt.Printf("  %s; %s by %s, retry %d of %d\n", f.Message, decision.Action, decision.Rule, decision.N, decision.Of)
		}
	}
	// Output:
	// 1 completed
	// 2 dead
	//   there is no nobody; dead by mark.permanent, retry 0 of 3
	// 3 retrying
	//   the server is busy; retry by schedule, retry 1 of 3
	// 4 waiting
}

// If a job with the same idempotency key exists, an enqueue returns that job and its state.
func ExampleOptions_key() {
	client := newExampleClient()
	ctx := context.Background()
	for range 2 {
		r, err := client.Enqueue(ctx, Send.New(SendArgs{To: "ann"}, &redrive.Options{Key: "welcome-ann"}))
		fmt.Println(r.ID, r.Existing, r.State, err)
	}
	_, err := client.Enqueue(ctx, Send.New(SendArgs{To: "bob"}, &redrive.Options{Key: "welcome-ann"}))
	fmt.Println(errors.Is(err, store.ErrConflict), err)
	// Output:
	// 1 false waiting <nil>
	// 1 true waiting <nil>
	// true enqueue: job 1 of 1: key "welcome-ann" of kind "send": held by job 1 with another payload; use another key or the same payload
}

// A step that writes to another system sends its step key to that system. So a repeated run does
// not have the effect twice.
func ExampleInfo_StepKey() {
	client := newExampleClient()
	charged := map[string]bool{} // the records of a payment service
	redrive.Handle(client, Send, func(ctx context.Context, j *redrive.Job[SendArgs]) error {
		charged[j.StepKey("charge")] = true
		if j.Run == 1 {
			return failure.Snooze(time.Millisecond) // simulates a crash after the charge
		}
		return nil
	}, nil)
	ctx := context.Background()
	_, err := client.Enqueue(ctx, Send.New(SendArgs{To: "ann"}, nil))
	check(err)
	check(client.RunUntilEmpty(ctx))
	fmt.Println("charged", len(charged), "time")
	// Output: charged 1 time
}
