package guard_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/guard"
	"github.com/redrive/redrive/store/memory"
)

// A consumer that is no job handler sends a mail once, although it reads the message twice.
func ExampleDo() {
	g, err := guard.New(memory.New(memory.Options{}), nil)
	if err != nil {
		panic(err)
	}
	for range 2 {
		sent, err := guard.Do(context.Background(), g, "mail:4711", func(context.Context) (string, error) { return "sent", nil })
		fmt.Println(sent, errors.Is(err, guard.ErrProcessed))
	}
	// Output:
	// sent false
	//  true
}
