package selfbench

import (
	"context"
	"fmt"
	"time"
)

// soakSpan is what was seen in one span of a soak.
type soakSpan struct {
	N        int // from 1
	Took     time.Duration
	Jobs     int64 // that ended
	Claims   int64 // exchanges with the store that wanted jobs
	P50, P99 time.Duration
	Size     soakSize // the largest that was seen, by its bytes
	Memory   int64    // bytes that the process has in memory; 0 is not known
}

func (s *soakSpan) perSecond() float64 { return float64(s.Jobs) / s.Took.Seconds() }

// soakWatch looks at a soak from outside.
type soakWatch struct {
	soak    *Soak
	watched *watched
	place   soakPlace
	held    func(context.Context) error // tells whether the snapshot is; nil is none
	tell    func(*soakSpan) error
}

// spans waits for the warm-up and for one span after the other.
func (w *soakWatch) spans(ctx context.Context) ([]soakSpan, error) {
	pause(ctx, w.soak.warmUp())
	spans := make([]soakSpan, w.soak.For/w.soak.span())
	for i := range spans {
		spans[i].N = i + 1
		if err := w.look(ctx, &spans[i]); err != nil {
			return nil, err
		}
		if err := w.tell(&spans[i]); err != nil {
			return nil, err
		}
	}
	return spans, nil
}

// look watches for one span.
func (w *soakWatch) look(ctx context.Context, seen *soakSpan) error {
	start, jobs, claims := time.Now(), w.watched.done.Load(), w.watched.claims.read()
	for i := range soakLooks {
		pause(ctx, time.Until(start.Add(w.soak.span()*time.Duration(i+1)/soakLooks)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		size, err := w.place.size(ctx)
		if err != nil {
			return fmt.Errorf("look at the size: %w", err)
		}
		if size.Bytes > w.soak.SizeMax {
			return fmt.Errorf("the database has %s, above the limit of %s: the soak gives up, so that it fills no disk",
				bytesOf(size.Bytes), bytesOf(w.soak.SizeMax))
		}
		if size.Bytes >= seen.Size.Bytes {
			seen.Size = size
		}
	}
	if w.held != nil {
		if err := w.held(ctx); err != nil {
			return fmt.Errorf("the snapshot is not held any more: %w", err)
		}
	}
	taken := w.watched.claims.read().since(claims)
	seen.Took, seen.Jobs = time.Since(start), w.watched.done.Load()-jobs
	seen.Claims, seen.P50, seen.P99 = taken.n(), taken.at(0.50), taken.at(0.99)
	seen.Memory = memoryNow()
	return nil
}
