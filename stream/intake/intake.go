// Package intake decides what a stream does next: when it reads records, when it enqueues their jobs
// again after an error, and which offsets it commits. It is pure: Step gets the time and an event,
// and returns what has to be done. The loop around it does one action at a time.
package intake

import (
	"errors"
	"maps"
	"slices"
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
	// Polled has the records that were read, and for each of their partitions the offset after the last.
	Polled struct {
		Items []Item
		Next  map[int32]int64
	}
	// Taken is the answer of the store to Take.
	Taken struct {
		Receipts []job.Receipt
		Err      error
	}
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
	// Take stores the jobs of records.
	Take struct{ Items []Item }
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
func (Commit) action() {}
func (Sleep) action()  {}
func (End) action()    {}

// Totals counts the records since the process started.
type Totals struct {
	Taken     int64 // records that became jobs
	Duplicate int64 // records whose key another job already had
	OfDead    int64 // those of them whose job is dead
	Dead      int64 // records that cannot be a task; their jobs die at once
}

// Core is the state of one stream in one process.
type Core struct {
	backlog int64 // the number of waiting jobs from which no records are read

	takes  [][]Item        // what has been read and is not stored yet, in the order in which it is stored
	next   map[int32]int64 // offsets after the records in takes
	stored map[int32]int64 // offsets that can be committed
	since  time.Time       // when offsets were committed last
	wait   time.Duration   // the last wait after an error of the store; 0 without an error
	last   bool            // the process stops
	totals Totals
}

// New returns the core of a stream that reads no records while backlog jobs wait for their first run.
func New(now time.Time, backlog int64) *Core {
	return &Core{backlog: backlog, next: map[int32]int64{}, stored: map[int32]int64{}, since: now}
}

// Totals returns the counts since the start.
func (c *Core) Totals() Totals { return c.totals }

// Step takes an event in and returns what to do next. For Lost it returns nil: what was to be done
// stays to be done.
func (c *Core) Step(now time.Time, e Event) Action {
	switch e := e.(type) {
	case Begun:
		return c.onward(now)
	case Counted:
		return c.counted(e)
	case Polled:
		if len(e.Items) > 0 {
			c.takes = append(c.takes, e.Items)
		}
		maps.Copy(c.next, e.Next)
		if len(c.takes) == 0 { // nothing of it becomes a job
			maps.Copy(c.stored, c.next)
			clear(c.next)
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
			delete(c.next, p)
			delete(c.stored, p)
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
	items := c.takes[0]
	conflict, conflicts := errors.AsType[*store.KeyConflict](e.Err)
	switch {
	case e.Err == nil:
		c.wait = 0
		c.count(items, e.Receipts)
		return c.takenAll(now)
	case conflicts && conflict.Index >= 0 && conflict.Index < len(items) && items[conflict.Index].Dead == nil:
		items[conflict.Index].Dead = &wire.Arrival{Reason: wire.ReasonKeyConflict, Message: conflict.Error()}
		return Take{items}
	case conflicts && conflict.Index >= 0 && conflict.Index < len(items): // the key of a dead record names the record: it is stored
		c.totals.Duplicate++
		if c.takes[0] = slices.Delete(items, conflict.Index, conflict.Index+1); len(c.takes[0]) == 0 {
			return c.takenAll(now)
		}
		return Take{c.takes[0]}
	case !errors.Is(e.Err, store.ErrInvalid) && !errors.Is(e.Err, store.ErrTooLarge) && !conflicts:
		return c.again() // the store is away, or the queue takes no new jobs
	case len(items) > 1: // the store refuses one of them: find it
		half := len(items) / 2
		c.takes = append([][]Item{items[:half], items[half:]}, c.takes[1:]...)
		return Take{c.takes[0]}
	case items[0].Dead == nil:
		items[0].Dead = &wire.Arrival{Reason: wire.ReasonMalformed, Message: e.Err.Error()}
		return Take{items}
	}
	return End{e.Err}
}

// takenAll goes on after the first of the takes is stored.
func (c *Core) takenAll(now time.Time) Action {
	if c.takes = c.takes[1:]; len(c.takes) == 0 {
		maps.Copy(c.stored, c.next)
		clear(c.next)
	}
	return c.onward(now)
}

func (c *Core) count(items []Item, receipts []job.Receipt) {
	for i, r := range receipts {
		switch {
		case r.Existing:
			c.totals.Duplicate++
			if r.State == job.Dead {
				c.totals.OfDead++
			}
		case items[i].Dead != nil:
			c.totals.Dead++
		default:
			c.totals.Taken++
		}
	}
}
