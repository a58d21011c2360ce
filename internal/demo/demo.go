// Package demo is what `redrive demo` runs: five systems on a real engine and a real
// file, an upstream that really fails, and a cause that is repaired before its dead
// jobs are retried.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/redrive/redrive/store/sqlite"
)

// Options configures the demo.
type Options struct {
	Path string // path of the new database; no file may exist there
	Jobs int    // number of jobs, JobsMin to JobsMax; 0 means JobsDefault
	Seed uint64 // picks the jobs that get faults; the same seed picks the same jobs
	Fast bool   // shortens the waits further, for tests

	// Tool is the command line that calls Tool; arguments are appended to it.
	Tool []string
	// Command is the name of this program in the commands that the demo suggests.
	Command string

	Now    func() time.Time
	Out    io.Writer
	Screen Screen
}

// ErrInterrupted is returned when the context ends before the demo does. The jobs
// that were enqueued stay in the file.
var ErrInterrupted = errors.New("the demo was interrupted")

// UntrueError lists the expectations that the demo did not meet.
type UntrueError struct{ Missing []string }

func (e *UntrueError) Error() string {
	return "the demo did not go as expected:\n  " + strings.Join(e.Missing, "\n  ")
}

// Validate returns the first error in the options.
func (o *Options) Validate() error {
	if o.Jobs < JobsMin || o.Jobs > JobsMax {
		return fmt.Errorf("%d jobs: must be %d to %d", o.Jobs, JobsMin, JobsMax)
	}
	switch _, err := os.Lstat(o.Path); {
	case err == nil:
		return fmt.Errorf("%s exists already, and the demo needs a new file: choose another name, or remove the file", o.Path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// Run runs the demo. It writes to Out what happens, and at the end the results and
// commands to look further. It returns an *UntrueError when an expectation was not met,
// ErrInterrupted when ctx has ended, or an error of the store or the system.
func Run(ctx context.Context, o Options) error {
	if o.Jobs == 0 {
		o.Jobs = JobsDefault
	}
	if err := o.Validate(); err != nil {
		return err
	}
	tempDir, err := os.MkdirTemp("", "redrive-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tempDir) }() // the systems have removed its content
	st, err := sqlite.Open(ctx, o.Path, nil)
	if err != nil {
		return err
	}
	s, err := newStage(ctx, o, st, tempDir)
	if err != nil {
		return errors.Join(err, st.Close())
	}
	defer s.upstream.close()
	err = s.play(ctx)
	if err == nil {
		err = s.check(ctx)
	}
	if err == nil {
		err = s.summary(ctx)
	}
	if ctx.Err() != nil {
		err = ErrInterrupted
		s.view.say("", "Interrupted. The enqueued jobs are kept: "+s.command("jobs list --state waiting,retrying,dead"))
	}
	return errors.Join(err, st.Close())
}
