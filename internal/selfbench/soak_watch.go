package selfbench

import (
	"context"
	"fmt"
	"time"
)

// soakSpan holds the measurements of one span of a soak.
type soakSpan struct {
	N        int // number of the span, from 1
	Took     time.Duration
	Jobs     int64 // number of jobs that ended
	Claims   int64 // number of exchanges with the store that asked for jobs
	P50, P99 time.Duration
	Size     soakSize // the largest size of the database that was measured in the span
	Memory   int64    // memory of the process in bytes; 0 if it is not known
}

func (s *soakSpan) perSecond() float64 { return float64(s.Jobs) / s.Took.Seconds() }

// soakWatch measures a soak while it runs.
type soakWatch struct {
	soak    *Soak
	watched *watched
	place   soakPlace
	held    func(context.Context) error // a function that returns an error if the snapshot was lost; nil if there is no snapshot
	tell    func(*soakSpan) error
}

// spans waits for the warm-up and then measures one span after the other.
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

// look measures one span.
func (w *soakWatch) look(ctx context.Context, seen *soakSpan) error {
	start, jobs, claims := time.Now(), w.watched.done.Load(), w.watched.claims.read()
	for i := range soakLooks {
		pause(ctx, time.Until(start.Add(w.soak.span()*time.Duration(i+1)/soakLooks)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		size, err := w.place.size(ctx)
		if err != nil {
			return fmt.Errorf("measure the size of the database: %w", err)
		}
		if size.Bytes > w.soak.SizeMax {
			return fmt.Errorf("the soak stops: the database has %s, which is above the limit of %s",
				bytesOf(size.Bytes), bytesOf(w.soak.SizeMax))
		}
		if size.Bytes >= seen.Size.Bytes {
			seen.Size = size
		}
	}
	if w.held != nil {
		if err := w.held(ctx); err != nil {
			return fmt.Errorf("the snapshot was lost: %w", err)
		}
	}
	taken := w.watched.claims.read().since(claims)
	seen.Took, seen.Jobs = time.Since(start), w.watched.done.Load()-jobs
	seen.Claims, seen.P50, seen.P99 = taken.n(), taken.at(0.50), taken.at(0.99)
	seen.Memory = memoryNow()
	return nil
}
