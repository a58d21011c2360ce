package stream_test

import (
	"context"
	"log"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/stream"
)

// The records of the topic "tasks" with the task_type "email" become jobs of the kind send_mail.
func ExampleRun() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, "jobs.db", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	client, err := redrive.New(store, &redrive.Config{})
	if err != nil {
		log.Fatal(err)
	}
	config := &stream.Config{
		Name: "tasks", Brokers: []string{"localhost:9092"}, Topic: "tasks",
		Kinds: map[string]string{"email": "send_mail"},
	}
	if err := stream.Run(ctx, client, config); err != nil {
		log.Fatal(err)
	}
}
