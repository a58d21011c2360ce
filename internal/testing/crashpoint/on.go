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

// Enabled reports whether the program was built with the tag "crashpoint".
const Enabled = true

// Hit kills the process if the environment names this point, and the process has reached the point
// as often as the environment says.
func Hit(p Point) {
	if t := armed(); t != nil && t.passes(p) == 0 {
		<-time.After(t.delay)
		t.die()
	}
}

// Span begins a span of time in which the process may be killed. The returned function ends the
// span.
func Span(p Point) (end func()) {
	t := armed()
	if t == nil || t.passes(p) > 0 {
		return func() {}
	}
	timer := time.AfterFunc(t.delay, t.die)
	return func() { timer.Stop() }
}

// target is the point at which the process is to be killed.
type target struct {
	point Point
	delay time.Duration
	left  atomic.Int64 // how many times the process must still reach the point before it is killed
}

// passes records that the process has reached a point. It returns how many times the process must
// still reach it before it is killed.
func (t *target) passes(p Point) int64 {
	if p != t.point {
		return math.MaxInt64
	}
	return t.left.Add(-1)
}

// die writes the point to standard error and kills the process. The line distinguishes this kill
// from any other.
func (t *target) die() {
	fmt.Fprintln(os.Stderr, KilledPrefix, t.point)
	kill()
}

// armed returns the target that the environment names, or nil. It is read once per process.
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
	if all := slices.Concat(Points[:], ServerPoints[:], StreamPoints[:]); !slices.Contains(all, Point(name)) {
		return nil, fmt.Errorf("%q is not a crash point; use one of %v", name, all)
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
