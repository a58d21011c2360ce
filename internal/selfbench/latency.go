package selfbench

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive"
	store "github.com/redrive/redrive/store/sqlite"
)

// latencies are sorted durations.
type latencies []time.Duration

func (l latencies) at(share float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(len(l)-1, int(share*float64(len(l))))]
}

// pickup measures how long an idle engine takes to start a job after the enqueue was
// confirmed. If the last argument is true, another process enqueues the job in the same
// file; otherwise this process does.
func pickup(ctx context.Context, dir string, n int, other bool) (found latencies, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	path := filepath.Join(dir, "pickup.db")
	s, err := store.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	client, started, stop, err := idleWorker(ctx, s, dir, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if other {
		return pickupOther(ctx, path, n, started)
	}
	for range n {
		r, err := client.Enqueue(ctx, redrive.NewRaw("noop", []byte(`""`), nil))
		if err != nil {
			return nil, err
		}
		acked := time.Now()
		select {
		case s := <-started:
			if s.id != r.ID {
				return nil, fmt.Errorf("job %s started, want job %s, which was enqueued", s.id, r.ID)
			}
			found = append(found, max(0, s.at.Sub(acked)))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		pause(ctx, 5*time.Millisecond) // wait until the engine is idle again
	}
	slices.Sort(found)
	return found, nil
}

type start struct {
	id redrive.JobID
	at time.Time
}

// idleWorker runs a client on a store. It returns a channel that receives the start of each
// job, and a function that stops the client. The channel can hold the given number of
// starts.
func idleWorker(ctx context.Context, s *store.Store, dir string, kept int) (
	client *redrive.Client, started <-chan start, stop func() error, err error,
) {
	client, err = redrive.New(s, &redrive.Config{TempDir: filepath.Join(dir, "tmp"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, nil, err
	}
	starts := make(chan start, kept)
	redrive.HandleRaw(client, "noop", func(_ context.Context, j *redrive.Job[[]byte]) error {
		starts <- start{j.ID, time.Now()}
		return nil
	}, nil)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- client.Run(running) }()
	return client, starts, func() error { cancel(); return <-ended }, nil
}

// pause waits for a duration, or until the context ends. The measured engine becomes idle in
// this time.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func pickupOther(ctx context.Context, path string, n int, started <-chan start) (found latencies, err error) {
	lines, wait, err := child(ctx, "enqueue", path, strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	for line := range lines {
		id, nanos, _ := strings.Cut(line, " ")
		acked, err := strconv.ParseInt(nanos, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the enqueueing process printed %q: %w", line, err)
		}
		select {
		case s := <-started:
			if s.id.String() != id {
				return nil, fmt.Errorf("job %s started, want job %s, which was enqueued", s.id, id)
			}
			found = append(found, max(0, s.at.Sub(time.Unix(0, acked))))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	slices.Sort(found)
	return found, wait()
}

// childEnqueue runs in the other process. It enqueues jobs with pauses, and prints the id
// of each job and the time when its enqueue was confirmed.
func childEnqueue(ctx context.Context, out io.Writer, path string, n int) (err error) {
	s, err := store.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	client, err := redrive.New(s, nil)
	if err != nil {
		return err
	}
	for i := range n {
		r, err := client.Enqueue(ctx, redrive.NewRaw("noop", []byte(`""`), nil))
		if err != nil {
			return err
		}
		fmt.Fprintln(out, r.ID, time.Now().UnixNano())
		pause(ctx, 20*time.Millisecond+time.Duration(i%10)*time.Millisecond)
	}
	return nil
}

// child starts this program as a second process and returns the lines that this process
// prints.
func child(ctx context.Context, args ...string) (lines <-chan string, wait func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"bench", "child"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ch := make(chan string)
	go func() {
		defer close(ch)
		for scan := bufio.NewScanner(out); scan.Scan(); {
			ch <- scan.Text()
		}
	}()
	return ch, cmd.Wait, nil
}

// saturated holds the latencies of other users of a database file while an engine and its
// producers use the file as much as possible.
type saturated struct {
	own     latencies // durations of transactions that the caller makes through Store.Tx
	command latencies // durations of calls of the redrive command, each in a new process
}

func measureSaturated(ctx context.Context, dir string, load Load) (out saturated, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	b, err := openBench(ctx, dir, load.Workers, succeed)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if _, err := b.file.ReserveIDs(ctx, 1); err != nil {
		return out, err
	}
	err = b.file.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE mine (n INTEGER)`)
		return err
	})
	if err != nil {
		return out, err
	}
	busy, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { _ = b.client.Run(busy) }) // Run returns when its context ends
	for range load.Producers {
		all.Go(func() {
			for busy.Err() == nil {
				_, _ = b.client.Enqueue(busy, redrive.NewRaw("noop", b.bytes(load.Payload), &redrive.Options{Queue: "bench"}))
			}
		})
	}
	defer all.Wait()
	defer stop()
	pause(ctx, time.Second)
	if out.own, err = timed(ctx, 300, writeGap, func() error { return ownWrite(ctx, b.file) }); err != nil {
		return out, fmt.Errorf("run a transaction of the caller: %w", err)
	}
	out.command, err = timed(ctx, 40, 0, func() error { return command(ctx, b.file.Path()) })
	return out, err
}

// writeGap is the pause between two writes of the measured transactions.
const writeGap = 5 * time.Millisecond

func timed(ctx context.Context, n int, gap time.Duration, do func() error) (found latencies, err error) {
	for range n {
		pause(ctx, gap)
		begin := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		found = append(found, time.Since(begin))
	}
	slices.Sort(found)
	return found, nil
}

func ownWrite(ctx context.Context, s *store.Store) error {
	return s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO mine VALUES (1)`)
		return err
	})
}

// command runs the redrive command as another process. The command changes a setting of a
// queue, so that it writes to the file.
func command(ctx context.Context, path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, self, "queues", "set", "bench", "--db", path, "--workers", "100", "--by", "bench").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
