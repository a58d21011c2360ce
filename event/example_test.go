package event_test

import (
	"fmt"

	"github.com/redrive/redrive/event"
)

// A reader stores the cursor of the last event that it has handled.
func ExampleParseCursor() {
	text := event.Cursor{Seq: 17, Index: 2}.String()
	fmt.Println(text)
	c, err := event.ParseCursor(text)
	fmt.Println(c.Seq, c.Index, err)
	// Output:
	// 17.2
	// 17 2 <nil>
}
