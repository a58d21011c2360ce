// Package demo is the story that `redrive demo` plays: five systems on a real engine
// and a real file, an upstream that really fails, and a cause that is mended while
// its dead jobs are brought back.
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

// Options say how the demo runs.
type Options struct {
	Path string // of the database, which must not be there
	Jobs int    // JobsMin to JobsMax; 0 is JobsDefault
	Seed uint64 // picks the jobs that meet trouble; the same seed picks the same ones
	Fast bool   // shorter still, for tests: less to look at

	// Tool is the command of Tool, to which its arguments are added.
	Tool []string
	// Command is how this program is called, for the commands that the demo suggests.
	Command string

	Now    func() time.Time
	Out    io.Writer
	Screen Screen
}

// ErrInterrupted says that the context has ended before the story. What was taken in
// is in the file.
var ErrInterrupted = errors.New("the demo was interrupted")

// UntrueError says what of the story did not come true.
type UntrueError struct{ Missing []string }

func (e *UntrueError) Error() string {
	return "the demo did not go as it should:\n  " + strings.Join(e.Missing, "\n  ")
}

// Validate returns the first mistake of the options.
func (o *Options) Validate() error {
	if o.Jobs < JobsMin || o.Jobs > JobsMax {
		return fmt.Errorf("%d jobs: must be %d to %d", o.Jobs, JobsMin, JobsMax)
	}
	switch _, err := os.Lstat(o.Path); {
	case err == nil:
		return fmt.Errorf("%s is there already, and the demo needs a new file: name another one, or remove it", o.Path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// Run plays the story and writes to Out what happens, and at the end what came of it
// and how to look further. The error is an *UntrueError when something was missing,
// ErrInterrupted when ctx has ended, or that of the store or the machine.
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
	defer func() { _ = os.RemoveAll(tempDir) }() // the systems have emptied it
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
		err = s.judge(ctx)
	}
	if err == nil {
		err = s.summary(ctx)
	}
	if ctx.Err() != nil {
		err = ErrInterrupted
		s.view.say("", "Interrupted. What was taken in is kept: "+s.command("jobs list --state waiting,retrying,dead"))
	}
	return errors.Join(err, st.Close())
}
