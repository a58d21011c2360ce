package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redrive/redrive"
)

// The environment variables with which the processes of the example share a clock.
const (
	epochVar  = "WATERMARK_EPOCH"  // the time at which the clocks agree, in microseconds since 1970
	factorVar = "WATERMARK_FACTOR" // how many times faster than real time
)

// fast is a clock that runs faster than real time by a factor, so that waits of minutes can be
// watched. Processes with the same epoch and factor have the same time. Real programs do not need it.
type fast struct {
	epoch  time.Time
	factor time.Duration
}

// newFast returns the clock that the environment describes, or one that begins now.
func newFast(factor int, getenv func(string) string) (*fast, error) {
	epoch := time.Now()
	if text := getenv(epochVar); text != "" {
		micros, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s %q: must be microseconds since 1970", epochVar, text)
		}
		epoch = time.UnixMicro(micros)
	}
	if text := getenv(factorVar); text != "" {
		var err error
		if factor, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%s %q: must be a number", factorVar, text)
		}
	}
	if factor < 1 || factor > 1000 {
		return nil, fmt.Errorf("the clock is %d times as fast as real time: 1 to 1000 are allowed", factor)
	}
	return &fast{time.UnixMicro(epoch.UnixMicro()), time.Duration(factor)}, nil
}

// environ returns the environment of a process that shares the clock.
func (f *fast) environ() []string {
	return append(os.Environ(), epochVar+"="+strconv.FormatInt(f.epoch.UnixMicro(), 10), factorVar+"="+strconv.Itoa(int(f.factor)))
}

// Now returns the time of this clock.
func (f *fast) Now() time.Time { return f.epoch.Add(time.Since(f.epoch) * f.factor) }

// AfterFunc calls a function after a duration of this clock. The client uses it.
func (f *fast) AfterFunc(d time.Duration, call func()) redrive.Timer {
	return fastTimer{time.AfterFunc(d/f.factor, call), f.factor}
}

type fastTimer struct {
	*time.Timer
	factor time.Duration
}

func (t fastTimer) Reset(d time.Duration) bool { return t.Timer.Reset(d / t.factor) }
