package wire

import (
	"context"
	"errors"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Limits for one read of an export: the number of dead letters, and the bytes of payload
// above which the next read asks for fewer dead letters.
const (
	exportRows  = 200
	exportBytes = 4 << 20
)

// DeadReader reads pages of dead letters, and jobs.
type DeadReader interface {
	DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error)
	Get(ctx context.Context, id job.ID) (job.Job, error)
}

// exportPage is the result of one read: dead letters or an error.
type exportPage struct {
	entries []store.DeadEntry
	err     error
}

// Export writes the dead letters that a filter selects, the newest death first. It reads one page
// ahead of the writer. After each page it calls the given function, which may be nil; an error of
// this function ends the export. The caller must call Begin before Export.
func (e *Exporter) Export(ctx context.Context, from DeadReader, f store.DeadFilter, wrote func() error) error {
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan exportPage)
	go readPages(ctx, from, f, pages)
	defer func() {
		stop()
		for range pages { // wait until readPages no longer uses the store
		}
	}()
	for page := range pages {
		if page.err != nil {
			return &ReadError{page.err}
		}
		for i := range page.entries {
			if err := e.Add(&page.entries[i]); err != nil {
				return err
			}
		}
		if wrote != nil {
			if err := wrote(); err != nil {
				return err
			}
		}
	}
	return context.Cause(ctx)
}

// ReadError is an error of the store during an export.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return "read dead letters: " + e.Err.Error() }

// Unwrap returns the error of the store.
func (e *ReadError) Unwrap() error { return e.Err }

// readPages reads the selected dead letters and sends them page by page. It reads one page ahead of
// the writer, and stops after the last dead letter or when ctx ends. Then it closes the channel.
func readPages(ctx context.Context, from DeadReader, f store.DeadFilter, pages chan<- exportPage) {
	defer close(pages)
	p := store.DeadPaging{Limit: exportRows / 20, Jobs: true}
	for {
		page, err := from.DeadLetters(ctx, f, p)
		if errors.Is(err, store.ErrUnavailable) && p.Limit > 1 && ctx.Err() == nil {
			p.Limit /= 4 // the read took too long, because the disk is slow or busy: ask for fewer dead letters
			p.Limit = max(p.Limit, 1)
			continue
		}
		if err == nil {
			err = addJobs(ctx, from, page.Entries)
		}
		select {
		case pages <- exportPage{page.Entries, err}:
		case <-ctx.Done():
			return
		}
		if err != nil || page.Next == 0 {
			return
		}
		p.Before, p.Limit = page.Next, nextLimit(page.Entries, p.Limit)
	}
}

// addJobs reads the jobs of those dead letters whose job is not dead any more: it was retried. Jobs
// that are not kept stay nil.
func addJobs(ctx context.Context, from DeadReader, entries []store.DeadEntry) error {
	for i := range entries {
		if entries[i].Job != nil {
			continue
		}
		j, err := from.Get(ctx, entries[i].DeadLetter.Job)
		if err == nil {
			entries[i].Job = &j
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// nextLimit returns the number of dead letters for the next read, so that a page does not
// become too large.
func nextLimit(entries []store.DeadEntry, limit int) int {
	size := 0
	for i := range entries {
		if j := entries[i].Job; j != nil {
			size += len(j.Payload) + len(j.Attrs)
		}
	}
	switch {
	case size > exportBytes:
		return max(limit/2, 1)
	case size < exportBytes/4:
		return min(limit*2, exportRows)
	}
	return limit
}
