package selfbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
)

const (
	idleWindow = 65 * time.Second // contains a sweep, which has nothing to remove
	idleSettle = 5 * time.Second  // time for the writes of the start
)

// idleFigures prints how often a process without jobs writes. It may write only signs of life.
func (b *bencher) idleFigures(ctx context.Context, p *printer, dsn string) error {
	for _, on := range stores(dsn) {
		n, took, err := b.idle(ctx, on)
		if err != nil {
			return err
		}
		most := int64(took/store.PresentEvery) + 1 // signs of life
		err = p.print(Figure{fmt.Sprintf("writes of an idle process in %s on %s", took.Round(time.Second), on.name),
			fmt.Sprintf("<= %d, the signs of life", most), float64(n), "writes", 0, n <= most})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle counts the writes of a process without jobs, and returns how long it counted them.
func (b *bencher) idle(ctx context.Context, on measuredOn) (n int64, took time.Duration, err error) {
	dir := b.folder()
	place := on.place(dir)
	s, err := place.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
	client, err := b.newClient(s, dir)
	if err != nil {
		return 0, 0, err
	}
	redrive.HandleRaw(client, freshKind, succeedAlways, nil)
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() { _ = client.Run(running) }) // Run returns when its context ends
	pause(ctx, idleSettle)
	written, err := place.writes(ctx)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	pause(ctx, idleWindow)
	n, err = written(ctx)
	return n, time.Since(began), err
}

func succeedAlways(context.Context, *redrive.Job[[]byte]) error { return nil }
