package selfbench

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// settings measures how soon a worker uses a setting that another process has changed. A
// job waits in a paused queue, another connection resumes the queue, and the time until the
// start of the job is measured.
func settings(ctx context.Context, dir string, n int) (found latencies, err error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	path := filepath.Join(dir, "settings.db")
	worker, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.Close()) }()
	person, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, person.Close()) }()
	client, started, stop, err := idleWorker(ctx, worker, dir, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	set := func(mode store.Mode) error {
		_, err := person.SetQueue(ctx, store.By{Actor: "bench"}, store.QueueChange{Name: redrive.DefaultQueue, Mode: &mode})
		return err
	}
	if err := person.Declare(ctx, []string{redrive.DefaultQueue}); err != nil {
		return nil, err
	}
	for range n {
		if err := set(store.Paused); err != nil {
			return nil, err
		}
		if _, err := client.Enqueue(ctx, redrive.NewRaw("noop", []byte(`""`), nil)); err != nil {
			return nil, err
		}
		pause(ctx, 60*time.Millisecond) // wait until the worker has seen the pause of the queue and is idle
		if err := set(store.Open); err != nil {
			return nil, err
		}
		made := time.Now()
		select {
		case s := <-started:
			found = append(found, max(0, s.at.Sub(made)))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	slices.Sort(found)
	return found, nil
}
