package kafka_test

import (
	"context"
	"fmt"
	"log"

	"github.com/redrive/redrive/stream/kafka"
)

func ExampleOpen() {
	ctx := context.Background()
	reader, err := kafka.Open(ctx, &kafka.Options{Brokers: []string{"localhost:9092"}, Topic: "tasks", Group: "redrive-tasks"})
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
