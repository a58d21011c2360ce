// Command quickstart runs two jobs. One succeeds, the other fails permanently.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store/sqlite"
)

const greet = redrive.Kind[string]("greet")

func main() {
	ctx := context.Background()
	st := must(sqlite.Open(ctx, "quickstart.db", nil))
	client := must(redrive.New(st, nil))
	redrive.Handle(client, greet, func(_ context.Context, j *redrive.Job[string]) error {
		if j.Args == "" {
			return failure.Permanent(errors.New("nobody to greet"))
		}
		fmt.Println("Hello,", j.Args)
		return nil
	}, nil)
	must(client.EnqueueMany(ctx, []redrive.Spec{greet.New("Ann", nil), greet.New("", nil)}))
	if err := errors.Join(client.RunUntilEmpty(ctx), st.Close()); err != nil { // a server calls Run instead
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
