package memory_test

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/memory"
)

func ExampleNew() {
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		panic(err)
	}
	greet := redrive.Kind[string]("greet")
	redrive.Handle(client, greet, func(_ context.Context, j *redrive.Job[string]) error {
		fmt.Println("Hello,", j.Args)
		return nil
	}, nil)
	if _, err := client.Enqueue(context.Background(), greet.New("Ann", nil)); err != nil {
		panic(err)
	}
	if err := client.RunUntilEmpty(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// Hello, Ann
}
