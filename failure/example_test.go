package failure_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
)

// A handler marks an error with what it knows. The evidence has the marks.
func ExampleOf() {
	err := errors.New("the model is overloaded")
	err = failure.RetryAfter(90*time.Second, failure.Code("OVERLOADED", err))
	e := failure.Of(fmt.Errorf("transcribe: %w", err))
	fmt.Println(e.Code, e.RetryAfter)
	fmt.Println(e.Message)
	// Output:
	// OVERLOADED 1m30s
	// transcribe: the model is overloaded
}
