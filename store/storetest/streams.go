package storetest

import (
	"errors"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func streamPromises() []promise {
	return []promise{
		{"S4_RecordsAreTakenOnce", recordsAreTakenOnce},
		{"S4_TwoReadersOfOnePartitionTakeEachRecordOnce", twoReaders},
		{"S4_GapIsRefused", gapIsRefused},
		{"S4_HolesInOffsetsAreNoGap", holesAreNoGap},
		{"S4_PositionAndJobsAreOneTransaction", takeIsOneTransaction},
		{"I1_RepeatedRecordIsSkipped", repeatedRecord},
		{"I1_ConflictsAreAllNamed", conflictsAreNamed},
		{"S3_RecordOfDeadJobRevivesIt", recordRevives},
		{"S3_RecordOfCancelledJobIsANewOne", recordOfCancelled},
		{"S1_FatesAreCounted", fatesAreCounted},
		{"S6_DeadOnArrival", deadOnArrival},
		{"S4_FirstPositionStays", firstPositionStays},
		{"S4_MoveOfPositionIsAudited", moveIsAudited},
		{"S4_StreamIsPausedAndResumed", streamIsPaused},
		{"S4_ReportsAreKeptForADay", reportsAreKept},
		{"S4_SinkHasOneHolder", sinkHasOneHolder},
		{"S4_SinkKeepsItsError", sinkKeepsItsError},
		{"X3_StreamBounds", streamBounds},
		{"I2_MarkHasOneHolder", markHasOneHolder},
		{"I2_MarkOfSixteen", markOfSixteen},
		{"I2_MarkIsForgotten", markIsForgotten},
		{"X3_MarkBounds", markBounds},
	}
}

const stream = "chat"

var place = store.Place{Cluster: "c1", TopicID: "t1"}

// begin begins the default stream with one partition at the given offset.
func (r *rig) beginStream(next int64) {
	_, err := r.BeginPositions(ctx(), stream, []store.Position{{Place: place, Topic: "tasks", Next: next}})
	r.ok(err)
}

// record returns a record with a job that has a key.
func (r *rig) record(offset int64, key string, options ...func(*job.New)) store.Record {
	n := r.newJob(options...)
	n.Key, n.Digest = key, []byte("digest of "+string(n.Payload))
	return store.Record{Offset: offset, Fate: store.FateTaken, Job: n}
}

func taking(from, next int64, records ...store.Record) store.Taking {
	return store.Taking{Stream: stream, Parts: []store.TakingPart{{Place: place, From: from, Next: next, Records: records}}}
}

func (r *rig) takeRecords(from, next int64, records ...store.Record) (fates []string) {
	answer, err := r.Take(ctx(), taking(from, next, records...))
	r.ok(err)
	for _, a := range answer {
		fates = append(fates, a.Fate.String())
	}
	return fates
}

func (r *rig) position() store.Position {
	list, err := r.Positions(ctx(), stream)
	r.ok(err)
	if len(list) != 1 {
		r.fail("got %d positions, want 1", len(list))
	}
	return list[0]
}

// part of: S4
func recordsAreTakenOnce(r *rig) {
	r.beginStream(0)
	a, b, c := r.record(0, "a"), r.record(1, "b"), r.record(2, "")
	c.Job.Digest = nil
	same(r, "fates", r.takeRecords(0, 3, a, b, c), []string{"taken", "taken", "taken"})
	same(r, "state", r.get(c.Job.ID).State, job.Waiting)
	// The same call again, as after a lost answer: also the record without a key is not taken again.
	r.unchangedBut(func(d *store.Dump) { d.Positions[0].Counts.Replayed = 0 }, func() {
		same(r, "fates of the repetition", r.takeRecords(0, 3, a, b, c), []string{"replayed", "replayed", "replayed"})
	})
	// A reader that has read a part of it again, and more.
	d := r.record(3, "d")
	c.Job.ID = r.newJob().ID
	same(r, "fates of an overlapping part", r.takeRecords(2, 4, c, d), []string{"replayed", "taken"})
	same(r, "next", r.position().Next, int64(4))
	same(r, "number of jobs", len(r.dump().Jobs), 4)
}

// unchangedBut is unchanged, but for what the function resets in both dumps.
func (r *rig) unchangedBut(reset func(*store.Dump), f func()) {
	before := r.dump()
	f()
	after := r.dump()
	reset(before)
	reset(after)
	same(r, "content of the store", after, before)
}

// part of: S4
func twoReaders(r *rig) {
	r.beginStream(0)
	const readers, n = 4, 50
	var records [readers][]store.Record
	for i := range readers {
		for k := range n {
			rec := r.record(int64(k), "")
			rec.Job.Digest = nil
			records[i] = append(records[i], rec)
		}
	}
	var group sync.WaitGroup
	errs := make([]error, readers)
	for i := range readers {
		group.Go(func() {
			for k := 0; k < n && errs[i] == nil; k += 5 {
				_, errs[i] = r.Take(ctx(), taking(int64(k), int64(k+5), records[i][k:k+5]...))
			}
		})
	}
	group.Wait()
	r.ok(errors.Join(errs...))
	same(r, "number of jobs", len(r.dump().Jobs), n)
	p := r.position()
	same(r, "position and counts", []int64{p.Next, p.Counts.Taken, p.Counts.Read, p.Counts.Replayed}, []int64{n, n, n, (readers - 1) * n})
}

// part of: S4
func gapIsRefused(r *rig) {
	r.beginStream(10)
	r.unchanged(func() {
		_, err := r.Take(ctx(), taking(12, 13, r.record(12, "a")))
		r.is(err, store.ErrConflict)
		gap, ok := errors.AsType[*store.Gap](err)
		if !ok || gap.Position != 10 || gap.From != 12 || gap.Place != place {
			r.fail("got error %v, want a gap from 10 to 12", err)
		}
	})
	_, err := r.Take(ctx(), store.Taking{Stream: stream, Parts: []store.TakingPart{{Place: store.Place{TopicID: "other"}}}})
	r.is(err, store.ErrNotFound)
}

// part of: S4
func holesAreNoGap(r *rig) {
	r.beginStream(10)
	same(r, "fates", r.takeRecords(10, 20, r.record(14, "a"), r.record(17, "b")), []string{"taken", "taken"})
	same(r, "fates of an empty part", r.takeRecords(20, 25), nil)
	p := r.position()
	same(r, "next and read", []int64{p.Next, p.Counts.Read}, []int64{25, 2})
}

// part of: S4
func takeIsOneTransaction(r *rig) {
	second := store.Place{Cluster: "c1", TopicID: "t1", Partition: 1}
	_, err := r.BeginPositions(ctx(), stream, []store.Position{{Place: place}, {Place: second}})
	r.ok(err)
	r.drain(queue)
	r.unchanged(func() { // the queue takes no jobs: nothing is taken of either partition
		x := taking(0, 1, r.record(0, "a"))
		x.Parts = append(x.Parts, store.TakingPart{Place: second, Next: 1, Records: []store.Record{{Offset: 0, Fate: store.FateEmpty}}})
		_, err := r.Take(ctx(), x)
		r.is(err, store.ErrDraining)
	})
	r.unchanged(func() {
		held := r.record(0, "b", func(n *job.New) { n.Queue = "free" })
		held.Job.ID = 0
		_, err := r.Take(ctx(), taking(0, 1, held))
		r.is(err, store.ErrInvalid)
	})
}

func (r *rig) drain(name string) {
	r.ok(r.Declare(ctx(), []string{name}))
	_, err := r.SetQueue(ctx(), operator, store.QueueChange{Name: name, Mode: new(store.Draining)})
	r.ok(err)
}

// part of: I1
func repeatedRecord(r *rig) {
	r.beginStream(0)
	a := r.record(0, "a")
	r.takeRecords(0, 1, a)
	answer, err := r.Take(ctx(), taking(1, 3, r.record(1, "a"), r.record(2, "a")))
	r.ok(err)
	again := store.Taken{Fate: store.FateExisting, Job: a.Job.ID, State: job.Waiting}
	same(r, "answer", answer, []store.Taken{again, again})
	r.end(outcome(r.takeID(a.Job.ID), job.Succeeded, job.Completed))
	answer, err = r.Take(ctx(), taking(3, 4, r.record(3, "a")))
	r.ok(err)
	again.State = job.Completed
	same(r, "answer after the end", answer, []store.Taken{again})
}

// part of: I1
func conflictsAreNamed(r *rig) {
	r.beginStream(0)
	a := r.record(0, "a")
	r.takeRecords(0, 1, a)
	other := func(n *job.New) { n.Payload = []byte("other") }
	b, c := r.record(2, "b"), r.record(3, "b", other)
	records := []store.Record{r.record(1, "a", other), b, c, r.record(4, "d")}
	r.unchanged(func() {
		_, err := r.Take(ctx(), taking(1, 5, records...))
		r.is(err, store.ErrConflict)
		conflict, ok := errors.AsType[*store.TakeConflict](err)
		if !ok || len(conflict.Conflicts) != 2 {
			r.fail("got error %v, want two conflicts", err)
		}
		for i, want := range []store.KeyConflict{{Index: 0, ID: a.Job.ID}, {Index: 2, ID: b.Job.ID}} {
			got := conflict.Conflicts[i]
			same(r, "conflict", []int64{int64(got.Index), int64(got.ID)}, []int64{int64(want.Index), int64(want.ID)})
		}
	})
	for _, i := range []int{0, 2} {
		records[i].Fate, records[i].Job.Key, records[i].Job.Digest = store.FateDead, "", nil
	}
	same(r, "fates", r.takeRecords(1, 5, records...), []string{"dead", "taken", "dead", "taken"})
}

// part of: S3
func recordRevives(r *rig) {
	r.beginStream(0)
	a := r.record(0, "a")
	r.takeRecords(0, 1, a)
	r.end(died(r.takeID(a.Job.ID), "InvalidInput", job.NonRetriable))
	same(r, "fate of a plain record", r.takeRecords(1, 2, r.record(1, "a")), []string{"existing"})
	again, more := r.record(2, "a"), r.record(3, "a")
	again.Revive, more.Revive = true, true
	same(r, "fates", r.takeRecords(2, 4, again, more), []string{"revived", "existing"})
	j := r.get(a.Job.ID)
	same(r, "state and life", []any{j.State, j.Life}, []any{job.Waiting, int32(2)})
	last := r.audit()[len(r.audit())-1]
	same(r, "audit row", []string{last.Actor, last.Action, last.Target}, []string{"stream:" + stream, "job.retry", a.Job.ID.String()})
	// The record is read once more, as after a rewind: the job is alive.
	again.Job.ID, again.Offset = r.newJob().ID, 4
	same(r, "fate of a repetition", r.takeRecords(4, 5, again), []string{"existing"})
}

// part of: S3
func recordOfCancelled(r *rig) {
	r.beginStream(0)
	a := r.record(0, "a")
	r.takeRecords(0, 1, a)
	answers, err := r.Cancel(ctx(), operator, []job.ID{a.Job.ID})
	r.ok(errors.Join(append(answers, err)...))
	same(r, "fate of a plain record", r.takeRecords(1, 2, r.record(1, "a")), []string{"existing"})
	r.clock.Advance(time.Second)
	again, more := r.record(2, "a", func(n *job.New) { n.Payload = []byte("other") }), r.record(3, "a", func(n *job.New) { n.Payload = []byte("other") })
	again.Revive, more.Revive = true, true
	answer, err := r.Take(ctx(), taking(2, 4, again, more))
	r.ok(err)
	same(r, "answer", answer, []store.Taken{{Fate: store.FateTaken, Job: again.Job.ID}, {Fate: store.FateExisting, Job: again.Job.ID, State: job.Waiting}})
	id, err := r.Lookup(ctx(), "", a.Job.Kind, "a")
	r.ok(err)
	same(r, "who has the key", id, again.Job.ID)
	same(r, "the state of the cancelled job", r.get(a.Job.ID).State, job.Cancelled)
}

// part of: S1
func fatesAreCounted(r *rig) {
	r.beginStream(0)
	dead := r.record(1, "")
	dead.Fate, dead.Job.Digest = store.FateDead, nil
	records := []store.Record{r.record(0, "a"), dead, {Offset: 2, Fate: store.FateOwn}, {Offset: 3, Fate: store.FateForeign}, {Offset: 4, Fate: store.FateProcessed}, {Offset: 5, Fate: store.FateEmpty}, r.record(6, "a")}
	same(r, "fates", r.takeRecords(0, 7, records...), []string{"taken", "dead", "own", "foreign", "processed", "empty", "existing"})
	same(r, "counts", r.position().Counts, store.FateCounts{Read: 7, Taken: 1, Existing: 1, Dead: 1, Own: 1, Foreign: 1, Processed: 1, Empty: 1})
	same(r, "number of jobs", len(r.dump().Jobs), 2)
	_, err := r.Take(ctx(), taking(7, 8, store.Record{Offset: 7, Fate: store.FateExisting}))
	r.is(err, store.ErrInvalid)
}

// part of: S6
func deadOnArrival(r *rig) {
	r.beginStream(0)
	dead := r.record(1, "", func(n *job.New) { n.Payload = []byte("not a task") })
	dead.Fate, dead.Job.Digest, dead.Death = store.FateDead, nil, new(died(job.Claim{ID: dead.Job.ID, Token: 1}, "InvalidInput", job.Malformed))
	before := r.now()
	same(r, "fates", r.takeRecords(0, 3, r.record(0, "a"), dead, r.record(2, "b")), []string{"taken", "dead", "taken"})
	j := r.get(dead.Job.ID)
	same(r, "the job", []any{j.State, j.Token, j.Life, j.Counters.Attempts, j.Holder, j.ClaimedAt, string(j.Payload)},
		[]any{job.Dead, job.Token(1), int32(1), int32(1), "stream:" + stream, before, "not a task"})
	page, err := r.DeadLetters(ctx(), store.DeadFilter{}, store.DeadPaging{})
	r.ok(err)
	if len(page.Entries) != 1 || page.Entries[0].DeadLetter.Job != j.ID || page.Entries[0].Reason != "malformed" {
		r.fail("got the dead letters %+v, want one of job %d with the reason malformed", page.Entries, j.ID)
	}
	failures, err := r.Failures(ctx(), j.ID)
	r.ok(err)
	same(r, "number of failures", len(failures), 1)
	// A part that is read again does not end it twice, and a retry opens the next life.
	same(r, "fates of the repetition", r.takeRecords(0, 3, r.record(0, "a"), dead, r.record(2, "b")), []string{"replayed", "replayed", "replayed"})
	r.unchanged(func() {
		for token, due := range map[job.Token]job.Micros{2: 0, 1: r.in(time.Minute)} {
			late := r.record(3, "")
			late.Fate, late.Job.Digest, late.Job.RunAt = store.FateDead, nil, due
			late.Death = new(died(job.Claim{ID: late.Job.ID, Token: token}, "InvalidInput", job.NonRetriable))
			_, err := r.Take(ctx(), taking(3, 4, late))
			r.is(err, store.ErrInvalid)
		}
	})
}

// part of: S4
func firstPositionStays(r *rig) {
	r.beginStream(5)
	r.takeRecords(5, 7)
	r.clock.Advance(time.Second)
	list, err := r.BeginPositions(ctx(), stream, []store.Position{{Place: place, Topic: "tasks", Next: 0}, {Place: store.Place{Cluster: "c1", TopicID: "t1", Partition: 1}, Topic: "tasks", Next: 3}})
	r.ok(err)
	want := []store.Position{
		{Stream: stream, Place: place, Topic: "tasks", Next: 7, First: 5, Reached: 7, MovedAt: r.start},
		{Stream: stream, Place: store.Place{Cluster: "c1", TopicID: "t1", Partition: 1}, Topic: "tasks", Next: 3, First: 3, Reached: 3, MovedAt: r.now()},
	}
	same(r, "positions", list, want)
	all, err := r.Positions(ctx(), "")
	r.ok(err)
	same(r, "all positions", all, want)
	none, err := r.Positions(ctx(), "other")
	r.ok(err)
	same(r, "positions of another stream", none, nil)
}

// part of: S4
func moveIsAudited(r *rig) {
	r.beginStream(0)
	r.takeRecords(0, 9)
	move := store.PositionMove{Stream: stream, Place: place, From: 9, To: 4, What: "rewind"}
	r.clock.Advance(time.Second)
	p, err := r.MovePosition(ctx(), operator, move)
	r.ok(err)
	same(r, "position", []any{p.Next, p.Reached, p.MovedAt}, []any{int64(4), int64(9), r.now()})
	row := r.audit()[0]
	same(r, "audit row", []string{row.Actor, row.Action, row.Target, row.Before, row.After},
		[]string{operator.Actor, "stream.rewind", "chat/tasks/0", `{"cluster":"c1","topic_id":"t1","next":9}`, `{"cluster":"c1","topic_id":"t1","next":4}`})
	var seen []string
	for _, e := range r.dump().Events {
		if e.Type == event.PositionMoved {
			seen = append(seen, e.Note+" "+e.Reason)
			same(r, "offsets of the event", []int64{e.Done, e.Total}, []int64{9, 4})
		}
	}
	same(r, "events", seen, []string{"chat/tasks/0 rewind"})
	r.unchanged(func() {
		_, err := r.MovePosition(ctx(), operator, move)
		r.is(err, store.ErrMoved)
		gap := move
		gap.From, gap.To, gap.What = 4, 2, "accept-gap"
		_, err = r.MovePosition(ctx(), operator, gap)
		r.is(err, store.ErrInvalid)
		move.Partition = 7
		_, err = r.MovePosition(ctx(), operator, move)
		r.is(err, store.ErrNotFound)
	})
	_, err = r.Take(ctx(), taking(9, 9))
	r.is(err, store.ErrConflict) // the reader must go back
	same(r, "fate of a record that is read again", r.takeRecords(4, 5, r.record(4, "a")), []string{"taken"})
}
