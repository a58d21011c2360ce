//go:build linux

package processes

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/processes/line"
)

// A handler ignores its context and returns nil after the time limit of its run. The run succeeds
// if its process was suspended at the time limit, because the process gives up a run only some time
// after it has ended the context. If the process was not suspended, the run is a timeout.
//
// part of: Q5
func TestQ5_ASuccessAfterASuspensionIsASuccess(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second // the suspension must begin before the limit
	for name, suspended := range map[string]bool{"suspended": true, "not suspended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			returns := filepath.Join(t.TempDir(), "returns")
			receipt, err := f.client.Enqueue(t.Context(), redrive.NewRaw("deaf", []byte(returns), nil))
			if err != nil {
				t.Fatal(err)
			}
			p := f.start("process", "-kinds", "deaf", "-timeout", limit.String(), "-lease", "1h")
			begun := f.await("the job runs", func(lines []line.Line) bool { return count(lines, line.Begin, "") == 1 })
			if suspended {
				p.signal(syscall.SIGSTOP)
				<-time.After(time.Until(time.UnixMicro(begun[len(begun)-1].At).Add(limit + time.Second))) // wait until the time limit is over
				if err := os.WriteFile(returns, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				p.signal(syscall.SIGCONT)
			}
			var j job.Job
			f.stored("the run has ended", func() bool {
				if j, err = f.client.Get(t.Context(), receipt.ID); err != nil {
					t.Fatal(err)
				}
				return j.State != job.Waiting && j.State != job.Running
			})
			failures, err := f.client.Failures(t.Context(), receipt.ID)
			if err != nil {
				t.Fatal(err)
			}
			if suspended {
				if j.State != job.Completed || j.Counters.Attempts != 1 || len(failures) != 0 {
					t.Errorf("the job is %s after %d attempts and %d failures, want completed after 1 attempt", j.State, j.Counters.Attempts, len(failures))
				}
			} else if j.State != job.Retrying || len(failures) != 1 || failures[0].How != job.ByTimeout {
				t.Errorf("the job is %s, its failures are %+v; want a timeout that is retried", j.State, failures)
			}
		})
	}
}

func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}
