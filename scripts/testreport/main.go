// Command testreport runs `go test -json` and reports the results. It prints a line for each
// package when it ends, and the output of each failed test. The output of other tests is left out.
// At the end it prints the skipped and the failed tests and the counts:
//
//	testreport [-note TEXT] go test -json ./...
//	…
//	1234 passed, 0 failed, 2 skipped
//
// The exit code is 1 when anything failed, inside or outside of a test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	note := flag.String("note", "", "text to print before the last line")
	flag.Parse()
	ok, err := run(context.Background(), *note, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run runs the command and reports the results of its tests.
func run(ctx context.Context, note string, command []string) (ok bool, err error) {
	if len(command) == 0 {
		return false, errors.New("the command is missing, as in: testreport go test -json PACKAGES")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	r := newReport(os.Stdout)
	rerr := r.read(events)
	err = cmd.Wait()
	r.end(note, err == nil)
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return false, rerr // the error has no more details, because the report gives the reason
	}
	return r.failed == 0, errors.Join(rerr, err)
}
