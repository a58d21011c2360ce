//go:build crashpoint

package crashpoint

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Enabled says whether the program was built with the tag "crashpoint".
const Enabled = true

// Hit kills the process when its time at the point has come.
func Hit(p Point) {
	if t := armed(); t != nil && t.passes(p) == 0 {
		<-time.After(t.delay)
		t.die()
	}
}

// Span begins a span of time in which the process may be killed; the returned
// function ends it.
func Span(p Point) (end func()) {
	t := armed()
	if t == nil || t.passes(p) > 0 {
		return func() {}
	}
	timer := time.AfterFunc(t.delay, t.die)
	return func() { timer.Stop() }
}

// target is where the process is to die.
type target struct {
	point Point
	delay time.Duration
	left  atomic.Int64 // times that it still passes the point
}

// passes returns how many times the process will still pass the point.
func (t *target) passes(p Point) int64 {
	if p != t.point {
		return math.MaxInt64
	}
	return t.left.Add(-1)
}

// die says so on standard error, which tells this death from any other, and
// kills the process.
func (t *target) die() {
	fmt.Fprintln(os.Stderr, LastWords, t.point)
	kill()
}

// armed returns the target that the environment names, nil when it names none.
// It is read once: a process dies once.
var armed = sync.OnceValue(func() *target {
	value := os.Getenv(Variable)
	if value == "" {
		return nil
	}
	t, err := parse(value)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Variable, err)
		os.Exit(2)
	}
	return t
})

func parse(value string) (*target, error) {
	name, rest, _ := strings.Cut(value, ":")
	if !slices.Contains(Points[:], Point(name)) {
		return nil, fmt.Errorf("%q is no crash point: one of %v", name, Points)
	}
	t := &target{point: Point(name)}
	times, delay, timed := strings.Cut(rest, ":")
	n := 1
	var err error
	if times != "" {
		if n, err = strconv.Atoi(times); err != nil || n < 1 {
			return nil, fmt.Errorf("%q: the number of times must be a positive whole number", value)
		}
	}
	if timed {
		if t.delay, err = time.ParseDuration(delay); err != nil || t.delay < 0 {
			return nil, fmt.Errorf("%q: the delay must be a duration such as 700us", value)
		}
	}
	t.left.Store(int64(n))
	return t, nil
}
