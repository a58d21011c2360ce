package storetest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Filters checks that lists, previews and actions by filter select the right rows: exactly the
// rows for which a separately written predicate is true. Each check is a random sequence of
// deaths and actions on a new, empty store.
func Filters(t *testing.T, open Open) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewClock()
		s := open(t, clock.Now)
		defer func() {
			if err := s.Close(); err != nil {
				rt.Error(err)
			}
		}()
		err := promise{"D3_FilterEquals", func(r *rig) {
			f := filtering{rig: r, t: rt}
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				f.step()
			}
		}}.on(s, clock)
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// proves: D3, D6, Q9
func filterEquals(r *rig) {
	var wrong any
	step := rapid.Custom(func(t *rapid.T) bool {
		end := rapid.Bool().Draw(t, "end") // rapid requires that this function draws at least one value
		defer func() {
			switch why := recover().(type) {
			case nil:
			case broken: // a failed check panics with this value; the panic ends here, because rapid's Example would repeat a function that panics
				wrong = why
			default:
				panic(why)
			}
		}()
		f := filtering{rig: r, t: t}
		f.step()
		return end
	})
	for seed := range 150 {
		if step.Example(seed); wrong != nil {
			panic(wrong)
		}
	}
}

// filtering makes random deaths, actions on dead letters, and filters. Then it checks the
// filters.
type filtering struct {
	*rig
	t *rapid.T
}

func (f *filtering) step() {
	switch rapid.IntRange(0, 7).Draw(f.t, "step") {
	case 0, 1, 2:
		f.deaths()
	case 3:
		f.lives()
	case 4:
		f.redrives()
	default:
		f.acts()
	}
}

var (
	someMessages = []string{"disk full", "Disk FULL", "50% off", "ÜBER the limit", "timeout at /a_b", "x"}
	someTexts    = []string{"full", "DISK", "%", "_", "über", "o", "nowhere"}
)

// deaths enqueues jobs of several kinds, queues and classes, and lets them die.
func (f *filtering) deaths() {
	f.clock.Advance(pick(f.t, "passes", 0, time.Second, time.Minute))
	for range rapid.IntRange(1, 6).Draw(f.t, "deaths") {
		id := f.add(func(n *job.New) {
			n.Kind, n.Queue = pick(f.t, "kind", "a", "b"), pick(f.t, "queue", "x", "y")
			n.Owner, n.Deps = pick(f.t, "owner", "", "al", "bo"), pick(f.t, "deps", "", "s3")
			n.Correlation, n.Batch = pick(f.t, "correlation", "", "req-1", "req-2"), pick(f.t, "batch", int64(0), 7, 8)
			n.Attrs = fmt.Appendf(nil, `{"bucket":%d}`, n.ID%3)
			if chance(f.t, "keyed", 3) {
				n.Key, n.Digest = fmt.Sprint("order-", n.ID), []byte("d")
				n.KeyUntil = pick(f.t, "key until", 0, f.now().Add(time.Minute))
			}
		})
		f.kill(f.takeID(id))
	}
}

func (f *filtering) kill(c job.Claim) {
	o := died(c, pick(f.t, "class", "A", "B", "C"), pick(f.t, "reason", job.NonRetriable, job.MaxRetries))
	o.Failure.Message = pick(f.t, "message", someMessages...)
	o.Failure.Fingerprint = pick(f.t, "group", "g1", "g2", "")
	f.end(o)
}

// lives ends some of the retried jobs in different ways.
func (f *filtering) lives() {
	for _, j := range f.dump().Jobs {
		if !j.State.Ready() || rapid.Bool().Draw(f.t, "leave") {
			continue
		}
		switch pick(f.t, "end", "complete", "die", "cancel") {
		case "complete":
			f.end(succeeded(f.only1(j.ID)))
		case "die":
			f.kill(f.only1(j.ID))
		case "cancel":
			f.ok(f.cancel(j.ID))
		}
	}
}

// only1 claims the job with the given id. It claims all jobs of the same queue and kind, and gives
// back the other jobs.
func (f *filtering) only1(id job.ID) job.Claim {
	j := f.get(id)
	claims := f.claim(store.Want{Queue: j.Queue, Max: 10_000, Kinds: []store.KindWant{{Kind: j.Kind, Max: 10_000, MaxCrashes: 5}}})
	var mine job.Claim
	for _, c := range claims {
		if c.ID == id {
			mine = c
		} else {
			f.end(waits(c, job.Interrupted, 0))
		}
	}
	return mine
}

// redrives retries some jobs by a redrive. So there are jobs that a filter by redrive selects.
func (f *filtering) redrives() {
	filter := store.DeadFilter{Class: pick(f.t, "class", "A", "B", "C")}
	if f.preview(store.Action{Do: store.ActRetry, Filter: &filter}).Done > 0 {
		f.startRedrive(func(s *store.RedriveSpec) { s.Filter, s.Canary = filter, 2 })
		f.rig.step(pick(f.t, "limit", 1, 3, 100))
	}
}

// filter draws a random filter, mostly with several fields.
func (f *filtering) filter() (d store.DeadFilter) {
	t := f.t
	maybe := func(what string, set func()) {
		if chance(t, what, 4) {
			set()
		}
	}
	statuses := []job.Status{job.Pending, job.Redriven, job.Resolved, job.Ignored}
	maybe("by status", func() {
		d.Statuses = some(t, "statuses", 3, func(int) job.Status { return pick(t, "status", statuses...) })
	})
	maybe("by reason", func() { d.Reason = pick(t, "reason", job.NonRetriable, job.MaxRetries, job.Stalled) })
	maybe("by class", func() { d.Class = pick(t, "class", "A", "B", "Z") })
	maybe("by kind", func() { d.Kind = pick(t, "kind", "a", "b", "z") })
	maybe("by queue", func() { d.Queue = pick(t, "queue", "x", "y", "z") })
	maybe("by owner", func() { d.Owner = pick(t, "owner", "al", "bo", "zo") })
	maybe("by group", func() { d.Group = pick(t, "group", "g1", "g2", "g9") })
	maybe("since", func() { d.Since = f.now().Add(-pick(t, "age", 0, time.Second, time.Minute, time.Hour)) })
	maybe("until", func() { d.Until = f.now().Add(-pick(t, "age", 0, time.Second, time.Minute)) })
	maybe("by text", func() { d.Text = pick(t, "text", someTexts...) })
	maybe("by worker", func() { d.Worker = pick(t, "worker", holder, holder, "nobody") })
	maybe("by correlation", func() { d.Correlation = pick(t, "correlation", "req-1", "req-2", "req-9") })
	maybe("by batch", func() { d.Batch = pick(t, "batch", int64(7), 8, 9) })
	maybe("by attribute", func() {
		d.Attr = store.Attr{Name: pick(t, "attribute", "bucket", "bucket", "no"), Value: pick(t, "value", "0", "1", "9")}
	})
	maybe("by key", func() {
		if all := f.dump().Keys; len(all) > 0 && !chance(t, "an unknown key", 4) {
			k := pick(t, "key", all...)
			d.Key, d.Kind, d.Owner = k.Key, k.Kind, k.Owner
		} else {
			d.Key, d.Kind = "order-0", "a"
		}
	})
	maybe("by redrive", func() { d.Redrive = rapid.Int64Range(1, 3).Draw(t, "redrive") })
	if d.Until != 0 && d.Until <= d.Since {
		d.Until = 0
	}
	return d
}

// selects is the predicate for a filter: it reports whether the filter must select the dead letter
// l. It shares no code with the filters of the stores. The given keys are all idempotency keys of
// the store.
func selects(f *store.DeadFilter, l *job.DeadLetter, message string, keys []store.Key, now job.Micros) bool {
	for _, field := range [...][2]string{
		{string(f.Reason), string(l.Reason)}, {f.Class, l.Class}, {f.Kind, l.Kind}, {f.Queue, l.Queue}, {f.Owner, l.Owner},
		{f.Group, l.Fingerprint}, {f.Worker, l.Holder}, {f.Correlation, l.Correlation},
	} {
		if field[0] != "" && field[0] != field[1] {
			return false
		}
	}
	switch {
	case f.Since > 0 && l.DiedAt < f.Since, f.Until > 0 && l.DiedAt >= f.Until:
		return false
	case f.Redrive != 0 && l.Redrive != f.Redrive, f.Batch != 0 && l.Batch != f.Batch:
		return false
	case f.Attr.Name != "" && f.Attr != store.Attr{Name: "bucket", Value: fmt.Sprint(l.Job % 3)}:
		return false
	case f.Key != "" && !slices.ContainsFunc(keys, func(k store.Key) bool {
		return k.Job == l.Job && k.Key == f.Key && k.Kind == f.Kind && k.Owner == f.Owner && (k.Until == 0 || k.Until > now)
	}):
		return false
	case f.Text != "" && !regexp.MustCompile(`(?i)`+regexp.QuoteMeta(f.Text)).MatchString(message):
		return false
	}
	status := len(f.Statuses) == 0
	for _, s := range f.Statuses {
		status = status || s == l.Status
	}
	return status
}

// takes says to which jobs and dead letters each action by filter applies. The field fallback holds
// the statuses that the action uses when the filter has no statuses.
var takes = map[store.Act]struct {
	dead     bool // whether the act needs a dead job
	statuses []job.Status
	fallback []job.Status
	after    job.Status
}{
	store.ActRetry:   {true, []job.Status{job.Pending, job.Resolved, job.Ignored}, []job.Status{job.Pending}, job.Redriven},
	store.ActResolve: {false, []job.Status{job.Pending, job.Ignored}, []job.Status{job.Pending, job.Ignored}, job.Resolved},
	store.ActIgnore:  {false, []job.Status{job.Pending}, []job.Status{job.Pending}, job.Ignored},
	store.ActReopen:  {true, []job.Status{job.Resolved, job.Ignored}, []job.Status{job.Resolved, job.Ignored}, job.Pending},
	store.ActPurge:   {false, []job.Status{job.Resolved, job.Ignored}, []job.Status{job.Resolved, job.Ignored}, 0},
}

// acts draws a filter. It checks that the list, the preview and the action with this filter select
// the same dead letters as the predicate in the function named selects.
func (f *filtering) acts() {
	filter := f.filter()
	do := pick(f.t, "act", store.ActRetry, store.ActRetry, store.ActResolve, store.ActIgnore, store.ActReopen, store.ActPurge)
	before := f.dump()
	messages := map[job.ID]string{} // for each job, the message of the failure that made its dead letter
	for i := range before.Failures {
		if m := &before.Failures[i]; m.Life <= f.lifeOf(before, m.Job) {
			messages[m.Job] = m.Message
		}
	}
	byState := map[job.ID]job.State{}
	for i := range before.Jobs {
		byState[before.Jobs[i].ID] = before.Jobs[i].State
	}

	var listed, taken []job.DeadLetter
	rule := takes[do]
	asked := filter
	if len(asked.Statuses) == 0 {
		asked.Statuses = rule.fallback
	}
	for _, l := range before.Dead {
		if selects(&filter, &l, messages[l.Job], before.Keys, before.Now) {
			listed = append(listed, l)
		}
		if selects(&asked, &l, messages[l.Job], before.Keys, before.Now) && slices.Contains(rule.statuses, l.Status) && (!rule.dead || byState[l.Job] == job.Dead) {
			taken = append(taken, l)
		}
	}
	what := fmt.Sprintf("%s of %+v", do, filter)
	slices.SortFunc(listed, func(a, b job.DeadLetter) int { return int(b.Death - a.Death) })
	same(f.rig, "list for "+what, f.listed(filter, pick(f.t, "page", 1, 7, 50)), jobsOf(listed))
	same(f.rig, "preview of "+what, f.previewed(do, filter), int64(len(taken)))
	if f.removed = f.removed || do == store.ActPurge; before.Dead == nil {
		return
	}
	done := f.act(store.Action{Do: do, Filter: &filter, Limit: pick(f.t, "limit", 0, 1, 3)})
	same(f.rig, "number done by "+what, done, int64(len(taken)))
	same(f.rig, "changed by "+what, changedIn(before, f.dump()), sortedJobs(taken))
	for i := range taken {
		if l, err := f.DeadLetter(ctx(), taken[i].Job); do == store.ActPurge {
			f.is(err, store.ErrNotFound)
		} else {
			f.ok(err)
			same(f.rig, "status after "+what, l.Status, rule.after)
		}
	}
}

// lifeOf returns the number of the life in which the job's dead letter was made.
func (f *filtering) lifeOf(d *store.Dump, id job.ID) int32 {
	for i := range d.Dead {
		if d.Dead[i].Job == id {
			return d.Dead[i].Life
		}
	}
	return 0
}

// previewed makes a preview in small steps and returns the sum of their results.
func (f *filtering) previewed(do store.Act, filter store.DeadFilter) (n int64) {
	a := store.Action{Do: do, Filter: &filter, Limit: pick(f.t, "preview limit", 0, 2)}
	for {
		answer := f.preview(a)
		if n += answer.Done; answer.Next == 0 {
			return n
		}
		a.After, a.Through = answer.Next, answer.Through
	}
}

func jobsOf(letters []job.DeadLetter) (ids []job.ID) {
	for i := range letters {
		ids = append(ids, letters[i].Job)
	}
	return ids
}

func sortedJobs(letters []job.DeadLetter) []job.ID {
	ids := jobsOf(letters)
	slices.Sort(ids)
	return ids
}

// changedIn returns the jobs whose dead letters have changed between two dumps.
func changedIn(before, after *store.Dump) (ids []job.ID) {
	now := map[job.ID]job.DeadLetter{}
	for _, l := range after.Dead {
		now[l.Job] = l
	}
	for _, l := range before.Dead {
		if now[l.Job] != l {
			ids = append(ids, l.Job)
		}
	}
	slices.Sort(ids)
	return ids
}
