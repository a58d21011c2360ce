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

	"github.com/redrive/redrive/internal/testing/crashpoint"
)

// fault is a fault of a process. It starts a process, causes the fault, and returns when the
// process has ended.
type fault struct {
	name string
	do   func(s *slot) (happened bool)
}

// slot runs processes one after the other.
type slot struct {
	*round
	role    string
	command func(name string) (*exec.Cmd, error)
	rand    *rand.Rand
	up      func(*process)  // called when a process is ready; nil does nothing
	over    <-chan struct{} // closed at the end of the cycle; nil for workers, because the cycle ends after their faults
}

// workers returns a slot in which workers run.
func (r *round) workers(place ...int) *slot {
	return &slot{round: r, role: work, rand: r.random(append(place, r.n)...),
		command: func(name string) (*exec.Cmd, error) { return r.program.worker(r, name) }}
}

func (s *slot) start(point string) *process { return s.round.start(s.role, point, s.command) }

// between returns a random duration between low and high.
func (s *slot) between(low, high time.Duration) time.Duration {
	return low + time.Duration(s.rand.Int64N(int64(high-low)))
}

// within returns a random duration below the given one. Short durations are more likely, because
// fast machines reach the point of the fault much earlier than slow ones.
func (s *slot) within(most time.Duration) time.Duration {
	return s.between(0, most) >> s.rand.IntN(8)
}

// pointValue returns the value of the environment variable that kills a process at a point.
func pointValue(p crashpoint.Point, times int, delay time.Duration) string {
	return fmt.Sprintf("%s:%d:%s", p, times, delay)
}

// startsAndDies starts a process and reports whether it died at the crash point before it was ready.
func (s *slot) startsAndDies(p crashpoint.Point, delay time.Duration) bool {
	w := s.start(pointValue(p, 1, delay))
	s.comesUp(w)
	return w.kill() == string(p)
}

// crashAt makes a fault that kills a process at one of the first passes of a crash point, after a
// random wait. The two numbers limit the number of passes and the length of the wait.
func crashAt(p crashpoint.Point, times int, delay time.Duration) fault {
	return fault{string(p), func(s *slot) bool {
		after := time.Duration(0)
		if delay > 0 {
			after = s.within(delay)
		}
		w := s.start(pointValue(p, 1+s.rand.IntN(times), after))
		if s.comesUp(w) {
			s.endsOrOver(w, pointPatience+s.program.lease())
		}
		return w.kill() == string(p)
	}}
}

// pointPatience plus a lease is the longest time in which a ready process may reach a crash point.
// After that the next fault follows.
const pointPatience = 10 * time.Second

// endsOrOver waits until the process ends, the cycle ends, or the time d is over.
func (s *slot) endsOrOver(p *process, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	case <-s.over:
	}
}

// comesUp waits until a process is ready, and reports whether it is. It returns false if the
// process or the cycle ends first.
func (s *slot) comesUp(p *process) bool {
	const look = 5 * time.Millisecond
	for begun := time.Now(); !p.isUp(); {
		if time.Since(begun) > patience {
			p.hang("was not ready")
		}
		if p.endsWithin(look) || waitOr(s.over, 0) {
			return false
		}
	}
	if s.up != nil {
		s.up(p)
	}
	return true
}

// runs lets a process run for a while. The time mostly begins when the process is ready, and
// sometimes at its start.
func (s *slot) runs(w *process, low, high time.Duration) {
	if s.rand.IntN(4) > 0 {
		s.comesUp(w)
	}
	s.endsOrOver(w, s.between(low, high))
}

func kill() fault {
	return fault{"kill", func(s *slot) bool {
		w := s.start("")
		s.runs(w, s.program.lease()/8, s.program.lease()/2)
		w.kill()
		return true
	}}
}

// untouched makes a fault that does nothing: the process ends by itself.
func untouched() fault {
	return fault{"untouched", func(s *slot) bool {
		w := s.start("")
		s.endsOrOver(w, patience)
		w.kill()
		return true
	}}
}

// standStill makes a fault that pauses a process for longer than its leases and then resumes it.
func standStill() fault {
	return fault{"stand still", func(s *slot) bool {
		w := s.start("")
		s.comesUp(w)
		w.endsWithin(s.between(100*time.Millisecond, 300*time.Millisecond))
		w.disturb()
		over := s.troubled("process stopped") // it may have stopped in a commit, which holds up other processes
		w.signal(syscall.SIGSTOP)
		w.endsWithin(s.between(s.program.lease()*3/2, s.program.lease()*2))
		w.signal(syscall.SIGCONT)
		over()
		s.faulted("stand still")
		for range 20 { // the wait has a limit, because the redrive command does not log that it was paused
			if w.endsWithin(s.between(50*time.Millisecond, 100*time.Millisecond)) || w.says(awake) {
				break
			}
		}
		if s.rand.IntN(2) == 0 {
			w.stop()
		} else {
			w.kill()
		}
		return true
	}}
}

// goodbye makes a fault that stops a process gracefully.
func goodbye() fault {
	return fault{"goodbye", func(s *slot) bool {
		w := s.start("")
		s.runs(w, 100*time.Millisecond, 300*time.Millisecond)
		s.faulted("graceful stop")
		w.stop()
		return true
	}}
}

// shortFile makes a fault that limits the size of the process's files for a while. To SQLite this
// looks like a full disk.
func shortFile() fault {
	return fault{"short file", func(s *slot) bool {
		w := s.start("")
		s.comesUp(w)
		w.endsWithin(s.between(50*time.Millisecond, 200*time.Millisecond))
		// The limit leaves enough space for the worker's ledger, which has the same limit.
		limit := max(size(s.database+"-wal")+4<<10, size(s.ledger(w.name))+128<<10)
		w.starved = true
		w.disturb()
		if w.limitFiles(uint64(limit)) {
			s.faulted("short file")
		}
		w.endsWithin(s.between(100*time.Millisecond, 300*time.Millisecond))
		w.limitFiles(unix.RLIM_INFINITY)
		w.endsWithin(s.between(50*time.Millisecond, 200*time.Millisecond))
		w.stop()
		return true
	}}
}

// limitFiles sets the largest size of the process's files. It changes the soft limit only, so that
// the limit can be raised again.
func (p *process) limitFiles(bytes uint64) bool {
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	return p.cmd.Process != nil && unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil) == nil
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// bag gives out faults in random order, and gives out all of them before it repeats one.
type bag struct {
	all, left []fault
	rand      *rand.Rand
}

func newBag(seed uint64, all ...fault) *bag {
	return &bag{all: all, rand: rand.New(rand.NewPCG(seed, uint64(len(all))))}
}

// suffer runs the given number of faults, which it takes from a bag.
func (s *slot) suffer(b *bag, faults int) {
	for range faults {
		s.insist("a fault", func() bool { return s.next(b) })
	}
}

// insist calls the given function until it returns true or the test has failed. If this takes
// longer than patience, insist fails the test.
func (s *slot) insist(what string, try func() bool) {
	for begun := time.Now(); !try() && !s.Failed(); {
		if time.Since(begun) > patience {
			s.Errorf("round %d: %s did not happen within %s", s.n, what, patience)
			return
		}
	}
}

// next runs the next fault of a bag and reports whether it happened. If the process never reached
// the point, the fault goes back into the bag.
func (s *slot) next(b *bag) bool {
	f := s.draw(b)
	if f.do(s) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.left = append(b.left, f)
	return false
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
