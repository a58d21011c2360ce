package storetest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func presencePromises() []promise {
	return []promise{
		{"Q9_ProcessIsKeptAsItReported", processIsKept},
		{"Q9_SickProcessIsShown", sickProcessIsShown},
		{"Q9_SignsOfLifeWriteNoEvent", signsOfLife},
		{"Q3_SignsOfLifeTellTheNextExpiry", signsTellTheNextExpiry},
		{"Q9_SilentProcessIsFoundOnce", silentIsFoundOnce},
		{"Q9_SilentProcessComesBack", silentComesBack},
		{"Q9_ManySilentProcessesComeBackAtOnce", manyComeBack},
		{"Q9_SilentProcessIsReplacedByItsName", silentIsReplaced},
		{"Q9_OldProcessesAreRemoved", oldProcessesAreRemoved},
		{"Q7_QuietOrderReachesTheProcess", quietReachesTheProcess},
		{"Q9_ProcessOrderIsAudited", processOrderIsAudited},
		{"X3_ProcessBounds", processBounds},
	}
}

// process returns a process that works on the default queue and can run the default kind.
func process(name, instance string) store.Process {
	return store.Process{
		Name: name, Instance: instance, What: "work", Host: "host", PID: 42, Version: "v1.2.3", Build: "b7", Policy: "hash",
		Queues: []string{queue, "other"}, Kinds: []string{kind}, Slots: 10, Running: 3,
	}
}

func (r *rig) present(p store.Process) store.Orders {
	orders, err := r.Present(ctx(), p)
	r.ok(err)
	return orders
}

func (r *rig) leave(p store.Process) {
	p.Left = true
	r.present(p)
}

func (r *rig) processes() []store.Process {
	list, err := r.Processes(ctx())
	r.ok(err)
	return list
}

// processEvents returns the type and the process name of each event about processes, in order.
func (r *rig) processEvents() (texts []string) {
	for _, e := range r.dump().Events {
		if e.Type >= event.ProcessStarted && e.Type <= event.ProcessSilent {
			texts = append(texts, strings.TrimPrefix(e.Type.String(), "process.")+" "+e.Note)
		}
	}
	return texts
}

// part of: Q9
func processIsKept(r *rig) {
	same(r, "processes of an empty store", len(r.processes()), 0)
	b, a2, a1 := process("b", "1"), process("a", "2"), process("a", "1")
	a1.Build, a1.Queues, a1.Kinds, a1.Host = "", nil, nil, ""
	same(r, "orders", r.present(b), store.Orders{NextExpiry: store.Never})
	r.clock.Advance(time.Second)
	r.present(a2)
	r.present(a1)
	b.StartedAt, a2.StartedAt, a1.StartedAt = r.start, r.now(), r.now()
	r.clock.Advance(store.PresentEvery)
	// The store updates only these fields while the process is running.
	b.Policy, b.Slots, b.Running = "hash2", 5, 0
	b.Sick = []store.Sickness{{Cause: "too many open files"}, {Kind: kind, Cause: "no such file: \"ffmpeg\""}}
	changed := b
	changed.PID, changed.Host, changed.Kinds = 1, "elsewhere", nil
	r.present(changed)
	a1.SeenAt, a2.SeenAt, b.SeenAt = a1.StartedAt, a2.StartedAt, r.now()
	same(r, "processes", r.processes(), []store.Process{a1, a2, b})
	same(r, "processes in the dump", r.dump().Processes, []store.Process{a1, a2, b})
}

// part of: Q9
func sickProcessIsShown(r *rig) {
	p := process("p", "1")
	p.Sick = []store.Sickness{{Kind: kind, Cause: "no program"}} // the process cannot run this kind from the start
	r.present(p)
	same(r, "what is sick", r.processes()[0].Sick, p.Sick)
	p.Sick = nil
	r.present(p)
	same(r, "number of sicknesses after the cure", len(r.processes()[0].Sick), 0)
	p.Sick = []store.Sickness{{Cause: "no memory"}}
	r.present(p)
	same(r, "what is sick", r.processes()[0].Sick, p.Sick)
	same(r, "events", r.processEvents(), []string{"started p"})
}

// part of: Q9
func signsOfLife(r *rig) {
	p := process("w1", "1")
	for range 5 {
		r.present(p)
		r.clock.Advance(store.PresentEvery)
	}
	same(r, "events while the process lives", r.processEvents(), []string{"started w1"})
	r.leave(p)
	r.leave(p)
	same(r, "events after its end", r.processEvents(), []string{"started w1", "stopped w1"})
	same(r, "number of processes after its end", len(r.processes()), 0)
	same(r, "number of audit rows", len(r.audit()), 0)
}

// part of: Q9
func silentIsFoundOnce(r *rig) {
	dead, alive := process("dead", "1"), process("alive", "1")
	r.present(dead)
	r.clock.Advance(store.SilentAfter - time.Microsecond)
	r.present(alive)
	same(r, "events just before the time", r.processEvents(), []string{"started dead", "started alive"})
	same(r, "the process is silent just before the time", r.processes()[1].Silent, false)
	r.clock.Advance(time.Microsecond)
	same(r, "the process is silent at the time", r.processes()[1].Silent, true)
	for range 3 {
		r.present(alive)
		r.clock.Advance(store.PresentEvery)
	}
	same(r, "events", r.processEvents(), []string{"started dead", "started alive", "silent dead"})
	list := r.processes()
	same(r, "silent processes", []bool{list[0].Silent, list[1].Silent}, []bool{false, true})
	late := process("late", "1")
	r.present(late)
	r.clock.Advance(store.SilentAfter)
	r.leave(late) // a process that leaves also marks silent processes
	same(r, "events", r.processEvents()[3:], []string{"started late", "silent alive", "stopped late"})
}

// part of: Q9
func silentComesBack(r *rig) {
	p := process("p", "1")
	r.present(p)
	began := r.now()
	r.clock.Advance(store.SilentAfter)
	r.present(process("other", "1"))
	r.present(p)
	same(r, "events", r.processEvents(), []string{"started p", "silent p", "started other", "started p"})
	list := r.processes()
	same(r, "the process is silent", list[1].Silent, false)
	same(r, "start and last sign of the process", []job.Micros{list[1].StartedAt, list[1].SeenAt}, []job.Micros{began, r.now()})
	r.clock.Advance(store.SilentAfter)
	r.present(p) // no other process has marked this process as silent, so the store writes no event about it
	same(r, "events of the process", r.processEvents()[4:], []string{"silent other"})
}

// All processes are silent. When they report again concurrently, each of them marks others as
// silent. For each process, start events and silence events must alternate.
//
// part of: Q9
func manyComeBack(r *rig) {
	const processes, rounds = 6, 3
	// each name belongs to two processes
	instance := func(i int) store.Process { return process(string(rune('a'+i/2)), string(rune('1'+i%2))) }
	for range rounds {
		var wg sync.WaitGroup
		failures := make([]error, processes)
		for i := range processes {
			wg.Go(func() { _, failures[i] = r.Present(ctx(), instance(i)) })
		}
		wg.Wait()
		r.ok(errors.Join(failures...))
		r.clock.Advance(store.SilentAfter)
	}
	alive := map[string]int{}
	for _, text := range r.processEvents() {
		what, name, _ := strings.Cut(text, " ")
		if what == "started" {
			alive[name]++
		} else {
			alive[name]--
		}
		if alive[name] < 0 || alive[name] > 2 {
			r.fail("after the events %q, %d processes named %q are alive, want 0 to 2", r.processEvents(), alive[name], name)
		}
	}
	list := r.processes()
	for name, n := range alive {
		shown := 0
		for _, p := range list {
			if p.Name == name {
				shown++
			}
		}
		same(r, "living processes of one name, by the events and in the list", n, shown)
	}
}

// part of: Q9
func silentIsReplaced(r *rig) {
	r.present(process("p", "1"))
	r.present(process("p", "2")) // two processes with the same name are both listed while neither of them is silent
	same(r, "number of processes", len(r.processes()), 2)
	r.clock.Advance(store.SilentAfter)
	r.present(process("p", "3"))
	list := r.processes()
	same(r, "number of processes after the restart", len(list), 1)
	same(r, "instance", list[0].Instance, "3")
	same(r, "events", r.processEvents(), []string{"started p", "started p", "silent p", "silent p", "started p"})
}

// part of: Q9
func oldProcessesAreRemoved(r *rig) {
	r.present(process("old", "1"))
	r.clock.Advance(store.SilentKept - time.Microsecond)
	r.present(process("p", "1"))
	same(r, "number of processes just before the time", len(r.processes()), 2)
	r.clock.Advance(time.Microsecond)
	r.present(process("p", "1"))
	same(r, "number of processes at the time", len(r.processes()), 1)
	same(r, "events", r.processEvents(), []string{"started old", "silent old", "started p"})
}

// part of: Q3
func signsTellTheNextExpiry(r *rig) {
	p := process("p", "1")
	same(r, "expiry without runs", r.present(p).NextExpiry, store.Never)
	first, second := r.takeID(r.add()), r.takeID(r.add())
	r.clock.Advance(time.Second)
	same(r, "expiry", r.present(p).NextExpiry, lease-time.Second)
	r.beat(runOf(first), runOf(second))
	same(r, "expiry after a heartbeat", r.present(p).NextExpiry, lease)
	r.clock.Advance(2 * lease)
	same(r, "expiry of leases that are over", r.present(p).NextExpiry, time.Duration(0))
	r.rescue(10)
	same(r, "expiry after the rescue", r.present(p).NextExpiry, store.Never)
}

// part of: Q7
func quietReachesTheProcess(r *rig) {
	p, twin, other := process("p", "1"), process("p", "2"), process("other", "1")
	r.present(p)
	r.present(twin)
	r.present(other)
	r.ok(r.OrderProcess(ctx(), operator, "p", true))
	for range 2 { // two calls of Present, and both return the order to be quiet
		same(r, "orders of the process", r.present(p), store.Orders{Quiet: true, NextExpiry: store.Never})
		same(r, "orders of its twin", r.present(twin), store.Orders{Quiet: true, NextExpiry: store.Never})
		same(r, "orders of another process", r.present(other), store.Orders{NextExpiry: store.Never})
		r.clock.Advance(store.PresentEvery)
	}
	var quiet []bool
	for _, p := range r.processes() {
		quiet = append(quiet, p.Quiet)
	}
	same(r, "quiet processes", quiet, []bool{false, true, true})
	r.ok(r.OrderProcess(ctx(), operator, "p", false))
	same(r, "orders after the order was taken back", r.present(p), store.Orders{NextExpiry: store.Never})
	r.ok(r.OrderProcess(ctx(), operator, "p", true))
	r.clock.Advance(store.SilentAfter)
	r.present(other)
	same(r, "orders of a process that was silent", r.present(p), store.Orders{Quiet: true, NextExpiry: store.Never})
	r.leave(p)
	same(r, "orders after a restart", r.present(process("p", "3")), store.Orders{NextExpiry: store.Never})
	r.unchanged(func() { r.is(r.OrderProcess(ctx(), operator, "nobody", true), store.ErrNotFound) })
}

// proves: Q9
func processOrderIsAudited(r *rig) {
	r.present(process("p", "1"))
	r.ok(r.OrderProcess(ctx(), operator, "p", true))
	r.unchanged(func() { r.ok(r.OrderProcess(ctx(), operator, "p", true)) })
	r.ok(r.OrderProcess(ctx(), store.By{Actor: "trudy"}, "p", false))
	r.unchanged(func() { r.ok(r.OrderProcess(ctx(), operator, "p", false)) })
	same(r, "audit", r.audit(), []store.Audit{
		{Seq: 1, At: r.now(), Actor: operator.Actor, Action: "process.quiet", Target: "p", Reason: operator.Reason, Before: "awake", After: "quiet"},
		{Seq: 2, At: r.now(), Actor: "trudy", Action: "process.wake", Target: "p", Before: "quiet", After: "awake"},
	})
	r.unchanged(func() { r.is(r.OrderProcess(ctx(), store.By{}, "p", true), store.ErrInvalid) })
}

// proves: X3
func processBounds(r *rig) {
	long := func(n int) string { return strings.Repeat("n", n) }
	names := func(bytes int) (list []string) { // each name counts as 64 bytes: its length of 63 bytes plus 1 byte
		for range bytes / 64 {
			list = append(list, long(63))
		}
		return list
	}
	largest := store.Process{
		Name: long(job.TextMax), Instance: long(job.NameMax), What: long(job.NameMax), Host: "\x00\xff" + long(job.TextMax-2), Version: long(job.TextMax),
		Build: long(job.TextMax), Policy: long(job.NameMax), Queues: names(store.ProcessNamesMax), Kinds: names(store.ProcessNamesMax),
	}
	for range store.SickMax {
		largest.Sick = append(largest.Sick, store.Sickness{Kind: long(job.NameMax), Cause: "\x00\xff" + long(job.TextMax-2)})
	}
	sick := func(s store.Sickness) func(*store.Process) {
		return func(p *store.Process) { p.Sick = []store.Sickness{s} }
	}
	r.present(largest)
	largest.StartedAt, largest.SeenAt = r.now(), r.now()
	same(r, "the largest process", r.processes(), []store.Process{largest})
	r.unchanged(func() {
		for what, change := range map[string]func(*store.Process){
			"no name": func(p *store.Process) { p.Name = "" }, "long name": func(p *store.Process) { p.Name += "n" },
			"no instance": func(p *store.Process) { p.Instance = "" }, "long instance": func(p *store.Process) { p.Instance += "n" },
			"long what": func(p *store.Process) { p.What += "n" }, "long host": func(p *store.Process) { p.Host += "n" },
			"long version": func(p *store.Process) { p.Version += "n" }, "long build": func(p *store.Process) { p.Build += "n" },
			"long policy": func(p *store.Process) { p.Policy += "n" }, "bad queue": func(p *store.Process) { p.Queues = []string{"no good"} },
			"bad kind": func(p *store.Process) { p.Kinds = []string{""} }, "negative slots": func(p *store.Process) { p.Slots = -1 },
			"negative running": func(p *store.Process) { p.Running = -1 }, "negative pid": func(p *store.Process) { p.PID = -1 },
			"many sicknesses":        func(p *store.Process) { p.Sick = make([]store.Sickness, store.SickMax+1) },
			"a sickness of no kind":  sick(store.Sickness{Kind: "no good", Cause: "c"}),
			"no cause of a sickness": sick(store.Sickness{Kind: kind}),
			"a long cause":           sick(store.Sickness{Cause: long(job.TextMax + 1)}),
			"a cause of two lines":   sick(store.Sickness{Cause: "a\nb"}),
			"many queues":            func(p *store.Process) { p.Queues = append(names(store.ProcessNamesMax), "n") },
			"many kinds":             func(p *store.Process) { p.Kinds = append(names(store.ProcessNamesMax), "n") },
		} {
			p := largest
			change(&p)
			if _, err := r.Present(ctx(), p); err == nil {
				r.fail("a process with %s was accepted, want an error", what)
			} else {
				r.is(err, store.ErrInvalid, store.ErrTooLarge)
			}
		}
		r.is(r.OrderProcess(ctx(), operator, "", true), store.ErrInvalid)
		r.is(r.OrderProcess(ctx(), operator, long(job.TextMax+1), true), store.ErrInvalid)
	})
}
