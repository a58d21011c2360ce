package selfbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// waitingJobs is the number of waiting jobs in the measured file.
	waitingJobs = 1_000_000
	// waitingRun is the number of jobs that run before the peak memory is read. It is large
	// enough to fill every cache.
	waitingRun = 100_000

	startRounds = 7 // number of measured starts; the result is their median
)

// waitingResult is the cost of opening a file with many waiting jobs.
type waitingResult struct {
	warm time.Duration // time from the start of the process to its first claim
	cold time.Duration // the time from the start to the first claim, if the file is not in the page cache
	peak int64         // peak memory in bytes while many jobs run
}

// waiting measures how soon a new process claims a job from a file with many waiting jobs.
// It also measures the peak memory of a process that runs some of these jobs.
func waiting(ctx context.Context, dir string, jobs, run int) (r waitingResult, err error) {
	path := filepath.Join(dir, "bench.db")
	defer func() { err = errors.Join(err, removeDatabase(path)) }()
	if err := seedWaiting(ctx, path, jobs); err != nil {
		return r, fmt.Errorf("fill the database file %s: %w", path, err)
	}
	var warm, cold []time.Duration
	for range startRounds {
		if err := dropCache(path); err != nil {
			return r, err
		}
		for _, took := range []*[]time.Duration{&cold, &warm} {
			start := time.Now()
			claimed, err := askChild[time.Time](ctx, "start", dir)
			if err != nil {
				return r, err
			}
			*took = append(*took, claimed.Sub(start))
		}
	}
	r.warm, r.cold = median(warm), median(cold)
	r.peak, err = askChild[int64](ctx, "work", dir, strconv.Itoa(run))
	return r, err
}

func seedWaiting(ctx context.Context, path string, rows int) error {
	return seedFile(ctx, path, func(s *seeder) {
		const lane = 1
		s.exec(`INSERT INTO redrive_lanes (id, queue, kind, deps) VALUES (?, 'bench', 'noop', '')`, lane)
		s.exec(`INSERT INTO redrive_queues (name) VALUES ('bench')`)
		s.insert(flatWaiting, lane, 1, rows, -time.Hour, (*bench)(nil).bytes(200))
		s.count(lane, job.Waiting, rows)
	})
}

// askChild runs a child process and decodes the JSON that the process prints.
func askChild[T any](ctx context.Context, args ...string) (answer T, err error) {
	lines, wait, err := child(ctx, args...)
	if err != nil {
		return answer, err
	}
	var line string
	for l := range lines {
		line = l
	}
	if err := wait(); err != nil {
		return answer, fmt.Errorf("the child process %s failed: %w", args[0], err)
	}
	return answer, json.Unmarshal([]byte(line), &answer)
}

// childFlat runs in the child process that opens a file with many waiting jobs. Its
// arguments are "start" and a folder, or "work", a folder and the number of jobs to run.
func childFlat(ctx context.Context, out io.Writer, args []string) (err error) {
	if len(args) < 2 {
		return fmt.Errorf("the child process got %d arguments, want a name and a folder", len(args))
	}
	b, err := openBench(ctx, args[1], 100, succeed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	var answer any
	switch name, rest := args[0], args[2:]; {
	case name == "start" && len(rest) == 0:
		answer, err = b.claimOne(ctx)
	case name == "work" && len(rest) == 1:
		answer, err = b.peak(ctx, rest[0])
	default:
		err = fmt.Errorf("the child process got the unknown name %q with %d arguments, want start or work", name, len(rest))
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer)
}

// claimOne claims one job and puts it back. It returns the time of the claim.
func (b *bench) claimOne(ctx context.Context) (at time.Time, err error) {
	x := store.Exchange{Holder: "bench", Lease: time.Minute, Want: []store.Want{
		{Queue: "bench", Max: 1, Kinds: []store.KindWant{{Kind: "noop", Max: 1, MaxCrashes: job.MaxCrashes}}},
	}}
	got, err := b.store.Exchange(ctx, x)
	at = time.Now()
	if err != nil {
		return at, err
	}
	if len(got.Claims) != 1 {
		return at, fmt.Errorf("got %d claims, want 1", len(got.Claims))
	}
	f := flatFile{store: b.file}
	return at, f.putBack(ctx, got.Claims)
}

// peak runs the given number of jobs and returns the peak memory of the process
// in bytes.
func (b *bench) peak(ctx context.Context, run string) (int64, error) {
	n, err := strconv.Atoi(run)
	if err != nil {
		return 0, err
	}
	if err := b.work(ctx, n)(); err != nil {
		return 0, err
	}
	err = inParallel(8, 64, func(i int) error {
		_, err := b.store.List(ctx, store.Filter{From: store.Cursor{ID: job.ID(n + i*job.PageMax)}, Limit: job.PageMax})
		return err
	})
	if err != nil {
		return 0, err
	}
	return peakMemory()
}
