package kafka_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/redrive/redrive/stream/kafka"
)

func ExampleOpen() {
	ctx := context.Background()
	o := &kafka.Options{Brokers: []string{"localhost:9092"}, Topic: "tasks", Group: "redrive-tasks", Log: slog.Default()}
	ids, err := kafka.Prepare(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	reader, err := kafka.Open(o, "tasks", ids["tasks"])
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	batch, err := reader.Poll(ctx, 500)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", batch)
}
