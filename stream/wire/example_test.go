package wire_test

import (
	"fmt"
	"log"
	"time"

	"github.com/redrive/redrive/stream/wire"
)

func ExampleRead() {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	rules := wire.Rules{ValueMax: 1 << 20}
	task, err := wire.Read(&wire.Record{Topic: "tasks", Value: []byte(`{"job_id": "a-1", "task_type": "email", "payload": {"to": "anna"}}`)}, now, rules)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(task.ID, task.Type, string(task.Payload))
	_, err = wire.Read(&wire.Record{Topic: "tasks", Value: []byte(`{"job_id": `)}, now, rules)
	fmt.Println(err != nil)
	// Output:
	// a-1 email {"to": "anna"}
	// true
}
