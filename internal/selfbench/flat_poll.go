package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// flatFile is an open database file with the same number of jobs in each set of flatPlaces.
type flatFile struct {
	path  string
	store *sqlite.Store
	due   int // number of due jobs, which a poll may take
}

func openFlat(ctx context.Context, path string, rows int) (*flatFile, error) {
	err := seedFlat(ctx, path, rows)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fill the database file %s: %w", path, err), removeDatabase(path))
	}
	f := &flatFile{path: path}
	if f.store, err = sqlite.Open(ctx, path, nil); err != nil {
		return nil, errors.Join(err, removeDatabase(path))
	}
	return f, nil
}

func (f *flatFile) remove() error {
	return errors.Join(f.store.Close(), removeDatabase(f.path))
}

// reopenCold closes the file, removes it from the page cache and opens it again.
func (f *flatFile) reopenCold(ctx context.Context) error {
	if err := f.store.Close(); err != nil {
		return err
	}
	if err := dropCache(f.path); err != nil {
		return err
	}
	opened, err := sqlite.Open(ctx, f.path, nil)
	if err == nil {
		f.store = opened
	}
	return err
}

// makeDue enqueues jobs in all lanes until the given number of jobs is due.
func (f *flatFile) makeDue(ctx context.Context, due int) error {
	n := due - f.due
	if n == 0 {
		return nil
	}
	first, err := f.store.ReserveIDs(ctx, n)
	if err != nil {
		return err
	}
	jobs := make([]job.New, n)
	for i := range jobs {
		jobs[i] = job.New{ID: first + job.ID(i), Kind: flatKind(i), Queue: flatQueue,
			Priority: int8(1 + i/flatKinds%job.PriorityMax), Payload: flatPayload}
	}
	_, err = f.store.Enqueue(ctx, jobs)
	f.due = due
	return err
}

// poll claims jobs once and measures the time. Then it puts the claimed jobs back, so that
// the next poll finds the same jobs.
func (f *flatFile) poll(ctx context.Context) (took time.Duration, err error) {
	x := store.Exchange{Holder: "bench", Lease: time.Minute, Want: []store.Want{
		{Queue: flatQueue, Max: flatWanted, Kinds: flatWants()}, {Queue: flatPaused, Max: flatWanted, Kinds: flatWants()},
	}}
	start := time.Now()
	out, err := f.store.Exchange(ctx, x)
	took = time.Since(start)
	if err != nil {
		return 0, err
	}
	if want := min(f.due, flatWanted); len(out.Claims) != want || len(out.Expired) > 0 {
		return 0, fmt.Errorf("got %d claims and %d expired jobs, want %d claims and no expired job", len(out.Claims), len(out.Expired), want)
	}
	return took, f.putBack(ctx, out.Claims)
}

func flatWants() []store.KindWant {
	kinds := make([]store.KindWant, flatKinds)
	for i := range kinds {
		kinds[i] = store.KindWant{Kind: flatKind(i), Max: flatWanted, MaxCrashes: job.MaxCrashes}
	}
	return kinds
}

func (f *flatFile) putBack(ctx context.Context, claims []job.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	x := store.Exchange{Holder: "bench", Lease: time.Minute}
	for _, c := range claims {
		x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, To: job.Waiting, Cause: job.Interrupted})
	}
	out, err := f.store.Exchange(ctx, x)
	return errors.Join(append(out.Settled, err)...)
}
