package memory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/redrive/redrive/store"
)

// sweepBatches removes batches that ended long ago and have no members left, with their outcomes and
// the keys of their members. A batch with very many keys is removed first, and its keys by this sweep
// and the next ones.
func (w *sweep) sweepBatches() {
	left := w.limit
	if id := w.sweeping.memberKeys; id != 0 {
		if w.removeKeysOf(id, &left); left == 0 {
			return
		}
	}
	if w.keep.Batches == 0 {
		return
	}
	until, from, looked, last := w.now.Add(-w.keep.Batches), w.sweeping.batch, 0, int64(0)
	var used map[int64]bool
	w.sweeping.batch = 0
	for _, id := range slices.Sorted(maps.Keys(w.batches)) {
		if id <= from {
			continue
		}
		if w.batches[id].CreatedAt > until {
			return // this batch and those after it are too young to have ended before
		}
		if looked == w.limit || left == 0 {
			w.sweeping.batch, w.swept.More = last, true
			return
		}
		looked++
		last = id
		if !w.batches[id].Over(until) {
			continue
		}
		if used == nil {
			used = w.batchesWithMembers()
		}
		if !used[id] {
			delete(w.batches, id)
			w.swept.Batches++
			w.removeKeysOf(id, &left)
		}
	}
}

// batchesWithMembers returns the batches of all jobs and dead letters.
func (w *sweep) batchesWithMembers() map[int64]bool {
	used := make(map[int64]bool)
	for _, r := range w.jobs {
		used[r.Batch] = true
	}
	for _, e := range w.dead {
		used[e.Batch] = true
	}
	return used
}

// removeKeysOf removes keys of a batch that is gone, and remembers the batch if it may have more.
func (w *sweep) removeKeysOf(id int64, left *int) {
	owner := store.BatchMemberKey(id)
	var keys []keyName
	for name := range w.keys {
		if name.owner == owner && name.kind == "" {
			keys = append(keys, name)
		}
	}
	slices.SortFunc(keys, func(a, b keyName) int { return cmp.Compare(a.key, b.key) })
	keys = keys[:min(len(keys), *left)]
	for _, name := range keys {
		delete(w.keys, name)
	}
	*left -= len(keys)
	w.swept.Keys += int64(len(keys))
	if w.sweeping.memberKeys = 0; *left == 0 {
		w.sweeping.memberKeys, w.swept.More = id, true
	}
}
