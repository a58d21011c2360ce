package store_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// Use errors.Is to test which error a store has returned.
func ExampleStore() {
	st := memory.New(memory.Options{})
	_, err := st.Get(context.Background(), 7)
	fmt.Println(errors.Is(err, store.ErrNotFound))
	// Output:
	// true
}
