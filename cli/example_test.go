package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive/cli"
)

// A program that contains the command runs it with its own arguments, streams and environment.
func ExampleMain() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := os.RemoveAll(folder); err != nil {
			panic(err)
		}
	}()
	environment := func(name string) string {
		if name == "REDRIVE_DB" {
			return filepath.Join(folder, "jobs.db")
		}
		return ""
	}
	for _, line := range []string{"enqueue send {}", "jobs show 2"} {
		code := cli.Main(context.Background(), strings.Fields(line), os.Stdin, os.Stdout, io.Discard, environment)
		fmt.Println("exit code", code)
	}
	// Output:
	// 1
	// exit code 0
	// exit code 4
}
