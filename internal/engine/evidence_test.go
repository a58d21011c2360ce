//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/tempdir"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
)

// deaf is a shell command that ignores SIGTERM and has a child process that ignores it too.
const deaf = `trap "" TERM; echo partial output >&2; (while :; do sleep 1; done) & echo started; wait`

// gang is a running shell command that ignores SIGTERM, and the pipe that its processes hold open.
type gang struct {
	read, write *os.File
	cmd         *exec.Cmd
}

func newGang(t *testing.T) *gang {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return &gang{read: read, write: write}
}

// start starts the command and waits until both of its processes run.
func (g *gang) start(ctx context.Context, run *engine.Run) (*exec.Cmd, error) {
	cmd := run.Command(ctx, "sh", "-c", deaf)
	g.cmd = cmd
	cmd.Stdout = g.write
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line := make([]byte, len("started\n"))
	if _, err := io.ReadFull(g.read, line); err != nil || string(line) != "started\n" {
		return nil, fmt.Errorf("the command wrote %q and the error is %w, want \"started\" and no error", line, err)
	}
	return cmd, nil
}

// wantGone fails the test if a process of the command is still alive.
func (g *gang) wantGone(t *testing.T) {
	t.Helper()
	g.write.Close()
	if err := g.read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // The deadline is needed because the command never ends without a signal.
		t.Fatal(err)
	}
	if _, err := g.read.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading from the command: got the error %v, want EOF: one of its processes is still alive", err)
	}
}

// proves: Q5, T2
func TestQ5_TheTimeLimitKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	g, clock := newGang(t), &skipClock{}
	const limit = 10 * time.Minute
	r := newRig(t, func(ctx context.Context, run *engine.Run) error {
		cmd, err := g.start(ctx, run)
		if err != nil {
			return err
		}
		clock.skip(limit) // Skip the time, so that the test does not depend on how fast the shell starts.
		return cmd.Wait()
	}, func(c *engine.Config) {
		c.Clock, c.Lease = clock, 6*limit
		c.Kinds[0].Timeout, c.Kinds[0].KillGrace = limit, 100*time.Millisecond
	})
	ids := r.enqueue(1)
	r.start()
	r.idle()
	g.wantGone(t)
	r.wantState(job.Retrying, ids...)
	f := r.failures(ids[0])
	if len(f) != 1 || f[0].How != job.ByTimeout || string(f[0].Stderr) != "partial output\n" {
		t.Errorf("got the failures %+v, want one failure by timeout with its stderr", f)
	}
	if err := r.finish(); err != nil {
		t.Error(err)
	}
}

// After the end of a run, the run refuses to start commands. This is also true while the engine
// reads the evidence of the run.
//
// part of: Q5
func TestQ5_ACommandAfterTheRunIsRefused(t *testing.T) {
	t.Parallel()
	late, idle := make(chan error, 1), make(chan struct{})
	r := newRig(t, func(_ context.Context, run *engine.Run) error {
		run.Command(context.Background(), "true")
		go func() {
			// The engine reads the evidence during these calls. There are many calls, so that
			// the race detector can find a race.
			for range 1000 {
				run.Command(context.Background(), "true")
			}
			<-idle
			late <- run.Command(context.Background(), "true").Start()
		}()
		return nil
	}, nil)
	ids := r.enqueue(1)
	r.start()
	r.idle()
	close(idle)
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("a command after the end of the run: got the error %v, want context.Canceled", err)
	}
	r.wantState(job.Completed, ids...)
	if err := r.finish(); err != nil {
		t.Error(err)
	}
}

// Processes that a handler leaves behind are killed when the handler returns, and also when
// its run ends before it returns.
func TestACommandDoesNotOutliveItsRun(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		t.Run(fmt.Sprintf("stuck %t", stuck), func(t *testing.T) {
			t.Parallel()
			g := newGang(t)
			release := make(chan struct{})
			r := newRig(t, func(_ context.Context, run *engine.Run) error {
				_, err := g.start(context.Background(), run)
				if stuck && run.Claim.Token == 1 {
					<-release
				}
				return err
			}, func(c *engine.Config) {
				c.Kinds[0].Timeout, c.Kinds[0].KillGrace = time.Minute, 10*time.Millisecond
				if stuck {
					c.Kinds[0].Timeout = 200 * time.Millisecond
				}
			})
			ids := r.enqueue(1)
			r.start()
			r.idle()
			g.wantGone(t)
			r.wantState(map[bool]job.State{false: job.Completed, true: job.Retrying}[stuck], ids...)
			close(release)
			_ = r.finish()
			_ = g.cmd.Wait() // Package exec keeps a goroutine until Wait is called.
		})
	}
}

// newDirs makes a base for temp directories and returns it with its path.
func newDirs(t *testing.T) (*tempdir.Base, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base")
	base, err := tempdir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	return base, path
}

func entries(t *testing.T, path string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// proves: T1
func TestT1_TheTempDirIsRemovedHoweverARunEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(ctx context.Context) error
	}{
		{"success", func(context.Context) error { return nil }},
		{"failure", func(context.Context) error { return errDead }},
		{"panic", func(context.Context) error { panic("boom") }},
		{"time limit", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, path := newDirs(t)
			var used atomic.Value
			r := newRig(t, func(ctx context.Context, run *engine.Run) error {
				dir, err := run.TempDir()
				if err != nil {
					return err
				}
				again, err := run.TempDir()
				if err != nil || again != dir {
					t.Errorf("the second call of TempDir: got %q with error %v, want the same directory", again, err)
				}
				used.Store(dir)
				if err := os.WriteFile(filepath.Join(dir, "part"), []byte("x"), 0o600); err != nil {
					return err
				}
				return tt.end(ctx)
			}, func(c *engine.Config) { c.Dirs, c.Kinds[0].Timeout = base, 200*time.Millisecond })
			ids := r.enqueue(1)
			r.start()
			r.idle()
			// The clean-up at the start may use the name job-N for a moment. So the name of the
			// directory may have a further number at its end.
			if dir, want := used.Load().(string), filepath.Join(path, fmt.Sprintf("job-%d", ids[0])); !strings.HasPrefix(dir, want) {
				t.Errorf("got the directory %q, want a directory whose path begins with %q", dir, want)
			}
			if err := r.finish(); err != nil {
				t.Error(err)
			}
			if left := entries(t, path); len(left) != 0 {
				t.Errorf("got the files %q after the run, want none", left)
			}
		})
	}
}

// The directory stays until the outcome is stored. If the commit is lost, people can look
// at the files.
//
// part of: T1
func TestT1_TheTempDirStaysUntilTheOutcomeIsStored(t *testing.T) {
	t.Parallel()
	base, path := newDirs(t)
	var faults *faultstore.Store
	tried := make(chan struct{}, 100)
	r := newRig(t, func(_ context.Context, run *engine.Run) error {
		_, err := run.TempDir()
		faults.Set(func(c faultstore.Call) faultstore.Fault {
			if c.Method == "Exchange" {
				tried <- struct{}{}
				return faultstore.Fault{Before: store.ErrFull}
			}
			return faultstore.Fault{}
		})
		return err
	}, func(c *engine.Config) { faults, c.Dirs = faulty(c, nil), base })
	r.enqueue(1)
	r.start()
	<-tried
	<-tried
	if got := entries(t, path); len(got) != 1 {
		t.Errorf("got the files %q while the outcome waits, want the directory of the run", got)
	}
	faults.Set(nil)
	r.idle()
	_ = r.finish()
	if got := entries(t, path); len(got) != 0 {
		t.Errorf("got the files %q after the outcome was stored, want none", got)
	}
}

// part of: T1
func TestT1_TheTempDirIsRemovedWhenTheOutcomeIsGivenUp(t *testing.T) {
	t.Parallel()
	base, path := newDirs(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, run *engine.Run) error { _, err := run.TempDir(); return err },
			func(c *engine.Config) {
				faulty(c, faultstore.From("Exchange", 2, faultstore.Fault{Before: store.ErrUnavailable}))
				c.Dirs = base
			})
		r.enqueue(1)
		r.start()
		synctest.Wait()
		if err := r.finish(); err == nil {
			t.Error("Run returned no error, want an error about the outcome that was given up")
		}
	})
	if left := entries(t, path); len(left) != 0 {
		t.Errorf("got the files %q after the stop, want none", left)
	}
}

// proves: T1
func TestT1_OldDirectoriesAreRemovedAtTheStart(t *testing.T) {
	t.Parallel()
	base, path := newDirs(t)
	if err := os.Mkdir(filepath.Join(path, "job-77"), 0o700); err != nil {
		t.Fatal(err)
	}
	logs := &logs{}
	swept := logs.expect("removed temp directories")
	r := newRig(t, func(context.Context, *engine.Run) error { return nil },
		func(c *engine.Config) { c.Dirs, c.Logger = base, logs.logger() })
	r.start()
	<-swept
	_ = r.finish()
	if left := entries(t, path); len(left) != 0 {
		t.Errorf("got the files %q after the start, want none", left)
	}
}

func TestWithoutABaseThereIsNoTempDir(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, run *engine.Run) error { _, err := run.TempDir(); return err }, nil)
		ids := r.enqueue(1)
		r.start()
		r.idle()
		if f := r.failures(ids[0]); len(f) != 1 || !strings.Contains(f[0].Message, "no base for temp directories") {
			t.Errorf("got the failures %+v, want one failure about the missing base directory", f)
		}
		_ = r.finish()
	})
}

// proves: T2
func TestT2_TheEndOfStderrIsEvidence(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(ctx context.Context, run *engine.Run) error {
		return run.Command(ctx, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3").Run()
	}, nil)
	ids := r.enqueue(1)
	r.start()
	r.idle()
	f := r.failures(ids[0])
	if len(f) != 1 || len(f[0].Stderr) != job.EvidenceMax || !bytes.HasSuffix(f[0].Stderr, []byte("xthe end\n")) {
		t.Errorf("got %d failures and a stderr of %d bytes, want one failure with the last bytes of stderr", len(f), len(f[0].Stderr))
	}
	_ = r.finish()
}

// A handler may write the success of its run in a transaction. The run has succeeded only
// if that transaction was committed.
func TestASuccessInATransactionIsVerified(t *testing.T) {
	for _, tt := range []struct {
		name    string
		commits bool
		err     error
		want    job.State
	}{
		{"committed", true, nil, job.Completed},
		{"committed, and failed after it", true, errDead, job.Completed},
		{"rolled back", false, nil, job.Retrying},
		{"rolled back, and said so", false, errDead, job.Dead},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r = newRig(t, func(ctx context.Context, run *engine.Run) error {
					run.AddCost(9)
					if err := run.SetResult([]byte("in tx")); err != nil {
						return err
					}
					run.SettledInTx()
					if tt.commits {
						x := store.Exchange{Holder: "tx", Lease: time.Second, Settle: []job.Outcome{run.Success()}}
						if answer, err := r.store.Exchange(ctx, x); err != nil || answer.Settled[0] != nil {
							t.Errorf("committing the success: got the answer %v and the error %v, want none", answer.Settled, err)
						}
					}
					// The engine sends several heartbeats during this wait.
					if err := sleep(ctx, 30*time.Second); err != nil {
						t.Errorf("the context of the run ended with %v, want it open", err)
					}
					return tt.err
				}, nil)
				ids := r.enqueue(1)
				r.start()
				r.idle()
				r.wantState(tt.want, ids...)
				if j := r.get(ids[0]); tt.commits && (string(j.Result) != "in tx" || j.Cost != 9) {
					t.Errorf("got the result %q and the cost %d, want the result and the cost that the transaction has written", j.Result, j.Cost)
				}
				if f := r.failures(ids[0]); tt.commits != (len(f) == 0) {
					t.Errorf("the transaction commits: %t: got the failures %+v, want none if it commits, and one if not", tt.commits, f)
				} else if !tt.commits && tt.err == nil && !strings.Contains(f[0].Message, "did not commit") {
					t.Errorf("got the failure %q, want a text that mentions the transaction", f[0].Message)
				}
				_ = r.finish()
			})
		})
	}
}
