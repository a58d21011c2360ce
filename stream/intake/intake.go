// Package intake decides what a stream does next: when it reads records, when it stores their jobs
// again after an error, and which offsets it reports to the group. It is pure: Step gets the time and an event,
// and returns what has to be done. The loop around it does one action at a time.
package intake

import (
	"errors"
	"maps"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/wire"
)

// The times of the intake.
const (
	CommitEvery = time.Second           // time between two commits of offsets
	LookAgain   = time.Second           // wait while too many jobs have not run yet
	waitMin     = 50 * time.Millisecond // first and longest wait after an error of the store
	waitMax     = 2 * time.Second
)

// Item is a record with what has been read from it.
type Item struct {
	Record *wire.Record
	Task   wire.Task
	Dead   *wire.Arrival // why the record cannot become its task; nil if it can
	// Fate is set for a record that becomes no job, such as one that redrive has written itself.
	Fate   store.Fate
	Asked  bool // others were asked whether they have processed the task
	Revive bool // the record asks for the next life of a dead job
	NoKey  bool // the job of a dead record gets no key: another job has it
}

// Part is what was read of one partition: from where, up to where, and what was there.
type Part struct {
	Partition  int32
	From, Next int64
	Items      []Item
}

// Event is the result of an action, or a message to the intake.
type Event interface{ event() }

// The events.
type (
	// Begun is the first event, and the end of a wait.
	Begun struct{}
	// Counted says how many jobs of the stream wait for their first run.
	Counted struct {
		Waiting int64
		Err     error
	}
	// Polled has what was read, at most one part for each partition.
	Polled struct{ Parts []Part }
	// Taken is the answer of the store to Take.
	Taken struct {
		Records []store.Taken
		Err     error
	}
	// Reopened says that reading has begun again at the positions of the store.
	Reopened struct{}
	// Committed is the answer of the broker to Commit.
	Committed struct{ Err error }
	// Lost says that partitions belong to another process now.
	Lost struct{ Partitions []int32 }
	// Stop says that the process stops.
	Stop struct{}
)

func (Begun) event()     {}
func (Counted) event()   {}
func (Polled) event()    {}
func (Taken) event()     {}
func (Reopened) event()  {}
func (Committed) event() {}
func (Lost) event()      {}
func (Stop) event()      {}

// Action is what has to be done next.
type Action interface{ action() }

// The actions. Each but End is followed by the event of the same name; Sleep by Begun.
type (
	// Count asks how many jobs wait.
	Count struct{}
	// Poll reads records.
	Poll struct{}
	// Take stores the jobs of records, and how far the partitions were read.
	Take struct{ Parts []Part }
	// Reopen begins to read again, at the positions of the store.
	Reopen struct{}
	// Commit writes offsets.
	Commit struct{ Next map[int32]int64 }
	// Sleep waits.
	Sleep struct{ For time.Duration }
	// End ends the loop. Err is nil after a Stop.
	End struct{ Err error }
)

func (Count) action()  {}
func (Poll) action()   {}
func (Take) action()   {}
func (Reopen) action() {}
func (Commit) action() {}
func (Sleep) action()  {}
func (End) action()    {}

// Core is the state of one stream in one process.
type Core struct {
	backlog int64 // the number of waiting jobs from which no records are read

	takes  [][]Part        // what has been read and is not stored yet, in the order in which it is stored
	stored map[int32]int64 // offsets that can be committed
	lost   map[int32]bool  // partitions that another process has now, while takes has parts of them
	since  time.Time       // when offsets were committed last
	wait   time.Duration   // the last wait after an error of the store; 0 without an error
	last   bool            // the process stops
	totals store.FateCounts
	ofDead int64
}

// New returns the core of a stream that reads no records while backlog jobs wait for their first run.
func New(now time.Time, backlog int64) *Core {
	return &Core{backlog: backlog, stored: map[int32]int64{}, lost: map[int32]bool{}, since: now}
}

// Totals returns the counts since the start, and how many of the existing jobs were dead.
func (c *Core) Totals() (counts store.FateCounts, ofDead int64) { return c.totals, c.ofDead }

// Idle reports whether everything that was read is stored.
func (c *Core) Idle() bool { return len(c.takes) == 0 }

// Step takes an event in and returns what to do next. For Lost it returns nil: what was to be done
// stays to be done.
func (c *Core) Step(now time.Time, e Event) Action {
	switch e := e.(type) {
	case Begun, Reopened:
		return c.onward(now)
	case Counted:
		return c.counted(e)
	case Polled:
		if len(e.Parts) > 0 {
			c.takes = append(c.takes, e.Parts)
		}
		return c.onward(now)
	case Taken:
		return c.taken(now, e)
	case Committed:
		c.since = now
		if e.Err == nil {
			clear(c.stored)
		}
		if c.last {
			return End{}
		}
		return c.onward(now)
	case Lost:
		for _, p := range e.Partitions {
			delete(c.stored, p)
			c.lost[p] = len(c.takes) > 0
		}
		return nil
	case Stop:
		c.last = true
		if len(c.stored) > 0 {
			return Commit{maps.Clone(c.stored)}
		}
	}
	return End{}
}

// onward returns the next action after an end of another one.
func (c *Core) onward(now time.Time) Action {
	switch {
	case len(c.takes) > 0:
		return Take{c.takes[0]}
	case len(c.stored) > 0 && now.Sub(c.since) >= CommitEvery:
		return Commit{maps.Clone(c.stored)}
	}
	return Count{}
}

func (c *Core) counted(e Counted) Action {
	switch {
	case e.Err != nil:
		return c.again()
	case e.Waiting >= c.backlog:
		c.wait = 0
		return Sleep{LookAgain}
	}
	c.wait = 0
	return Poll{}
}

// again returns the wait after an error of the store. It doubles after each error.
func (c *Core) again() Action {
	c.wait = min(max(2*c.wait, waitMin), waitMax)
	return Sleep{c.wait}
}

func (c *Core) taken(now time.Time, e Taken) Action {
	parts := c.takes[0]
	conflict, conflicts := errors.AsType[*store.TakeConflict](e.Err)
	_, gap := errors.AsType[*store.Gap](e.Err)
	switch {
	case e.Err == nil:
		c.wait = 0
		c.count(e.Records)
		for _, p := range parts {
			if !c.lost[p.Partition] {
				c.stored[p.Partition] = p.Next
			}
		}
		if c.takes = c.takes[1:]; len(c.takes) == 0 {
			clear(c.lost)
		}
		return c.onward(now)
	case gap: // a person has moved the position back, or the store is an older copy
		c.takes, c.stored = nil, map[int32]int64{}
		return Reopen{}
	case conflicts:
		for i := range conflict.Conflicts {
			k := &conflict.Conflicts[i]
			item := itemAt(parts, k.Index)
			switch {
			case item == nil:
				return End{e.Err}
			case item.Dead == nil:
				item.Dead = &wire.Arrival{Reason: wire.ReasonKeyConflict, Message: k.Error()}
			case item.NoKey:
				return End{e.Err}
			default:
				item.NoKey = true
			}
		}
		return Take{parts}
	case !errors.Is(e.Err, store.ErrInvalid) && !errors.Is(e.Err, store.ErrTooLarge):
		return c.again() // the store is away, or the queue takes no new jobs
	}
	return c.refused(parts, e.Err)
}

// refused finds the one record that the store refuses, and makes it a dead one.
func (c *Core) refused(parts []Part, err error) Action {
	n := size(parts)
	switch {
	case n > 1:
		first, rest := split(parts, n/2)
		c.takes = append([][]Part{first, rest}, c.takes[1:]...)
		return Take{first}
	case n == 1:
		if item := itemAt(parts, 0); item.Dead == nil && item.Fate == store.FateReplayed {
			item.Dead = &wire.Arrival{Reason: wire.ReasonMalformed, Message: err.Error()}
			return Take{parts}
		}
	}
	return End{err}
}

func size(parts []Part) (n int) {
	for i := range parts {
		n += len(parts[i].Items)
	}
	return n
}

// itemAt returns the item with this number in all parts; nil without one.
func itemAt(parts []Part, i int) *Item {
	for k := range parts {
		if i >= 0 && i < len(parts[k].Items) {
			return &parts[k].Items[i]
		}
		i -= len(parts[k].Items)
	}
	return nil
}

// split divides what was read after n records. The partition in which it is divided is read up to the
// first record that is left.
func split(parts []Part, n int) (first, rest []Part) {
	for i, p := range parts {
		switch k := len(p.Items); {
		case n >= k:
			first = append(first, p)
			n -= k
		case n > 0:
			at := p.Items[n].Record.Offset
			first = append(first, Part{p.Partition, p.From, at, p.Items[:n]})
			rest = append(rest, Part{p.Partition, at, p.Next, p.Items[n:]})
			n = 0
		default:
			return first, append(rest, parts[i:]...)
		}
	}
	return first, rest
}

func (c *Core) count(records []store.Taken) {
	for i := range records {
		c.totals.Count(records[i].Fate)
		if records[i].Fate == store.FateExisting && records[i].State == job.Dead {
			c.ofDead++
		}
	}
}
