package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/sqlite"
)

// Open creates the database file if the file does not exist.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "redrive-example")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		panic(err)
	}
	defer st.Close()
	client, err := redrive.New(st, nil)
	if err != nil {
		panic(err)
	}
	receipt, err := client.Enqueue(ctx, redrive.Kind[int]("confirm").New(1001, nil))
	if err != nil {
		panic(err)
	}
	j, err := client.Get(ctx, receipt.ID)
	fmt.Println(j.Kind, j.State, err)
	// Output:
	// confirm waiting <nil>
}
