// Package demo implements the command `redrive demo`. Five systems run jobs on a real
// engine and a real file. They call an upstream that really fails. Then the cause of some
// failures is repaired, and the dead jobs are retried.
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
	Jobs int    // the number of jobs, from JobsMin to JobsMax; 0 means JobsDefault
	Seed uint64 // the seed that selects the jobs with faults; the same seed selects the same jobs
	Fast bool   // whether all waits are made even shorter, for tests

	// Tool is the command line that runs the function Tool. Arguments are appended to it.
	Tool []string
	// Command is the name of this program in the commands that the demo suggests.
	Command string

	Now    func() time.Time
	Out    io.Writer
	Screen Screen
}

// ErrInterrupted is returned if the context ends before the demo ends. The enqueued jobs
// stay in the file.
var ErrInterrupted = errors.New("the demo was interrupted")

// UntrueError lists the expectations that the demo did not meet.
type UntrueError struct{ Missing []string }

func (e *UntrueError) Error() string {
	return "the demo did not go as expected:\n  " + strings.Join(e.Missing, "\n  ")
}

// Validate returns an error for the first invalid option.
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

// Run runs the demo. It writes the progress to Out, and at the end the results and some
// commands for looking at them. It returns an *UntrueError if an expectation was not met,
// ErrInterrupted if ctx has ended, or an error of the store or the system.
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
	defer func() { _ = os.RemoveAll(tempDir) }() // no error check: the systems have already removed the contents of the folder
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
