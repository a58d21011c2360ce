package project_test

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/stream/project"
)

// The retry topic gets waits of at least MinWait.
func ExampleTopic_Wants() {
	topic := &project.Topic{Kind: project.Retries, MinWait: time.Second}
	now := job.Micros(1_000_000)
	for _, wait := range []time.Duration{100 * time.Millisecond, 5 * time.Second} {
		fmt.Println(wait, topic.Wants(&event.Event{Type: event.JobFailed, To: job.Retrying, At: now, DueAt: now.Add(wait)}))
	}
	// Output:
	// 100ms false
	// 5s true
}
