package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Floor measures the smallest possible work for a load, in a database below dir. It returns
// the time that the work took. The mode is enqueue, process (the jobs are inserted before
// the measurement) or both. Comparisons with other systems use it.
func Floor(ctx context.Context, dir, mode string, load Load) (took time.Duration, err error) {
	f, err := openFloor(ctx, dir, load.Payload)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	switch mode {
	case "enqueue":
		return f.enqueue(ctx, load.Jobs, load.Producers)
	case "process":
		if err := f.preload(load.Jobs); err != nil {
			return 0, err
		}
		return f.both(ctx, load.Jobs, 0, load.Workers)
	case "both":
		return f.both(ctx, load.Jobs, load.Producers, load.Workers)
	}
	return 0, fmt.Errorf("unknown mode %q of the floor: want enqueue, process or both", mode)
}

// preload inserts jobs in large transactions.
func (f *floor) preload(jobs int) error {
	for left := jobs; left > 0; left -= 1000 {
		if _, err := f.transact([]*floorRequest{{inserts: min(left, 1000), done: make(chan struct{})}}, nil); err != nil {
			return err
		}
	}
	return nil
}
