package mark_test

import (
	"fmt"

	"github.com/redrive/redrive/stream/mark"
)

// An address that is wrong is found at once, and no password is in the error.
func ExampleOpen() {
	_, err := mark.Open(&mark.Options{URL: "http://user:secret@redis-1"})
	fmt.Println(err)
	// Output: marks: the address of Redis must be such as redis://redis-1:6379/0, or rediss:// with TLS
}
