package events_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server/events"
	"github.com/redrive/redrive/store/memory"
)

// A listener waits until it is woken, and then takes what has arrived.
func ExampleHub() {
	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: quiet})
	if err != nil {
		panic(err)
	}
	hub := events.New(client, quiet)
	defer hub.Close()
	listener, err := hub.Listen(ctx, events.Options{Topics: []events.Topic{{Name: events.Owner, Value: "ann"}}})
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	for _, owner := range []string{"ben", "ann"} {
		if _, err := client.Enqueue(ctx, redrive.NewRaw("render", nil, &redrive.Options{Owner: owner})); err != nil {
			panic(err)
		}
	}
	<-listener.Wake()
	items, err := listener.Take(nil, events.TakeMax)
	if err != nil {
		panic(err)
	}
	for _, item := range items {
		if item.Entry == nil {
			fmt.Println("events are missing: read the present state")
			continue
		}
		fmt.Println(item.Entry.Type, "of", item.Entry.Owner)
	}
	// Output: job.enqueued of ann
}
