package selfbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Figure is one measured value and its target.
type Figure struct {
	Figure   string  `json:"figure"`
	Target   string  `json:"target"`
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	Floor    float64 `json:"floor,omitempty"` // rate of the floor in the same run; set if the target is a share of this rate
	Pass     bool    `json:"pass"`
}

// ErrMissed is returned when at least one figure missed its target.
var ErrMissed = errors.New("a figure missed its target")

// Bench measures the engine and its floor (the fastest possible rate on this machine), and
// prints a table.
func Bench(ctx context.Context, load Load, out io.Writer) (err error) {
	b, err := newBencher(load, io.Discard)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	results, err := b.measure(ctx, b.throughput()...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "SQLite, synchronous=FULL, history, events, counters and leases kept; %d-byte payloads, %d workers, "+
		"%d producers, no-op handlers; median of %d rounds\n\n", load.Payload, load.Workers, load.Producers, load.Rounds)
	for _, r := range results {
		fmt.Fprintf(out, "%-28s %9.0f/s\n", r.Name, r.PerSecond)
	}
	fmt.Fprintf(out, "\nenqueue+process reaches %.2f of its floor, enqueue reaches %.2f\n",
		results[1].PerSecond/results[0].PerSecond, results[6].PerSecond/results[5].PerSecond)
	return nil
}

// throughput returns the scenarios for Bench and Figures. These functions depend on the
// order of the scenarios.
func (b *bencher) throughput() []scenario {
	n, producers := b.load.Jobs, b.load.Producers
	return []scenario{
		b.floorBoth(),
		b.both("enqueue+process", n, b.load.Payload),
		b.process(),
		b.processing("process, all failing", allFailing(n)),
		b.processing("process, 20 % failing", fifthFailing(n)),
		b.floorEnqueue(),
		b.enqueue("enqueue", n, producers, 1, false),
		b.enqueue("enqueue with keys", n/2, producers, 1, true),
		b.enqueue("enqueue in batches of 1,000", 2*n, 1, 1000, false),
		b.both("enqueue+process, 4 KiB", n/2, 4096),
	}
}

// Figures measures all figures that have a target, or only the figures of the named subjects. It
// prints one line of JSON for each figure, and returns ErrMissed if a figure missed its target.
func Figures(ctx context.Context, load Load, rows int, in Seeded, only []string, out, log io.Writer) (err error) {
	b, err := newBencher(load, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	p := printer{out: json.NewEncoder(out)}
	for _, subject := range []struct {
		name    string
		measure func(context.Context, *printer) error
	}{
		{"judgement", b.judgementFigures},
		{"throughput", b.throughputFigures},
		{"latency", b.latencyFigures},
		{"flat", func(ctx context.Context, p *printer) error { return b.flatFigures(ctx, p, rows) }},
		{"dead", func(ctx context.Context, p *printer) error { return b.deadFigures(ctx, p, max(1000, rows/5)) }},
		{"fresh", b.freshFigures},
		{"live", func(ctx context.Context, p *printer) error { return b.liveFigures(ctx, p, in) }},
		{"owners", func(ctx context.Context, p *printer) error { return b.ownerFigures(ctx, p, in.DSN) }},
		{"idle", func(ctx context.Context, p *printer) error { return b.idleFigures(ctx, p, in.DSN) }},
		{"reads", func(ctx context.Context, p *printer) error { return b.readFigures(ctx, p, in) }},
		{"http", func(ctx context.Context, p *printer) error { return b.httpFigures(ctx, p, in) }},
		{"page", func(ctx context.Context, p *printer) error { return b.pageFigures(ctx, p, in) }},
		{"watch", func(ctx context.Context, p *printer) error { return b.watchFigures(ctx, p, in.DSN) }},
		{"batches", func(ctx context.Context, p *printer) error { return b.batchFigures(ctx, p, in.DSN) }},
		{"notices", func(ctx context.Context, p *printer) error { return b.noticeFigures(ctx, p, in.DSN) }},
		{"takeover", func(ctx context.Context, p *printer) error { return b.takeoverFigures(ctx, p, in.DSN) }},
	} {
		if len(only) > 0 && !slices.Contains(only, subject.name) {
			continue
		}
		if err := subject.measure(ctx, &p); err != nil {
			return fmt.Errorf("%s: %w", subject.name, err)
		}
	}
	if p.missed > 0 {
		return fmt.Errorf("%w: %d of %d figures", ErrMissed, p.missed, p.printed)
	}
	return nil
}

type printer struct {
	out             *json.Encoder
	printed, missed int
}

func (p *printer) print(f Figure) error {
	p.printed++
	if !f.Pass {
		p.missed++
	}
	return p.out.Encode(f)
}

// share prints a rate and its target: a share of the rate of the floor.
func (p *printer) share(name string, rate, floor, share float64) error {
	return p.print(Figure{name, fmt.Sprintf(">= %.2f x floor", share), round(rate), "jobs/s", round(floor), rate >= share*floor})
}

// ofSuccess prints a rate of attempts. Its target is a share of the rate that is reached if
// all attempts succeed.
func (p *printer) ofSuccess(name string, rate, success, share float64) error {
	return p.print(Figure{name, fmt.Sprintf(">= %.2f x process alone", share), round(rate), "attempts/s", round(success), rate >= share*success})
}

// atLeast prints a rate and its target: a minimum.
func (p *printer) atLeast(name string, rate, least float64) error {
	return p.print(Figure{name, fmt.Sprintf(">= %.0f/s", least), round(rate), "jobs/s", 0, rate >= least})
}

// atMost prints a ratio and its target: a maximum, as a multiple of what is named.
func (p *printer) atMost(name string, ratio float64, of string, most float64) error {
	return p.print(Figure{name, fmt.Sprintf("<= %g x %s", most, of), ratio, "x", 0, ratio <= most})
}

// below prints a duration and its target: a maximum, which the duration must not reach.
func (p *printer) below(name string, took, most time.Duration) error {
	return p.print(Figure{name, "< " + most.String(), milliseconds(took), "ms", 0, took < most})
}

// tell prints a figure without a target.
func (p *printer) tell(name string, measured float64, unit string) error {
	return p.out.Encode(struct {
		Figure   string  `json:"figure"`
		Measured float64 `json:"measured"`
		Unit     string  `json:"unit"`
	}{name, measured, unit})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func round(x float64) float64 { return float64(int64(x + 0.5)) }

func (b *bencher) throughputFigures(ctx context.Context, p *printer) error {
	r, err := b.measure(ctx, b.throughput()...)
	if err != nil {
		return err
	}
	return errors.Join(
		p.share("enqueue+process at once", r[1].PerSecond, r[0].PerSecond, 0.75),
		p.tell("process alone", round(r[2].PerSecond), "jobs/s"),
		p.ofSuccess("all attempts failing", r[3].PerSecond, r[2].PerSecond, 0.50),
		p.ofSuccess("20 % of the attempts failing", r[4].PerSecond, r[2].PerSecond, 0.85),
		p.share("durable enqueue, 100 goroutines", r[6].PerSecond, r[5].PerSecond, 0.75),
		p.atLeast("durable enqueue with keys", r[7].PerSecond, 25_000),
		p.atLeast("enqueue in batches of 1,000", r[8].PerSecond, 150_000),
		p.atLeast("enqueue+process, 4 KiB payloads", r[9].PerSecond, 20_000),
	)
}

func (b *bencher) latencyFigures(ctx context.Context, p *printer) error {
	own, err := pickup(ctx, b.folder(), 500, false)
	if err != nil {
		return fmt.Errorf("pickup: %w", err)
	}
	other, err := pickup(ctx, b.folder(), 300, true)
	if err != nil {
		return fmt.Errorf("measure the start of jobs that another process enqueues: %w", err)
	}
	changed, err := settings(ctx, b.folder(), 100)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	busy, err := measureSaturated(ctx, b.folder(), b.load)
	if err != nil {
		return fmt.Errorf("measure a busy database file: %w", err)
	}
	return errors.Join(
		p.below("idle pickup in the process, p50", own.at(0.5), 2*time.Millisecond),
		p.below("idle pickup from another process, p99", other.at(0.99), 50*time.Millisecond),
		p.below("a queue's setting from another connection, p99", changed.at(0.99), 100*time.Millisecond),
		p.below("own transaction (Store.Tx) on a saturated file, p99", busy.own.at(0.99), 50*time.Millisecond),
		p.below("the command on a saturated file, p50", busy.command.at(0.5), 100*time.Millisecond),
		p.below("the command on a saturated file, p95", busy.command.at(0.95), 100*time.Millisecond),
	)
}

func (b *bencher) folder() string {
	b.runs++
	dir := filepath.Join(b.dir, fmt.Sprint(b.runs))
	_ = os.Mkdir(dir, 0o700) // no error check: if this fails, opening a database in dir returns an error
	return dir
}

// flatFigures measures durations and memory that must not grow with the number of stored
// jobs.
func (b *bencher) flatFigures(ctx context.Context, p *printer, rows int) error {
	dir := b.folder()
	polls, err := flat(ctx, dir, rows)
	if err != nil {
		return fmt.Errorf("measure polls of a file with many jobs: %w", err)
	}
	for _, r := range polls {
		err = errors.Join(err, p.print(Figure{
			Figure: fmt.Sprintf("%s beside %d jobs in each of six places, %d µs against %d µs", r.poll, rows, r.many.Microseconds(), r.few.Microseconds()),
			Target: fmt.Sprintf("<= %.1f x of %d", flatMost, flatFew), Measured: float64(int64(r.ratio()*100)) / 100, Unit: "x",
			Pass: r.ratio() <= flatMost,
		}))
	}
	many, werr := waiting(ctx, dir, waitingJobs, waitingRun)
	if werr != nil {
		return fmt.Errorf("measure a file with many waiting jobs: %w", werr)
	}
	const mib = 1 << 20
	return errors.Join(err,
		p.below("start of a process to its first claim, 1 million jobs waiting", many.warm, 100*time.Millisecond),
		p.below("the same with a cold page cache", many.cold, 100*time.Millisecond),
		p.print(Figure{"memory at most, 1 million jobs waiting", "< 150 MB", float64(many.peak / mib), "MiB", 0, many.peak < 150e6}),
	)
}

// Child runs one part of a measurement. The benchmark starts a second process for it. Getenv reads
// an environment variable.
func Child(ctx context.Context, in io.Reader, out io.Writer, args []string, getenv func(string) string) error {
	switch {
	case len(args) == 2 && args[0] == "listen":
		return childListen(ctx, in, out, args[1])
	case len(args) == 2 && args[0] == "watch":
		return childWatch(ctx, in, out, args[1])
	case len(args) == 3 && args[0] == "serve":
		return childServe(ctx, in, out, args[1], args[2], getenv(seededEnv))
	}
	if len(args) == 3 && args[0] == "enqueue" {
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return childEnqueue(ctx, out, args[1], n)
	}
	if len(args) == 2 && args[0] == "takeover" {
		return childTakeover(ctx, out, args[1], getenv(takeoverEnv))
	}
	return childFlat(ctx, out, args)
}
