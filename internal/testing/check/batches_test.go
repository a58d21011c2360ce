package check_test

import (
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// batchMutants are histories with a batch that does not agree with its members or its outcomes.
func batchMutants() []mutant {
	with := func(b store.Batch, outcomes ...store.BatchOutcome) func(*check.History) {
		return func(h *check.History) {
			b.ID = 1
			h.Dump.Batches = []store.Batch{b}
			h.Dump.Outcomes = map[int64][]store.BatchOutcome{1: outcomes}
		}
	}
	counts := store.BatchCounts{Total: 1, Completed: 1}
	return []mutant{
		{"a batch counts a member that is not there", breaks(check.BatchCounts), with(store.Batch{State: job.BatchProcessing, BatchCounts: store.BatchCounts{Total: 2, Completed: 1}})},
		{"a batch counts a draft that is not there", breaks(check.BatchCounts), with(store.Batch{State: job.BatchDraft, Drafts: 1})},
		{"a batch has not ended although all its members have", breaks(check.BatchCounts), with(store.Batch{State: job.BatchProcessing, BatchCounts: counts})},
		{"a batch has ended without an outcome", breaks(check.BatchCounts), with(store.Batch{State: job.BatchReady})},
		{"a batch has expired that never ended", breaks(check.BatchCounts), with(store.Batch{State: job.BatchExpired, NewBatch: store.NewBatch{ExpiresAt: 1}})},
		{"a batch has expired before its time", breaks(check.BatchCounts, check.OneOutcome), with(store.Batch{State: job.BatchExpired, Outcome: 1}, store.BatchOutcome{N: 1, State: job.BatchReady})},
		{"an outcome was lost", breaks(check.OneOutcome), with(store.Batch{State: job.BatchDraft, Outcome: 1})},
		{"an outcome has no event", breaks(check.OneOutcome), with(store.Batch{State: job.BatchReady, Outcome: 1}, store.BatchOutcome{N: 1, State: job.BatchReady})},
		{"a batch ended before its member", breaks(check.NoEarlyOutcome), changesBefore(event.JobSucceeded, "ready")},
		{"a batch expired before its member had ended", breaks(check.NoEarlyOutcome), changesBefore(event.JobSucceeded, "expired")},
		{"a member was added after its batch had expired", breaks(check.NoEarlyOutcome), changesBefore(event.JobEnqueued, "expired")},
		{"a batch ended after it had expired", breaks(check.NoEarlyOutcome), changesBefore(event.JobEnqueued, "expired", "ready")},
	}
}

// changesBefore makes a job the member of a batch, which changes to the states before the event of the job.
func changesBefore(t event.Type, states ...string) func(*check.History) {
	return func(h *check.History) {
		at := -1
		for i := range h.Dump.Events {
			if e := &h.Dump.Events[i]; e.Job == plain {
				if e.Batch = 1; e.Type == t {
					at = i
				}
			}
		}
		for i, state := range states {
			e := h.Dump.Events[at]
			h.Dump.Events = slices.Insert(h.Dump.Events, at+i, event.Event{Cursor: e.Cursor, At: e.At, Type: event.BatchChanged, Batch: 1, Reason: state, Note: "1"})
		}
	}
}
