package selfbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive"
)

// Load describes the load of one measured run.
type Load struct {
	Jobs      int
	Workers   int
	Producers int
	Payload   int // size of a payload in bytes
	Rounds    int // number of measured rounds; the result is their median
}

// LoadDefault is the load of the published figures: 200-byte payloads, handlers
// that do nothing, 100 workers and 100 producers.
var LoadDefault = Load{Jobs: 100_000, Workers: 100, Producers: 100, Payload: 200, Rounds: 3}

// Result is one measured rate.
type Result struct {
	Name      string    `json:"name"`
	PerSecond float64   `json:"per_second"` // jobs or attempts a second in the median round
	Rounds    []float64 `json:"rounds"`
}

// bencher runs measurements in a temporary folder and writes its progress to its log.
type bencher struct {
	dir  string
	load Load
	log  io.Writer
	runs int
}

func newBencher(load Load, log io.Writer) (*bencher, error) {
	dir, err := os.MkdirTemp("", "redrive-bench-")
	if err != nil {
		return nil, err
	}
	return &bencher{dir: dir, load: load, log: log}, nil
}

func (b *bencher) close() error { return os.RemoveAll(b.dir) }

// scenario is an activity that is measured. It processes a number of jobs in a new folder.
type scenario struct {
	name string
	jobs int // number of jobs in each round
	run  func(ctx context.Context, dir string, jobs int) (time.Duration, error)
}

// measure runs the scenarios in turn, round by round, so that other load on the machine
// affects all of them in the same way. It returns the median results in the order of the
// scenarios.
func (b *bencher) measure(ctx context.Context, scenarios ...scenario) ([]Result, error) {
	results := make([]Result, len(scenarios))
	for range b.load.Rounds {
		for i, s := range scenarios {
			before := processorTime()
			rate, err := b.once(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			each := float64((processorTime() - before).Nanoseconds()) / 1000 / float64(s.jobs)
			fmt.Fprintf(b.log, "%-28s %9.0f/s, %7.1f µs of a processor each in this process\n", s.name, rate, each)
			results[i].Name = s.name
			results[i].Rounds = append(results[i].Rounds, rate)
		}
	}
	for i := range results {
		results[i].PerSecond = median(results[i].Rounds)
	}
	return results, nil
}

func (b *bencher) once(ctx context.Context, s scenario) (float64, error) {
	b.runs++
	dir := filepath.Join(b.dir, fmt.Sprint(b.runs))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // no error check: the folder is removed together with b.dir
	took, err := s.run(ctx, dir, s.jobs)
	return float64(s.jobs) / took.Seconds(), err
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func (b *bencher) floorBoth() scenario {
	return scenario{"floor: enqueue+process", b.load.Jobs, func(ctx context.Context, dir string, jobs int) (took time.Duration, err error) {
		f, err := openFloor(ctx, dir, b.load.Payload)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.close()) }()
		return f.both(ctx, jobs, b.load.Producers, b.load.Workers)
	}}
}

func (b *bencher) floorEnqueue() scenario {
	return scenario{"floor: enqueue", b.load.Jobs, func(ctx context.Context, dir string, jobs int) (took time.Duration, err error) {
		f, err := openFloor(ctx, dir, b.load.Payload)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, f.close()) }()
		return f.enqueue(ctx, jobs, b.load.Producers)
	}}
}

func (b *bencher) both(name string, jobs, payload int) scenario {
	return scenario{name, jobs, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
		l := b.load
		l.Jobs, l.Payload = jobs, payload
		return both(ctx, (&Soak{}).place(dir), dir, l, withoutOwner)
	}}
}

func (b *bencher) process() scenario {
	return b.processing("process", succeeding(b.load.Jobs))
}

// processing is the scenario that runs jobs which were enqueued before. Its rate counts
// attempts.
func (b *bencher) processing(name string, w *work) scenario {
	return scenario{name, w.attempts, func(ctx context.Context, dir string, _ int) (time.Duration, error) {
		return process(ctx, dir, b.load.Workers, b.load.Payload, w)
	}}
}

func (b *bencher) enqueue(name string, jobs, producers, batch int, keys bool) scenario {
	return scenario{name, jobs, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
		return enqueue(ctx, dir, jobs, producers, batch, b.load.Payload, keys)
	}}
}

// Validate returns an error if a value of the load is out of range.
func (l Load) Validate() error {
	switch {
	case l.Jobs < 1000:
		return fmt.Errorf("the load has %d jobs, but must have at least 1,000: with fewer jobs the start takes longer than the work", l.Jobs)
	case l.Workers < 1 || l.Workers > 10_000, l.Producers < 1 || l.Producers > 10_000:
		return fmt.Errorf("the load has %d workers and %d producers, but must have 1 to 10,000 of each", l.Workers, l.Producers)
	case l.Payload < 2 || l.Payload > redrive.PayloadMaxDefault:
		return fmt.Errorf("a payload of %d bytes is not allowed: the size must be 2 to %d bytes", l.Payload, redrive.PayloadMaxDefault)
	case l.Rounds < 1 || l.Rounds > 100:
		return fmt.Errorf("the load has %d rounds, but must have 1 to 100", l.Rounds)
	}
	return nil
}
