//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/internal/crashpoint"
)

// fault is something that happens to a process. It starts one, hurts it, and
// returns when it has ended.
type fault struct {
	name string
	do   func(s *slot) (happened bool)
}

// slot is a place in which one process runs after the other.
type slot struct {
	*round
	role    string
	command func(name string) *exec.Cmd
	rand    *rand.Rand
	over    <-chan struct{} // the cycle ends; nil for workers, whose faults it consists of
}

// workers returns a slot for workers.
func (r *round) workers(place ...int) *slot {
	return &slot{round: r, role: work, rand: r.random(append(place, r.n)...),
		command: func(name string) *exec.Cmd { return r.program.worker(r, name) }}
}

func (s *slot) start(point string) *process { return s.round.start(s.role, point, s.command) }

// between draws a duration.
func (s *slot) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.rand.Int64N(int64(high-low)))
}

// crashAt lets a process die at a point, at one of the first times that it comes
// there, and up to delay later.
func crashAt(p crashpoint.Point, times int, delay time.Duration) fault {
	return fault{string(p), func(s *slot) bool {
		value := fmt.Sprintf("%s:%d", p, 1+s.rand.IntN(times))
		if delay > 0 {
			value += ":" + s.between(0, delay).String()
		}
		w := s.start(value)
		if s.endsOrOver(w, pointPatience+s.program.lease()) {
			return w.book("kill") == string(p)
		}
		return w.kill() == string(p)
	}}
}

// pointPatience is how long a process may take to a crash point, beside a lease.
const pointPatience = 4 * time.Second

// endsOrOver waits for the end of a process, of the cycle or of its patience, and
// reports whether it was the process.
func (s *slot) endsOrOver(p *process, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
	case <-s.over:
	}
	return false
}

func kill() fault {
	return fault{"kill", func(s *slot) bool {
		w := s.start("")
		s.endsOrOver(w, s.between(s.program.lease()/8, s.program.lease()/2))
		w.kill()
		return true
	}}
}

// untouched lets a process come to its own end.
func untouched() fault {
	return fault{"untouched", func(s *slot) bool {
		w := s.start("")
		if s.endsOrOver(w, patience) {
			w.book("kill")
		} else {
			w.kill()
		}
		return true
	}}
}

// standStill stops a process for longer than its leases and lets it go on.
func standStill() fault {
	return fault{"stand still", func(s *slot) bool {
		w := s.start("")
		w.endsWithin(s.between(100*time.Millisecond, 300*time.Millisecond))
		w.signal(syscall.SIGSTOP)
		w.endsWithin(s.between(s.program.lease()*3/2, s.program.lease()*2))
		w.signal(syscall.SIGCONT)
		s.faulted("stand still")
		w.endsWithin(s.between(150*time.Millisecond, 300*time.Millisecond))
		if s.rand.IntN(2) == 0 {
			w.stop()
		} else {
			w.kill()
		}
		return true
	}}
}

// goodbye stops a process gracefully.
func goodbye() fault {
	return fault{"goodbye", func(s *slot) bool {
		w := s.start("")
		w.endsWithin(s.between(100*time.Millisecond, 300*time.Millisecond))
		s.faulted("graceful stop")
		w.stop()
		return true
	}}
}

// shortFile forbids a process for a while to let its files grow, which to SQLite
// is like a disk that fills up and is freed again.
func shortFile() fault {
	return fault{"short file", func(s *slot) bool {
		w := s.start("")
		w.endsWithin(s.between(100*time.Millisecond, 250*time.Millisecond))
		// The worker's own ledger must still fit.
		limit := max(size(s.database+"-wal")+4<<10, size(s.ledger(w.name))+128<<10)
		s.starve(func() {
			if w.limitFiles(uint64(limit)) {
				s.faulted("short file")
			}
			w.endsWithin(s.between(100*time.Millisecond, 300*time.Millisecond))
			w.limitFiles(unix.RLIM_INFINITY)
			w.endsWithin(s.between(50*time.Millisecond, 200*time.Millisecond))
			w.stop()
		})
		return true
	}}
}

// limitFiles sets how long the process's files may become. The hard limit stays,
// so that the soft one can be raised again.
func (p *process) limitFiles(bytes uint64) bool {
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	return unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil) == nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// starve runs f while processes may fail for want of space.
func (r *round) starve(f func()) {
	r.starving.Lock()
	defer r.starving.Unlock()
	r.starved.Store(true)
	defer r.starved.Store(false)
	f()
}

// bag gives out faults in random order, each once before any comes again.
type bag struct {
	all, left []fault
	rand      *rand.Rand
}

func newBag(seed uint64, all ...fault) *bag {
	return &bag{all: all, rand: rand.New(rand.NewPCG(seed, uint64(len(all))))}
}

// next lets the next fault of a bag happen. One that did not, because its process
// never came to the point, goes back.
func (s *slot) next(b *bag) {
	f := s.draw(b)
	if !f.do(s) {
		s.mu.Lock()
		defer s.mu.Unlock()
		b.left = append(b.left, f)
	}
}

func (tt *torture) draw(b *bag) fault {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	if len(b.left) == 0 {
		b.left = append(b.left, b.all...)
		b.rand.Shuffle(len(b.left), func(i, j int) { b.left[i], b.left[j] = b.left[j], b.left[i] })
	}
	f := b.left[0]
	b.left = b.left[1:]
	return f
}
