//go:build linux

package torture

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// library is a small program on the Go API as the tested program. Its handlers and clients write
// the ledgers themselves. It runs many jobs a second.
type library struct {
	site
	program string
	leases  time.Duration
}

func newLibrary(tt *torture, on site) *library {
	l := &library{on, filepath.Join(tt.dir, "worker"), 500 * time.Millisecond}
	tt.build(l.program, "./worker")
	return l
}

func (l *library) lease() time.Duration { return l.leases }

// slots is the number that the program gives its queue.
func (*library) slots() int { return 16 }

func (*library) holder(p *process, name string) bool { return p.name == name }

// exits reports whether the program may end with an exit code. The code must be 0, also after a
// stop at which the program has handed jobs back.
func (*library) exits(code int) bool { return code == 0 }

func (*library) ownTables() bool { return true }

func (l *library) points() []crashpoint.Point {
	return slices.DeleteFunc(slices.Concat(crashpoint.Points[:], crashpoint.BatchPoints[:]), func(p crashpoint.Point) bool { return !l.comesTo(p) })
}

func (l *library) command(r *round, name string, args ...string) (*exec.Cmd, error) {
	return exec.Command(l.program, slices.Concat([]string{"-database", r.database, "-name", name,
		"-lease", l.lease().String(), "-ledger", r.ledger(name)}, args)...), nil
}

func (l *library) worker(r *round, name string) (*exec.Cmd, error) { return l.command(r, name) }

func (l *library) drain(r *round, name string) (*exec.Cmd, error) {
	return l.command(r, name, "-drain")
}

func (l *library) client(r *round, name string, o intake) (*exec.Cmd, error) {
	args := []string{"-enqueue", fmt.Sprint(max(1, o.jobs)), "-seed", fmt.Sprint(o.seed), "-poison", fmt.Sprint(o.poison),
		"-again", r.ledger("*-" + client)}
	if o.jobs > 0 {
		args = append(args, "-once", "-backlog", "1000000")
	}
	return l.command(r, name, args...)
}

func (*library) finish(*round) error { return nil }

func (l *library) workerFaults() []fault {
	faults := append(l.site.workerFaults(),
		crashAt(crashpoint.BeforeClaimCommit, 6, 0),
		crashAt(crashpoint.AfterClaimCommit, 6, 0),
		crashAt(crashpoint.HandlerStart, 30, 0),
		crashAt(crashpoint.MidHandler, 30, 0),
		crashAt(crashpoint.BeforeSettleCommit, 6, 0),
		crashAt(crashpoint.AfterSettleCommit, 6, 0),
		crashAt(crashpoint.InCommit, 20, time.Millisecond),
		kill(), kill(), standStill(), standStill(), goodbye(), noFiles(),
	)
	for _, p := range crashpoint.BatchPoints {
		if l.comesTo(p) {
			faults = append(faults, crashAt(p, 2, 0))
		}
	}
	return faults
}

func (*library) clientFaults() []fault {
	return []fault{
		crashAt(crashpoint.BeforeEnqueueCommit, 8, 0),
		crashAt(crashpoint.AfterEnqueueCommit, 8, 0),
		crashAt(crashpoint.InCommit, 16, time.Millisecond),
		kill(),
	}
}
