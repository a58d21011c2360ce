package seed

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/redrive/redrive/job"
)

// batch is a batch with the counts of its members, and the ids between which they are.
type batch struct {
	total, completed, dead int64
	first, last            int64
}

func (b *batch) state() job.BatchState {
	if b.completed+b.dead < b.total {
		return job.BatchProcessing
	}
	return job.BatchOutcomeOf(b.completed, b.dead, 0)
}

// batches writes the batches of the jobs.
func (f *filler) batches(everything iter.Seq[*record]) {
	batches := make(map[int64]*batch)
	for r := range everything {
		if r.batch == 0 {
			continue
		}
		b := batches[r.batch]
		if b == nil {
			b = &batch{first: int64(r.id)}
			batches[r.batch] = b
		}
		b.total++
		b.first, b.last = min(b.first, int64(r.id)), max(b.last, int64(r.id))
		switch r.state {
		case job.Completed:
			b.completed++
		case job.Dead:
			b.dead++
		case job.None, job.Waiting, job.Retrying, job.Running, job.Cancelled:
		}
	}
	ids := slices.Sorted(maps.Keys(batches))
	each := func(values func(id int64, b *batch) []any) iter.Seq[[]any] {
		return func(yield func([]any) bool) {
			for _, id := range ids {
				if v := values(id, batches[id]); v != nil && !yield(v) {
					return
				}
			}
		}
	}
	f.insert("redrive_batches", "id state outcome created_at published_at", each(func(id int64, b *batch) []any {
		return []any{id, int64(b.state()), int64(ended(b)), int64(1), int64(1)}
	}))
	f.insert("redrive_batch_counts", "batch total completed dead cancelled", each(func(id int64, b *batch) []any {
		return []any{id, b.total, b.completed, b.dead, int64(0)}
	}))
	f.insert("redrive_spans", "batch first last", each(func(id int64, b *batch) []any { return []any{id, b.first, b.last} }))
	f.insert("redrive_outcomes", "batch n state at total completed dead cancelled", each(func(id int64, b *batch) []any {
		if ended(b) == 0 {
			return nil
		}
		return []any{id, int64(1), int64(b.state()), int64(1), b.total, b.completed, b.dead, int64(0)}
	}))
	if len(ids) > 0 {
		f.exec(fmt.Sprintf(`UPDATE redrive_meta SET value = %d WHERE key = 'batches'`, ids[len(ids)-1]))
	}
}

func ended(b *batch) int {
	if b.state() == job.BatchProcessing {
		return 0
	}
	return 1
}
