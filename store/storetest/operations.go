package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// This file has the operations of a differential run. They draw names and numbers from small
// sets, so that several operations often concern the same job, queue or key.

// operations returns the operations from which each step of a run draws one. The first operations
// are drawn more often, because the other operations need jobs, runs and dead letters.
//
// It draws the operations that reach what is unseen ten times as often as the others.
func (d *duel) operations(unseen []string) map[string]func(*rapid.T) {
	type operation struct {
		name string
		do   func()
	}
	ops := []operation{
		{"claim all", d.claimAll}, {"exchange", d.exchange}, {"enqueue", d.enqueue}, {"endDead", d.endDead}, {"start redrive", d.startRedrive},
		{"read dead letters", d.readDead}, {"step redrives", d.stepRedrives}, {"claim all later", d.claimAllLater}, {"act by id", d.actIDs},
		{"act by filter", d.actFilter}, {"rescue late", d.rescueLate}, {"enqueue", d.enqueue}, {"exchange", d.exchange},
		{"control redrive", d.controlRedrive}, {"step redrives", d.stepRedrives}, {"set queue", d.setQueue}, {"heartbeat", d.heartbeat},
		{"advance", d.advance}, {"rescue", d.rescue}, {"cancel", d.cancel}, {"retry", d.retry}, {"fire", d.fire}, {"set schedule", d.setSchedule}, {"run schedule", d.runSchedule},
		{"declare", d.declare}, {"signals", d.signals}, {"read", d.read}, {"list", d.list}, {"exchange", d.exchange},
		{"publish policy", d.publish}, {"notify", d.notices}, {"sweep", d.sweep}, {"exchange", d.exchange},
		{"present", d.present}, {"change cause", d.changeCause}, {"add note", d.addNote}, {"request", d.request}, {"access", d.access}, {"endpoints", d.endpoints}, {"complete what was retried", d.completeRetried},
		{"read figures", d.readFigures},
		{"stream", d.stream}, {"alter", d.alter}, {"act on live jobs", d.actLive},
		{"create batch", d.createBatch}, {"add members", d.addMembers}, {"publish batch", d.publishBatch}, {"step batches", d.stepBatches},
		{"end members", d.endMembers}, {"change batch", d.changeBatch}, {"read batches", d.readBatches}, {"publish batch", d.publishBatch}, {"step batches", d.stepBatches},
	}
	for _, what := range unseen {
		for _, op := range ops {
			if op.name == reachedBy[what] {
				ops = append(ops, slices.Repeat([]operation{op}, 9)...)
				break
			}
		}
	}
	steps := map[string]func(*rapid.T){}
	for i, op := range ops {
		// the names are numbered, because rapid sorts the operations by their names
		steps[fmt.Sprintf("%02d %s", i, op.name)] = func(t *rapid.T) {
			d.t = t
			op.do()
		}
	}
	return steps
}

// reachedBy names, for what few sequences reach, the operation that reaches it.
var reachedBy = map[string]string{
	"CancelBatch": "change batch", "DiscardBatch": "change batch", "SetBatch": "change batch", "batch that expires": "change batch",
	"Member": "read batches", "member that is known": "add members", "cancelled member that comes back": "add members",
	"batch that is reopened": "end members", "record that is dropped": "stream", "record that revives a job": "stream",
	"key that is rotated": "access", "key that is revoked": "access", "EndRequest": "request", "request that exists": "request",
	"MergeGroups": "change cause", "cause that regresses": "change cause", "redrive that patches a payload": "start redrive",
	"live job that a redrive changes": "step redrives", "window that is closed": "notify", "notice that is made": "notify",
	"enqueue with a known key": "enqueue", "note that a sweep removes": "sweep", "slot that is fired": "fire",
}

func operationNames() []string {
	return []string{
		"ReserveIDs", "Enqueue", "Exchange", "Heartbeat", "Rescue", "Cancel", "Retry", "SetQueue", "Declare", "Signals",
		"Get", "GetAll", "Latest", "Lookup", "Processed", "Failures", "DeadLetter", "List", "Series", "Due", "Heads", "Counts", "Queues", "Events", "EventSpan", "Audit", "AuditPage",
		"settle that is written", "settle that is written again", "heartbeat of a run that is still held", "enqueue with a known key",
		"enqueue that is repeated", "cancel that is taken", "retry that is taken",
		"DeadLetters", "Groups", "DeadStats", "Preview", "Act", "Original", "StartRedrive", "Redrive", "RedriveList", "ControlRedrive",
		"StepRedrives", "Sweep", "Fire", "SetSchedule", "RunSchedule", "Schedules", "PublishPolicy", "Policy", "PolicyList", "PublishNotify", "NotifyRules", "CloseWindows", "notice that is made", "window that is closed", "Present", "Processes", "OrderProcess",
		"SetGroup", "MergeGroups", "AddNote", "Notes", "BeginRequest", "EndRequest", "PutEndpoint", "Endpoints", "RemoveEndpoint", "CountEndpoint", "PutKey", "UsedKeys", "AccessKeys", "Secret", "key that is rotated", "key that is revoked", "request that exists", "cause that regresses", "retry that helps", "note that a sweep removes",
		"Alter", "PreviewLive", "ActLive", "alter that is taken", "act on live jobs that changes something", "live job that a redrive changes",
		"act by id that is taken", "act by filter that changes something", "job that a redrive brings back", "redrive that patches a payload",
		"removal by a sweep", "reopening by a sweep", "BeginPositions", "Take", "MovePosition", "SetStream", "LeaseSink", "SaveSink", "ClaimMark", "EndMark", "ReportStream", "record that is dropped", "slot that is fired", "process that is found silent",
	}
}

func (d *duel) did(op string, times int) {
	if times > 0 {
		d.seen.ops[op] += times
	}
}

func (d *duel) advance() { d.clock.Advance(d.tick("time")) }

func (d *duel) enqueue() {
	n := rapid.IntRange(1, 4).Draw(d.t, "number of jobs")
	first := d.reserve(n)
	jobs := make([]job.New, n)
	for i := range jobs {
		jobs[i] = d.newJob(first + job.ID(i))
	}
	a := d.each("Enqueue", func(s store.Store) (any, error) { return s.Enqueue(ctx(), jobs) })
	if a.Err != "" {
		return
	}
	for i, receipt := range a.Value.([]job.Receipt) {
		switch {
		case receipt.Existing:
			d.did("enqueue with a known key", 1)
		case jobs[i].Repeat && slices.Contains(d.ids, receipt.ID):
			d.did("enqueue that is repeated", 1)
		default:
			d.ids = append(d.ids, receipt.ID)
			d.news = append(d.news, jobs[i])
		}
	}
}

func (d *duel) newJob(id job.ID) job.New {
	t := d.t
	if len(d.news) > 0 && chance(t, "repeat", 8) {
		n := pick(t, "job", d.news...)
		// Do not enqueue a removed job again with Repeat. Real callers do not repeat a call so
		// late, and the store would accept the job as a new job.
		if n.Repeat = true; slices.ContainsFunc(d.last.Jobs, func(j job.Job) bool { return j.ID == n.ID }) {
			return n
		}
	}
	n := job.New{
		ID: id, Kind: d.kind(), Queue: d.queue(),
		Priority: rapid.Int8Range(job.PriorityMin, job.PriorityMax).Draw(t, "priority"),
		Owner:    pick(t, "owner", "", "", "alice"), Correlation: pick(t, "correlation", "", "req-7"),
		Deps:  pick(t, "deps", "", "", "s3"),
		Attrs: pick(t, "attrs", nil, []byte(`{"a":1}`)), Override: pick(t, "policy", nil, []byte(`{}`)), Payload: pick(t, "payload", nil, []byte("p"), []byte(`{"p":1}`), []byte(`{"p":1}`), make([]byte, 1025)),
	}
	if chance(t, "in a batch", 3) {
		n.Batch, n.Aside = d.batch(), chance(t, "aside", 3)
	}
	if chance(t, "scheduled", 3) {
		n.RunAt = d.now().Add(d.tick("due") - pick(t, "earlier", 0, time.Minute))
	}
	if chance(t, "deadline", 2) {
		n.Deadline = d.now().Add(pick(t, "time to live", time.Minute, lease, 10*time.Second, time.Hour, time.Microsecond))
	}
	if chance(t, "keyed", 2) {
		d.drawKey(&n)
	}
	if chance(t, "terms", 2) {
		n.Terms = d.terms()
	}
	n.Repeat = chance(t, "repeat of nothing", 16)
	switch rapid.IntRange(0, 39).Draw(t, "bad") {
	case 39:
		n.Priority = 9
	case 38:
		n.Owner = strings.Repeat("a", job.TextMax+1)
	}
	return n
}

// drawKey gives a job a random idempotency key.
func (d *duel) drawKey(n *job.New) {
	t := d.t
	if chance(t, "held while alive", 3) {
		n.Key = job.AliveKey + pick(t, "alive key", "a", "b")
		if chance(t, "key of the payload", 2) { // if the key is made from the payload, a retry with another payload also changes the key
			n.Key = job.PayloadKey(job.AliveKey, n.Payload)
		}
		return
	}
	n.Key, n.Digest = pick(t, "key", "k1", "k2", "k3"), []byte(pick(t, "digest", "d1", "d1", "d1", "d2"))
	switch {
	case !chance(t, "key ends", 2):
	case chance(t, "key for a period", 2):
		n.KeyPeriod = pick(t, "period", time.Minute, time.Hour)
	default:
		n.KeyUntil = d.now().Add(d.tick("key until"))
	}
}

func (d *duel) kind() string  { return pick(d.t, "kind", "a", "b", "c") }
func (d *duel) queue() string { return pick(d.t, "queue", "x", "x", "y", "z") }

// run draws a run: mostly a current run, sometimes an earlier run or a run that does not
// exist.
func (d *duel) run() store.Run {
	var running []store.Run
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.State == job.Running {
			running = append(running, store.Run{ID: j.ID, Token: j.Token})
		}
	}
	switch {
	case len(running) > 0 && !chance(d.t, "other run", 6):
		return pick(d.t, "run", running...)
	case len(d.runs) > 0 && !chance(d.t, "impossible run", 4):
		return pick(d.t, "past run", d.runs...)
	}
	return store.Run{ID: d.id(), Token: job.Token(rapid.IntRange(1, 9).Draw(d.t, "token"))}
}

// id draws the id of a job. Most of these jobs exist.
func (d *duel) id() job.ID {
	if len(d.ids) == 0 || chance(d.t, "other job", 12) {
		return job.ID(rapid.IntRange(1, 1<<30).Draw(d.t, "id"))
	}
	return pick(d.t, "job", d.ids...)
}

func (d *duel) heartbeat() {
	b := store.Beat{Lease: max(time.Second, d.tick("lease"))}
	b.Begin = chance(d.t, "begin", 2)
	b.Runs = some(d.t, "runs", 3, func(int) store.Run { return d.run() })
	for i, run := range b.Runs {
		if !slices.Contains(b.Runs[:i], run) && chance(d.t, "progress", 2) {
			b.Progress = append(b.Progress, job.Progress{
				ID: run.ID, Token: run.Token, Done: rapid.Int64Range(0, 3).Draw(d.t, "done"), Total: 3, Note: pick(d.t, "note", "", "n"),
			})
		}
	}
	a := d.each("Heartbeat", func(s store.Store) (any, error) { return s.Heartbeat(ctx(), b) })
	for _, status := range a.Value.([]store.RunStatus) {
		if status.Held {
			d.did("heartbeat of a run that is still held", 1)
		}
	}
}

func (d *duel) rescue() {
	limit := rapid.IntRange(1, 3).Draw(d.t, "limit")
	d.each("Rescue", func(s store.Store) (any, error) { return s.Rescue(ctx(), limit) })
}

func (d *duel) rescueLate() {
	b := store.Beat{Lease: lease, Begin: true} // a crash can be the last one only if the run has begun
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.State == job.Running {
			b.Runs = append(b.Runs, store.Run{ID: j.ID, Token: j.Token})
		}
	}
	if len(b.Runs) > 0 && !chance(d.t, "no run begins", 4) {
		d.each("Heartbeat", func(s store.Store) (any, error) { return s.Heartbeat(ctx(), b) })
	}
	d.clock.Advance(lease)
	d.rescue()
}

func (d *duel) by() store.By {
	return store.By{Actor: pick(d.t, "actor", "ann", "ben"), Reason: pick(d.t, "reason", "", "because"), Via: pick(d.t, "via", "", "key k1 from 10.0.0.7"),
		Owner: pick(d.t, "in the name of", "", "", "alice")}
}

// bySeen draws a person who acts on jobs, and who may have seen a single one: as it is, or as it was
// in another life, state or run.
func (d *duel) bySeen(ids []job.ID) store.By {
	by := d.by()
	if len(ids) != 1 || !chance(d.t, "seen", 2) {
		return by
	}
	s := store.Seen{State: new(pick(d.t, "seen state", job.Waiting, job.Retrying, job.Running, job.Dead)), Life: new(int32(pick(d.t, "seen life", 1, 2)))}
	for i := range d.last.Jobs {
		if j := &d.last.Jobs[i]; j.ID == ids[0] && chance(d.t, "seen as it is", 2) {
			s = store.Seen{State: &j.State, Life: &j.Life, Token: &j.Token, Payload: j.Payload}
		}
	}
	for i := range d.last.Dead {
		if e := &d.last.Dead[i]; e.Job == ids[0] {
			s.Status = &e.Status
			s.Death = new(e.Death + int64(pick(d.t, "seen death", 0, 0, 1)))
		}
	}
	by.Seen = &s
	return by
}

func (d *duel) cancel() {
	ids := some(d.t, "ids", 2, func(int) job.ID { return d.id() })
	for i := range d.last.Jobs { // also cancel some retrying jobs, because a random id is rarely the id of such a job
		if j := &d.last.Jobs[i]; j.State == job.Retrying {
			ids = append(ids, j.ID)
		}
	}
	by := d.bySeen(ids)
	a := d.each("Cancel", func(s store.Store) (any, error) {
		errs, err := s.Cancel(ctx(), by, ids)
		return sentinels(errs), err
	})
	d.did("cancel that is taken", accepted(a))
}

func (d *duel) retry() {
	ids := some(d.t, "ids", 1, func(int) job.ID { return d.id() })
	for i := range d.last.Jobs { // also retry some dead jobs, because a random id is rarely the id of such a job
		if j := &d.last.Jobs[i]; j.State == job.Dead && chance(d.t, "dead job", 2) {
			ids = append(ids, j.ID)
		}
	}
	by := d.bySeen(ids)
	a := d.each("Retry", func(s store.Store) (any, error) {
		acted, err := s.Act(ctx(), by, store.Action{Do: store.ActRetry, IDs: ids, Note: by.Reason})
		return sentinels(acted.Errors), err
	})
	d.did("retry that is taken", accepted(a))
}

func accepted(a answer) (n int) {
	errs, _ := a.Value.([]string)
	for _, err := range errs {
		if err == "" {
			n++
		}
	}
	return n
}

func (d *duel) setQueue() {
	c := store.QueueChange{Name: pick(d.t, "queue", "x", "y", "z", "unheard")}
	if chance(d.t, "mode", 2) { // most queues stay open, because otherwise few jobs would be enqueued and claimed
		c.Mode = new(pick(d.t, "new mode", store.Open, store.Open, store.Open, store.Paused, store.Draining))
	}
	if chance(d.t, "workers", 3) {
		c.Workers = new(rapid.IntRange(-1, 3).Draw(d.t, "new workers"))
	}
	if chance(d.t, "limit", 3) {
		c.Limit = new(rapid.IntRange(-1, 3).Draw(d.t, "new limit"))
	}
	if chance(d.t, "rate", 3) {
		c.Rate = new(d.rate())
	}
	by := d.by()
	d.each("SetQueue", func(s store.Store) (any, error) { return s.SetQueue(ctx(), by, c) })
}

func (d *duel) declare() {
	names := some(d.t, "queues", 2, func(int) string { return pick(d.t, "queue", "x", "v", "w", "no good") })
	d.each("Declare", func(s store.Store) (any, error) { return nil, s.Declare(ctx(), names) })
}

func (d *duel) signals() {
	holder := d.holder()
	d.ask("Signals", func(s store.Store) (any, error) {
		signals, err := s.Signals(ctx(), holder)
		slices.SortFunc(signals.Cancel, func(a, b store.Run) int { return int(a.ID - b.ID) })
		return signals, err
	})
}

func (d *duel) holder() string { return pick(d.t, "holder", "w1", "w2") }

func (d *duel) rate() store.Rate {
	return pick(d.t, "rate", store.Rate{}, store.Rate{N: 6, Per: time.Minute}, store.Rate{N: 2, Per: time.Second}, store.Rate{N: 3, Per: 7 * time.Second})
}
