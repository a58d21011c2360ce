package powercut

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	statesFlag = flag.Int("powercut.states", 1000, "number of states of the disk to check")
	seedFlag   = flag.Uint64("powercut.seed", 0, "seed of the cuts; 0 takes one from the clock")
)

// statesPerRecord is the largest number of states that come from one record, so that long runs see
// many records.
const statesPerRecord = 10_000

// state is one state to check.
type state struct {
	n     int
	image image
	loss  loss
	after int // number of operations before the cut
	last  op
}

// finding is a state with its problems.
type finding struct {
	state
	dir      string
	problems []string
}

func (f *finding) String() string {
	return fmt.Sprintf("state %d, cut after operation %d (kind %d, %s): %s; %s\n  %s", f.n, f.after, f.last.kind, f.last.name,
		f.loss, f.dir, strings.Join(f.problems[:min(10, len(f.problems))], "\n  "))
}

// cuts checks states after cuts at all points of a record, and returns the first findings. It stops
// after findings of the given number.
func cuts(t *testing.T, h history, states int, seed uint64, lies bool, enough int) (found []finding, checked int) {
	t.Helper()
	dir := memory(t)
	todo := make(chan state)
	var mu sync.Mutex
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for s := range todo {
				at := filepath.Join(dir, fmt.Sprint(s.n))
				problems := s.check(t, at)
				mu.Lock()
				checked++
				if len(problems) > 0 && len(found) < enough {
					found = append(found, finding{s, at, problems})
					stop.Store(len(found) >= enough)
				}
				mu.Unlock()
				if len(problems) == 0 || enough == states {
					_ = os.RemoveAll(at) // no error check: what stays is removed at the end of the test
				}
			}
		})
	}
	d := newDisk()
	d.lies = lies
	for n := 0; n < states && !stop.Load(); n++ {
		for d.done < h.begun+1+n*(len(h.ops)-h.begun)/states {
			d.do(&h.ops[d.done])
		}
		img, l := d.cut(rand.New(rand.NewPCG(seed, uint64(n))))
		todo <- state{n, img, l, d.done, h.ops[d.done-1]}
	}
	close(todo)
	workers.Wait()
	return found, checked
}

// check writes the state to a directory and verifies it.
func (s *state) check(t *testing.T, dir string) []string {
	if err := s.image.write(dir); err != nil {
		return []string{err.Error()}
	}
	return verify(t.Context(), dir, s.last.at, false)
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	t.Logf("seed %d", seed)
	return seed
}

// recordsInARow is the number of records of which each continues the work after a cut in the one before.
const recordsInARow = 4

// proves: Q10
func TestQ10_PowerCutsLoseNothing(t *testing.T) {
	seed := seedOf(t)
	programs := [...]string{build(t, smallLog), build(t)}
	share := min(statesPerRecord, (*statesFlag+1)/2)
	for done, n := 0, uint64(0); done < *statesFlag && !t.Failed(); {
		// The records of a row follow each other at once, because doctor complains about leases that
		// ended long ago. The checks take longer.
		row := make([]history, min(recordsInARow, (*statesFlag-done+share-1)/share))
		var from image
		for i := range row {
			row[i] = recorded(t, programs[i%2], seed+n+uint64(i), from)
			from = once(row[i], rand.New(rand.NewPCG(seed, n+uint64(i))))
		}
		for _, h := range row {
			begun := time.Now()
			ended(t, h, n)
			found, checked := cuts(t, h, share, seed+n, false, 5)
			for i := range found {
				t.Errorf("record %d: %s", n, &found[i])
			}
			t.Logf("record %d: %d operations, %d states in %s", n, len(h.ops), checked, time.Since(begun).Round(time.Millisecond))
			done, n = done+checked, n+1
		}
		if n == uint64(len(row)) {
			// A disk that ignores flushes loses jobs. So only the flushes keep them in the other states.
			wantLoss(t, row[0], seed, true)
		}
	}
}

// once returns the files after one cut in the middle of the work.
func once(h history, r *rand.Rand) image {
	d := newDisk()
	for n := h.begun + (len(h.ops)-h.begun)*(1+r.IntN(3))/4; d.done < n; {
		d.do(&h.ops[d.done])
	}
	img, _ := d.cut(r)
	return img
}

// ended checks the database after a record without a cut at its end: every job must have ended as
// planned, also those that an earlier cut has interrupted.
func ended(t *testing.T, h history, n uint64) {
	t.Helper()
	d := newDisk()
	for i := range h.ops {
		d.do(&h.ops[i])
	}
	img, _ := d.kept(loss{mode: all})
	dir := filepath.Join(memory(t), "ended")
	if err := img.write(dir); err != nil {
		t.Fatal(err)
	}
	if problems := verify(t.Context(), dir, h.ops[len(h.ops)-1].at, true); len(problems) > 0 {
		t.Errorf("the end of record %d: %s\n  %s", n, dir, strings.Join(problems, "\n  "))
	}
}

// A program that does not flush its commits loses jobs after a power cut, and the check finds it.
func TestPowerCutsFindCommitsWithoutAFlush(t *testing.T) {
	seed := seedOf(t)
	wantLoss(t, recorded(t, build(t, append(normal, smallLog)...), seed, nil), seed, false)
}

// wantLoss fails the test unless the check says of some state that an acknowledged enqueue or outcome
// is missing. The database is closed in the middle of a record, and SQLite flushes it then.
func wantLoss(t *testing.T, h history, seed uint64, lies bool) {
	t.Helper()
	const states = 200
	found, checked := cuts(t, h, states, seed, lies, states)
	for i := range found {
		for _, p := range found[i].problems {
			if strings.Contains(p, "was acknowledged") {
				t.Logf("%d of %d states are bad, such as %s", len(found), checked, &found[i])
				return
			}
		}
	}
	t.Fatalf("%d states after cuts at each point, and nothing of what was acknowledged is missing; want a loss", checked)
}
