package document_test

import (
	"fmt"

	"github.com/redrive/redrive/stream/document"
	"github.com/redrive/redrive/stream/project"
)

// A dead letter has the fields of the HTTP API beside those of its task.
func ExampleFields() {
	for _, field := range document.Fields(&project.Document{Task: []byte(`{"job_id":"a-1","task_type":"chat","payload":{"q":1}}`)})[:2] {
		fmt.Println(field.Key, field.Value)
	}
	// Output:
	// job_id a-1
	// task_type chat
}
