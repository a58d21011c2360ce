package check

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// batchCounts compares each batch with its members. Retention removes members and leaves the
// counts, so with retention there may be fewer ended members.
func batchCounts(x *index, broken func(job.ID, string, ...any)) {
	counted := make(map[int64]*store.BatchCounts)
	live := make(map[int64]int64)
	drafts := make(map[[2]int64]int64)
	for i := range x.Dump.Jobs {
		j := &x.Dump.Jobs[i]
		if j.Batch == 0 || j.Aside {
			continue
		}
		c := counted[j.Batch]
		if c == nil {
			c = &store.BatchCounts{}
			counted[j.Batch] = c
		}
		c.Total++
		switch j.State {
		case job.Completed:
			c.Completed++
		case job.Dead:
			c.Dead++
		case job.Cancelled:
			c.Cancelled++
		case job.None, job.Waiting, job.Retrying, job.Running:
			live[j.Batch]++
		}
	}
	purged := x.purgedMembers()
	for i := range x.Dump.Drafts {
		aside := int64(0)
		if x.Dump.Drafts[i].Aside {
			aside = 1
		}
		drafts[[2]int64{x.Dump.Drafts[i].Batch, aside}]++
	}
	for i := range x.Dump.Batches {
		b := &x.Dump.Batches[i]
		c := counted[b.ID]
		if c == nil {
			c = &store.BatchCounts{}
		}
		fewer := x.Retention && c.Total <= b.Total && c.Completed <= b.Completed && c.Dead <= b.Dead && c.Cancelled <= b.Cancelled
		gone := b.Total - c.Total // members that people have removed; those that were aside are not counted
		with := store.BatchCounts{Total: c.Total + gone, Completed: c.Completed, Dead: c.Dead + gone, Cancelled: c.Cancelled, Running: c.Running}
		if (gone < 0 || gone > purged[b.ID] || with != b.BatchCounts) && !fewer {
			broken(0, "batch %d counts %+v, but its members are %+v", b.ID, b.BatchCounts, *c)
		}
		if n := b.Total - b.Completed - b.Dead - b.Cancelled; n != live[b.ID] {
			broken(0, "by its counts, batch %d has %d members that have not ended, but there are %d", b.ID, n, live[b.ID])
		}
		if n, m := drafts[[2]int64{b.ID, 0}], drafts[[2]int64{b.ID, 1}]; n != b.Drafts || m != b.AsideDrafts {
			broken(0, "batch %d counts %d drafts and %d aside, but there are %d and %d", b.ID, b.Drafts, b.AsideDrafts, n, m)
		}
		x.batchState(b, broken)
	}
}

// purgedMembers counts the dead members of each batch that people have removed: their batch still counts those that
// were not aside.
func (x *index) purgedMembers() map[int64]int64 {
	purged := make(map[int64]int64)
	for _, p := range x.jobs {
		if len(p.events) > 0 && p.events[0].Batch != 0 && p.row() == nil && p.letterOf().purged {
			purged[p.events[0].Batch]++
		}
	}
	return purged
}

// batchState checks the state of a batch by its counts and its last outcome.
func (x *index) batchState(b *store.Batch, broken func(job.ID, string, ...any)) {
	outcomes := x.Dump.Outcomes[b.ID]
	switch {
	case b.State == job.BatchProcessing && b.Task == store.NoTask && b.AllEnded():
		broken(0, "all members of batch %d have ended, but its state is %s", b.ID, b.State)
	case b.State.Ended() && len(outcomes) == 0:
		broken(0, "batch %d is %s without an outcome", b.ID, b.State)
	case b.State.Ended() && outcomes[len(outcomes)-1].State != b.State:
		broken(0, "batch %d is %s, but its last outcome is %s", b.ID, b.State, outcomes[len(outcomes)-1].State)
	case b.State == job.BatchDraft && b.Total > 0:
		broken(0, "batch %d is %s and has %d published members", b.ID, b.State, b.Total)
	case b.State == job.BatchExpired && (len(outcomes) == 0 || b.ExpiresAt == 0 || b.ExpiresAt > x.Dump.Now):
		broken(0, "batch %d is %s with %d outcomes, and expires at %d", b.ID, b.State, len(outcomes), b.ExpiresAt)
	case b.State == job.BatchExpired && !b.AllEnded():
		broken(0, "batch %d is %s, and not all of its %d members have ended", b.ID, b.State, b.Total)
	}
}

// oneOutcome compares the outcomes with the events and with the callbacks.
func oneOutcome(x *index, broken func(job.ID, string, ...any)) {
	reported := make(map[string]int) // the number of events for each batch and outcome
	callbacks := make(map[string]int)
	for i := range x.Dump.Events {
		e := &x.Dump.Events[i]
		if state, err := job.ParseBatchState(strings.ToUpper(e.Reason)); e.Type == event.BatchChanged && err == nil && state.Ended() {
			reported[strconv.FormatInt(e.Batch, 10)+":"+e.Note]++
		}
		// Notices of an outcome, and of callbacks that died, have the same correlation.
		if e.Type == event.JobEnqueued && e.Queue != notify.Queue && strings.HasPrefix(e.Correlation, "batch:") {
			callbacks[strings.TrimPrefix(e.Correlation, "batch:")]++
		}
	}
	for i := range x.Dump.Batches {
		b := &x.Dump.Batches[i]
		if n := int64(len(x.Dump.Outcomes[b.ID])); n != b.Outcome {
			broken(0, "batch %d has %d outcomes, and its number of the last one is %d", b.ID, n, b.Outcome)
		}
		for k, o := range x.Dump.Outcomes[b.ID] {
			name := strconv.FormatInt(b.ID, 10) + ":" + strconv.FormatInt(o.N, 10)
			if o.N != int64(k)+1 || o.State != job.BatchOutcomeOf(o.Completed, o.Dead, o.Cancelled) || o.Total != o.Completed+o.Dead+o.Cancelled {
				broken(0, "outcome %d of batch %d is %+v", k+1, b.ID, o)
			}
			if x.Retention {
				continue
			}
			if reported[name] != 1 {
				broken(0, "outcome %d of batch %d has %d events, want 1", o.N, b.ID, reported[name])
			}
			want := 0
			for c := range b.Callbacks {
				if b.Callbacks[c].Wants(o.State) {
					want++
				}
			}
			if callbacks[name] != want {
				broken(0, "outcome %d of batch %d has %d callbacks, want %d", o.N, b.ID, callbacks[name], want)
			}
		}
	}
}

// noEarlyOutcome follows the members by their events, and compares them with each end of their batch. When a batch
// has expired, no member of it lives again and it has no outcome any more.
func noEarlyOutcome(x *index, broken func(job.ID, string, ...any)) {
	live := make(map[int64]map[job.ID]int) // 1 for a member that has not ended
	expired := make(map[int64]bool)
	aside := make(map[job.ID]bool)
	for i := range x.Dump.Jobs {
		aside[x.Dump.Jobs[i].ID] = x.Dump.Jobs[i].Aside
	}
	for i := range x.Dump.Events {
		e := &x.Dump.Events[i]
		if isTransition(e) && e.Batch != 0 && !aside[e.Job] {
			members := live[e.Batch]
			if members == nil {
				members = make(map[job.ID]int)
				live[e.Batch] = members
			}
			if (e.From == job.None || e.From.Terminal()) && !e.To.Terminal() {
				members[e.Job]++
				if expired[e.Batch] {
					broken(e.Job, "went to %s at event %s, after its batch %d had expired", e.To, e.Cursor, e.Batch)
				}
			} else if e.To.Terminal() {
				members[e.Job]--
			}
			if members[e.Job] == 0 {
				delete(members, e.Job)
			}
		}
		state, err := job.ParseBatchState(strings.ToUpper(e.Reason))
		if e.Type != event.BatchChanged || err != nil || !state.Ended() && state != job.BatchExpired {
			continue
		}
		if expired[e.Batch] {
			broken(0, "batch %d was %s at event %s, after it had expired", e.Batch, e.Reason, e.Cursor)
		}
		expired[e.Batch] = state == job.BatchExpired
		for id := range live[e.Batch] {
			broken(id, "batch %d was %s at event %s at %s, when %d of its members had not ended; this is one of them", e.Batch, e.Reason, e.Cursor, e.At.Time().Format("15:04:05.000000"), len(live[e.Batch]))
			break
		}
	}
}
