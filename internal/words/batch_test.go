package words_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// part of: U1
//
// Headings and sentences about batches are right for none, one and many.
func TestU1_BatchesInWords(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC))
	batch := func(state job.BatchState, total, completed, dead, running int64) store.Batch {
		b := store.Batch{ID: 7, State: state, BatchCounts: store.BatchCounts{Total: total, Completed: completed, Dead: dead, Running: running}}
		if b.Name = "Autumn"; state.Ended() {
			b.EndedAt = now.Add(-time.Hour)
		}
		return b
	}
	drafts := func(n, aside int64) store.Batch {
		b := batch(job.BatchDraft, 0, 0, 0, 0)
		b.Drafts, b.AsideDrafts = n, aside
		return b
	}
	with := func(b store.Batch, change func(*store.Batch)) store.Batch {
		change(&b)
		return b
	}
	for _, row := range []struct {
		b                         store.Batch
		finding, standing, banner string
	}{
		{drafts(0, 0), "Autumn: no members yet", "Not published: it has no members that count; add some first", ""},
		{drafts(1, 0), "Autumn: 1 draft", "Not published: 1 draft waits", ""},
		{drafts(1200, 3), "Autumn: 1,203 drafts", "Not published: 1,200 drafts wait", ""},
		{with(drafts(1, 0), func(b *store.Batch) { b.ExpiresAt = now.Add(-1) }), "Autumn: 1 draft", "Not published, and its time to expire is over: set a later one before it is published", ""},
		{batch(job.BatchProcessing, 1, 0, 0, 0), "Autumn: 0 of 1 member completed", "Under way: 1 member waits to run", ""},
		{batch(job.BatchProcessing, 1, 0, 0, 1), "Autumn: 0 of 1 member completed", "Under way: 1 member runs", ""},
		{batch(job.BatchProcessing, 50, 40, 4, 1), "Autumn: 40 of 50 members completed, 4 dead", "Under way: 1 member runs and 5 wait to run", ""},
		{batch(job.BatchProcessing, 50, 40, 4, 5), "Autumn: 40 of 50 members completed, 4 dead", "Under way: 5 members run and 1 waits to run", ""},
		{batch(job.BatchProcessing, 2, 1, 1, 0), "Autumn: 1 of 2 members completed, 1 dead", "Under way: all members have ended, and the outcome is being written", ""},
		{with(batch(job.BatchProcessing, 2, 0, 0, 0), func(b *store.Batch) { b.Task, b.Drafts = store.Publishing, 1 }), "Autumn: 0 of 2 members completed", "Being published: 1 draft left; it does not end before", ""},
		{batch(job.BatchReady, 1, 1, 0, 0), "Autumn: 1 of 1 member completed", "Ready, ended 1h ago: its one member has completed", ""},
		{with(batch(job.BatchReady, 9, 9, 0, 0), func(b *store.Batch) { b.ExpiresAt = now.Add(time.Hour) }), "Autumn: 9 of 9 members completed", "Ready, ended 1h ago: all 9 members have completed; it expires in 1h", ""},
		{batch(job.BatchPartial, 50, 49, 1, 0), "Autumn: 49 of 50 members completed, 1 dead", "Partial, ended 1h ago: 1 dead of 50 members; a retry of the dead ones reopens it",
			"Warning: 1 job failed permanently. Use its retry button below to re-attempt it."},
		{with(batch(job.BatchFailed, 50, 0, 4, 0), func(b *store.Batch) { b.Cancelled = 46 }), "Autumn: 0 of 50 members completed, 4 dead, 46 cancelled", "Failed, ended 1h ago: 4 dead and 46 cancelled of 50 members; a retry of the dead ones reopens it",
			"Warning: 4 jobs failed permanently. Use the retry buttons below to re-attempt individual members."},
		{with(batch(job.BatchFailed, 1, 0, 0, 0), func(b *store.Batch) { b.Cancelled = 1 }), "Autumn: 0 of 1 member completed, 1 cancelled", "Failed, ended 1h ago: 1 cancelled of 1 member", ""},
		{with(batch(job.BatchExpired, 2, 1, 1, 0), func(b *store.Batch) { b.ExpiresAt = now.Add(-time.Hour) }), "Autumn: 1 of 2 members completed, 1 dead", "Expired 1h ago: this is final, its dead members cannot be retried", ""},
	} {
		if got := words.BatchFinding(&row.b); got != row.finding {
			t.Errorf("finding: got %q, want %q", got, row.finding)
		}
		if got := words.BatchStanding(&row.b, now); got != row.standing {
			t.Errorf("standing: got %q, want %q", got, row.standing)
		}
		if got := words.BatchBanner(&row.b); got != row.banner {
			t.Errorf("banner: got %q, want %q", got, row.banner)
		}
	}
	several := func(states ...job.BatchState) (list []store.Batch) {
		for _, s := range states {
			list = append(list, batch(s, 1, 0, 0, 0))
		}
		return list
	}
	for _, row := range []struct {
		list []store.Batch
		more bool
		want string
	}{
		{nil, false, "No batches"},
		{several(job.BatchReady), false, "1 batch, none under way and none with dead members"},
		{several(job.BatchReady, job.BatchDraft), false, "2 batches, none under way and none with dead members"},
		{several(job.BatchPartial), false, "1 batch ended in part"},
		{several(job.BatchPartial, job.BatchPartial, job.BatchFailed, job.BatchProcessing), true, "2 batches ended in part, 1 failed, 1 under way on this page"},
		{several(job.BatchFailed, job.BatchFailed), false, "2 batches failed"},
		{several(job.BatchProcessing), false, "1 batch under way"},
	} {
		if got := words.BatchesFinding(row.list, row.more); got != row.want {
			t.Errorf("list: got %q, want %q", got, row.want)
		}
	}
	for want, b := range map[string]store.Batch{
		"Autumn":  {ID: 7, NewBatch: store.NewBatch{Name: "Autumn", Key: "k"}},
		"summer":  {ID: 7, NewBatch: store.NewBatch{Key: "summer"}},
		"Batch 7": {ID: 7, NewBatch: store.NewBatch{Key: "4PX3QVYEHZ7TJ2L6NAKDWBMUSC"}},
	} {
		if got := words.BatchName(&b); got != want {
			t.Errorf("name: got %q, want %q", got, want)
		}
	}
	for want, got := range map[string]string{
		"0 members retried.": words.BatchRetried(0, 0, false), "1 member retried. 1 member was not retried.": words.BatchRetried(1, 1, false),
		"500 members retried. 2 members were not retried. More dead members remain: retry again.": words.BatchRetried(500, 2, true),
	} {
		if got != want {
			t.Errorf("retried: got %q, want %q", got, want)
		}
	}
}
