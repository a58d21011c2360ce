package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
)

// errSignal ends the reading of jobs when the process gets a signal to end.
var errSignal = errors.New("a signal ended the command")

// untilSignal returns a reader of in that fails with errSignal after the first SIGINT, SIGTERM or
// SIGHUP, so that the lines before it are enqueued and the command can say how many they are. The
// second signal ends the process. Until release, a write to a closed pipe is an error and does not
// end the process.
func untilSignal(in io.Reader) (_ io.Reader, release func()) {
	signals, pipe := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(pipe, syscall.SIGPIPE)
	r, w := io.Pipe()
	over := make(chan struct{})
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	go func() {
		select {
		case <-signals:
			signal.Stop(signals)
			w.CloseWithError(errSignal)
		case <-over:
		}
	}()
	return r, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(over)
	}
}

// stopped adds to an error the number of jobs that were enqueued before the error.
func (t *taker) stopped(err error) error {
	if errors.Is(err, errSignal) {
		err = &interruptedError{"a signal ended the command"}
	}
	taken := "no job was enqueued"
	if t.last > 0 {
		taken = fmt.Sprintf("the jobs up to line %d were enqueued (%s)", t.last, words.Count(t.jobs, "job"))
	}
	switch {
	case errors.Is(err, redrive.ErrUnknown):
		return &noted{err, fmt.Sprintf("%s: %s\n%s: %s", t.source.Name(), taken, t.source.Name(), t.unknown(err))}
	case t.last > 0:
		taken += ", no job after it\n" + t.goOn()
	}
	return &noted{err, t.source.Name() + ": " + taken}
}

// goOn says how to enqueue the rest of the lines, and none twice.
func (t *taker) goOn() string {
	path := "FILE"
	if t.path != "" {
		path = shellQuoted(t.path)
	}
	return fmt.Sprintf("%s: to continue without duplicates, start with line %d: `tail -n +%d %s | redrive enqueue --file -`",
		t.source.Name(), t.last+1, t.last+1, path)
}

// unknown says which jobs may or may not have been enqueued, because the answer of the
// store was lost.
func (t *taker) unknown(err error) string {
	from, to := t.batch[0].line, t.batch[len(t.batch)-1].line
	lines := fmt.Sprintf("lines %d to %d", from, to)
	lost, ok := errors.AsType[*redrive.UnknownError](err)
	if !ok {
		return lines + " may or may not have been enqueued, all or none of them; look with `redrive jobs list`"
	}
	first, last := lost.IDs[0], lost.IDs[len(lost.IDs)-1]
	return fmt.Sprintf("%s, as jobs %d to %d, may or may not have been enqueued, all or none of them; look with "+
		"`redrive jobs show %d` and so on (a line whose key was known has no job of its own)", lines, first, last, first)
}
