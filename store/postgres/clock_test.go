package postgres

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
)

// machine is a machine with its two clocks.
type machine struct {
	begin           time.Time
	wall, monotonic time.Duration
}

func newMachine() (*machine, *clock) {
	m := &machine{begin: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	seen := map[time.Time]time.Duration{}
	c := &clock{
		local: func() time.Time {
			r := m.begin.Add(m.wall)
			seen[r] = m.monotonic
			return r
		},
		between: func(from, to time.Time) time.Duration { return seen[to] - seen[from] },
	}
	return m, c
}

func (m *machine) pass(d time.Duration)  { m.wall += d; m.monotonic += d }
func (m *machine) sleep(d time.Duration) { m.wall += d }

// ask has the clock ask a server that is ahead of the machine by some time.
func (m *machine) ask(c *clock, ahead, trip time.Duration) (behind bool) {
	sent := c.local()
	m.pass(trip / 2)
	server := job.At(m.begin.Add(m.wall + ahead))
	m.pass(trip - trip/2)
	return c.sample(sent, c.local(), server)
}

// part of: Q10
func TestClockFollowsTheServer(t *testing.T) {
	t.Parallel()
	m, c := newMachine()
	m.ask(c, time.Hour, 10*time.Millisecond)
	m.pass(400 * time.Millisecond)
	if got, want := c.Now(), job.At(m.begin.Add(m.wall+time.Hour)); got != want {
		t.Errorf("%d µs off the server's clock", got.Sub(want).Microseconds())
	}
	if _, jumped := c.SinceJump(); jumped {
		t.Error("jumped by itself")
	}
}

// The machine's own clock may be set at will.
func TestClockDoesNotMindTheMachine(t *testing.T) {
	t.Parallel()
	m, c := newMachine()
	m.ask(c, 0, time.Millisecond)
	before := c.Now()
	m.sleep(-time.Hour) // set back
	m.pass(100 * time.Millisecond)
	if got := c.Now().Sub(before); got != 100*time.Millisecond {
		t.Errorf("%s passed, want 100ms", got)
	}
}

// part of: Q3
func TestQ3_SleepAndJumpsOfTheServerAreSeen(t *testing.T) {
	t.Parallel()
	m, c := newMachine()
	m.ask(c, 0, time.Millisecond)
	m.sleep(time.Hour) // suspended; the server went on
	if !m.ask(c, 0, time.Millisecond) {
		t.Error("an hour behind, and nothing is to begin anew")
	}
	if ago, jumped := c.SinceJump(); !jumped || ago != 0 {
		t.Errorf("after a suspended hour: %s, %v", ago, jumped)
	}
	if got, want := c.Now(), job.At(m.begin.Add(m.wall)); got != want {
		t.Errorf("%s off", got.Sub(want))
	}
	m.pass(5 * time.Second)
	m.ask(c, time.Hour, 0) // the server's clock was set forward
	if ago, jumped := c.SinceJump(); !jumped || ago != 0 {
		t.Errorf("after the server's jump: %s, %v", ago, jumped)
	}
	c.Now()
	m.pass(time.Second)
	if m.ask(c, 0, 0) { // and back
		t.Error("ahead of the server, and something is to begin anew")
	}
	if ago, jumped := c.SinceJump(); !jumped || ago != 0 {
		t.Errorf("after the server's clock was set back: %s, %v", ago, jumped)
	}
	if at := c.ahead(); at != c.Now() {
		t.Errorf("ahead of the server's clock at %d, want %d", at, c.Now())
	}
	before := c.Now()
	m.pass(10 * time.Second)
	if got := c.Now().Sub(before); got != 5*time.Second {
		t.Errorf("%s in 10 s after the server's clock was set back, want half", got)
	}
}

// A slow answer says less about the server's clock than a fast one.
func TestClockPrefersFastAnswers(t *testing.T) {
	t.Parallel()
	m, c := newMachine()
	m.ask(c, 0, 2*time.Millisecond)
	sent := c.local()
	server := job.At(m.begin.Add(m.wall)) // read at once, and the way back took long
	m.pass(800 * time.Millisecond)
	c.sample(sent, c.local(), server)
	if got, want := c.Now(), job.At(m.begin.Add(m.wall)); got != want {
		t.Errorf("%s off after a slow answer", got.Sub(want))
	}
}

// The answer to many statements takes long and was read at their beginning: it
// bends nothing but what cannot be right.
func TestClockBendsToSlowAnswersOnlyAsFarAsItMust(t *testing.T) {
	t.Parallel()
	m, c := newMachine()
	m.ask(c, 0, time.Millisecond)
	slow := func(ahead time.Duration) {
		m.pass(10 * time.Second)
		sent, server := c.local(), job.At(m.begin.Add(m.wall+ahead))
		m.pass(2 * time.Second)
		if c.sample(sent, c.local(), server) {
			t.Errorf("%s ahead and an answer in 2 s are taken for a jump", ahead)
		}
	}
	slow(0)
	if got, want := c.Now(), job.At(m.begin.Add(m.wall)); got != want {
		t.Errorf("%s off after a slow answer that fits", got.Sub(want))
	}
	slow(2*time.Second + 300*time.Millisecond)
	if got, want := c.Now(), job.At(m.begin.Add(m.wall+300*time.Millisecond)); got != want {
		t.Errorf("%s off after a slow answer that shows that the clock is 300 ms behind", got.Sub(want))
	}
}

// part of: Q2
func TestQ2_ClockNeverRunsBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m, c := newMachine()
		last := c.Now()
		for range 30 {
			duration := func(name string, most time.Duration) time.Duration {
				return time.Duration(rapid.Int64Range(0, int64(most)).Draw(rt, name))
			}
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				m.pass(duration("passed", time.Hour))
			case 1:
				m.sleep(duration("slept", time.Hour))
			case 2:
				m.ask(c, duration("ahead", time.Hour)-30*time.Minute, duration("trip", time.Second))
			case 3:
				c.Floor(last.Add(duration("stored", time.Minute)))
			}
			got := c.Now()
			if got < last {
				rt.Fatalf("from %d back to %d", last, got)
			}
			last = got
		}
	})
}
