package faultstore_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
	"github.com/redrive/redrive/store/memory"
)

// The store adds the job, but the answer is lost. The client repeats the call, and the job is added once.
func ExampleNth() {
	ctx := context.Background()
	lost := faultstore.Nth("Enqueue", 1, faultstore.Fault{After: store.ErrUnknown})
	faulty := faultstore.New(memory.New(memory.Options{}), lost)
	client, err := redrive.New(faulty, &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	_, err = client.Enqueue(ctx, redrive.NewRaw("send", nil, nil))
	fmt.Println(err, "after", faulty.Calls("Enqueue"), "calls")
	// Output: <nil> after 2 calls
}
