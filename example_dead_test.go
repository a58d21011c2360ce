package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store/memory"
)

// newDeadExample returns a client whose three jobs are dead: one has no address, and the mail service refused
// the key of the other two. The key is replaced by writing true to the returned variable.
func newDeadExample(ctx context.Context) (client *redrive.Client, repaired *bool) {
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{
		Logger: slog.New(slog.DiscardHandler), Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1}},
		Poll: 10 * time.Millisecond,
	})
	check(err)
	repaired = new(bool)
	redrive.Handle(client, Send, func(_ context.Context, j *redrive.Job[SendArgs]) error {
		switch {
		case j.Args.To == "":
			return failure.WithClass(failure.ValidationError, errors.New("nobody to send to"))
		case !*repaired:
			return failure.WithClass(failure.AuthenticationFailure, errors.New("the mail service refused the key"))
		}
		return nil
	}, nil)
	for _, to := range []string{"ann", "", "ben"} {
		_, err := client.Enqueue(ctx, Send.New(SendArgs{To: to}, nil))
		check(err)
	}
	check(client.RunUntilEmpty(ctx))
	return client, repaired
}

// One dead letter is retried with another payload. The history of the job and its original are kept.
func ExampleClient_Retry() {
	ctx := context.Background()
	client, repaired := newDeadExample(ctx)
	*repaired = true

	page, err := client.DeadLetters(ctx, redrive.DeadFilter{Class: "ValidationError"}, redrive.DeadPaging{Limit: 50})
	check(err)
	for _, d := range page.Entries {
		fmt.Println(d.DeadLetter.Job, d.Kind, d.Class, d.Message)
		by := redrive.By{Actor: "carol", Reason: "the customer has named the address"}
		check(client.Retry(ctx, by, d.DeadLetter.Job, &redrive.Change{Payload: []byte(`{"to":"dave"}`)}))
	}

	check(client.RunUntilEmpty(ctx))
	j, err := client.Get(ctx, 2)
	check(err)
	original, err := client.Original(ctx, 2)
	check(err)
	fmt.Println(j.State, string(original.Payload))
	// Output:
	// 2 send ValidationError nobody to send to
	// completed {"to":""}
}

// Act changes all dead letters that a filter selects, such as those of one cause.
func ExampleClient_Act() {
	ctx := context.Background()
	client, repaired := newDeadExample(ctx)
	*repaired = true

	groups, err := client.Groups(ctx, redrive.GroupFilter{})
	check(err)
	for _, g := range groups.Groups {
		if g.Class != "AuthenticationFailure" {
			continue
		}
		by := redrive.By{Actor: "carol", Reason: "the key was renewed"}
		acted, err := client.Act(ctx, by, redrive.Action{Do: redrive.ActRetry, Filter: &redrive.DeadFilter{Group: g.Fingerprint}}, nil)
		check(err)
		fmt.Println("retried", acted.Done)
	}
	ignored, err := client.Act(ctx, redrive.By{Actor: "carol", Reason: "test orders"},
		redrive.Action{Do: redrive.ActIgnore, IDs: []redrive.JobID{2}}, nil)
	check(errors.Join(err, ignored.Errors[0])) // with IDs, each has an error of its own

	check(client.RunUntilEmpty(ctx))
	counts, err := client.Counts(ctx)
	check(err)
	for _, c := range counts {
		fmt.Println(c.State, c.N)
	}
	// Unordered output:
	// retried 2
	// completed 2
	// dead 1
}

// A redrive retries a few jobs first, the canary, and stops by itself when too many fail again.
func ExampleClient_Redrive() {
	ctx, stop := context.WithCancel(context.Background())
	client, repaired := newDeadExample(ctx)
	ended := make(chan error)
	go func() { ended <- client.Run(ctx) }() // the running clients carry redrives out

	spec := redrive.RedriveSpec{Filter: redrive.DeadFilter{Class: "AuthenticationFailure"}, Canary: 1}
	by := redrive.By{Actor: "carol", Reason: "after the outage"}
	r, err := client.Redrive(ctx, by, spec)
	check(err)
	r, err = client.WaitRedrive(ctx, r.ID)
	check(err)
	fmt.Println(r.State, "after", r.Released, "of", r.Total)

	*repaired = true
	_, err = client.ControlRedrive(ctx, by, r.ID, redrive.RedriveResume)
	check(err)
	r, err = client.WaitRedrive(ctx, r.ID)
	check(err)
	fmt.Println(r.State, "after", r.Released, "of", r.Total)

	stop()
	check(<-ended)
	// Output:
	// stopped after 1 of 2
	// ended after 2 of 2
}
