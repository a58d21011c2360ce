package kafka_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/kafka"
)

// begin keeps the positions; a program uses redrive.Client.BeginPositions.
func begin(_ context.Context, first []store.Position) ([]store.Position, error) { return first, nil }

func ExampleOpen() {
	ctx := context.Background()
	o := &kafka.Options{Brokers: []string{"localhost:9092"}, Topic: "tasks", Group: "redrive-tasks", Log: slog.Default(), Now: time.Now, Begin: begin}
	topics, err := kafka.Prepare(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	reader, err := kafka.Open(o, &topics[0])
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	parts, err := reader.Poll(ctx, 500)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", parts)
}
