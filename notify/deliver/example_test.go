package deliver_test

import (
	"fmt"
	"testing/fstest"

	"github.com/redrive/redrive/notify/deliver"
)

// A text that asks for a fact that is not there is refused before any mail is sent.
func ExampleNewTemplates() {
	_, err := deliver.NewTemplates(fstest.MapFS{
		"batch_ready.txt": {Data: []byte("Subject: {{.Batch.Nam}} is ready\n\nHello.\n")},
	})
	fmt.Println(err)
	// Output:
	// batch_ready.txt:1: .Batch.Nam: there is no fact "Nam", did you mean "Name"?
}
