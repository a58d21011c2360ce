// Package claims is what a claim of the PostgreSQL store knows between its transactions, without any I/O: from where
// each lane is read, what was heard of new jobs meanwhile, which rows were skipped, and which claims are not confirmed.
// The times are arguments.
package claims

import (
	"maps"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
)

// Cursors are times below which nothing is ready, by lane and priority. What was claimed stays in the index until the
// server cleans it, which an old snapshot anywhere prevents, and each claim would read it again. A commit that makes an
// earlier job ready lowers the cursor, wherever it was made. Jobs without a notification, such as one that was skipped
// because another claim had locked it and was rolled back, are found by a full scan from the beginning. Every claim
// makes one while scans are cheap. When they are expensive, they are made in the background now and then, and no claim
// waits for them.
//
//	a claim takes jobs up to run_at 500      the cursor is 500: the next claim reads from there
//	a job is enqueued that is due at 700     the cursor stays 500
//	a retry makes a job ready, due at 300    a notification: the cursor is 300
//	another claim rolls back a job of 200    no notification: the next full scan finds the job
//
// A full scan may take longer than a statement may. After one that was ended for that reason, claims read the last
// seconds only, and further scans go twice as far back each time, until they reach the beginning or are expensive again.
type Cursors struct {
	mu         sync.Mutex
	low        map[Place]job.Micros
	floor      job.Micros // from where a place without a cursor is read
	background bool       // scans are made in the background: the last one was expensive
	scanning   bool       // such a scan is wanted or under way
	fails      int        // how many of them have taken too long, one after the other
	next       time.Time  // of the next one, by the clock of the process
	soon       time.Time  // of the next one when anything may have changed
	tail       *NoticeList
}

// NoticeList is a notice, and after it the notices that came next; the last element is empty. A claim remembers the
// element that was the last before it read.
type NoticeList struct {
	notice Notice
	next   *NoticeList
}

// NewCursors returns cursors that know nothing: each place is read from the beginning.
func NewCursors() *Cursors {
	return &Cursors{low: make(map[Place]job.Micros), floor: Earliest, tail: &NoticeList{}}
}

const (
	// A full scan is expensive when it takes longer than scanCheap and scanRow for each job that it finds.
	scanCheap = 4 * time.Millisecond
	scanRow   = 40 * time.Microsecond
	// scanShare is how many times the duration of an expensive scan passes until the next one, but at most scanAgain.
	// The scan may have waited for something else, and it finds what no notification names.
	scanShare = 50
	scanAgain = time.Minute
	// scanSoon is the same when anything may have changed.
	scanSoon = 4
	// scanRetry is the wait after a scan that has taken too long; it doubles.
	scanRetry = time.Second
	// scanBack is how far back claims read after a scan that failed, at first.
	scanBack = 5 * time.Second
)

// Earliest is before all times.
const Earliest = job.Micros(-1 << 63)

// ScansInline reports whether a claim reads from the beginning.
func (c *Cursors) ScansInline() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.background
}

// WantScan returns the places at which a full scan is to be made now, which the function names. It returns nil if no
// scan is due, or one is wanted already.
func (c *Cursors) WantScan(now time.Time, places func() []Place) []Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.background || c.scanning || now.Before(c.next) {
		return nil
	}
	all := places()
	c.scanning = len(all) > 0
	return all
}

// ScanNow makes the next scan in the background due at once. It is for tests.
func (c *Cursors) ScanNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = time.Time{}
}

// Latest returns the element of the list that the next notice fills.
func (c *Cursors) Latest() *NoticeList {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail
}

// ScanFrom returns how far back a scan goes.
func (c *Cursors) ScanFrom(now job.Micros) job.Micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.floor == Earliest {
		return Earliest
	}
	if at := now - 2*max(now-c.floor, job.Micros(scanBack.Microseconds())); at > 0 {
		return at
	}
	return Earliest
}

// From returns from where a place is read: by a scan not after back, and otherwise from its cursor.
func (c *Cursors) From(p Place, scan bool, back job.Micros) job.Micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, ok := c.low[p]
	switch {
	case scan && ok:
		return min(low, back)
	case scan:
		return back
	case ok:
		return low
	}
	return c.floor
}

// Scanned says how long a scan took that went so far back and found so many jobs.
func (c *Cursors) Scanned(end time.Time, took time.Duration, rows int, back job.Micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.floor = min(c.floor, back)
	c.scanning, c.fails = false, 0
	if c.background = took > scanCheap+time.Duration(rows)*scanRow; c.background {
		c.wait(end, took)
	}
}

// wait notes when the next scan is due.
func (c *Cursors) wait(end time.Time, took time.Duration) {
	c.next = end.Add(min(scanShare*took, scanAgain))
	c.soon = end.Add(min(scanSoon*took, scanAgain))
}

// ScanEnded says that a scan has found out nothing, for example because the server was away.
func (c *Cursors) ScanEnded(end time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.scanning = false
	c.wait(end, took)
}

// TookTooLong says that reading places took too long.
func (c *Cursors) TookTooLong(end time.Time, scan bool, now job.Micros, places []Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if scan {
		c.scanning = false
	}
	if scan && c.floor != Earliest { // back was too far; the floor was not
		c.background = true
		c.fails++
		c.next = end.Add(min(scanRetry<<min(c.fails-1, 6), scanAgain))
		c.soon = c.next
		return
	}
	c.floor = now.Add(-scanBack)
	if !scan {
		for _, p := range places {
			delete(c.low, p)
		}
	}
}

// Taken is up to where a claim has taken jobs.
type Taken struct {
	Since *NoticeList // notices from there on came after the claim had read
	Up    map[Place]job.Micros
}

// Raise notes up to where jobs were taken. Notices since they were read may name earlier times.
func (c *Cursors) Raise(t Taken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := t.Since; l != c.tail; l = l.next {
		if l.notice.All {
			return
		}
		for place, at := range l.notice.Ready {
			if up, ok := t.Up[place]; ok && at < up {
				t.Up[place] = at
			}
		}
	}
	maps.Copy(c.low, t.Up)
}

// Notify lowers the cursors to what a notice says. When anything may have changed and scans are expensive, the cursors
// stay until there was a scan.
func (c *Cursors) Notify(n Notice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.tail
	c.tail = &NoticeList{}
	last.notice, last.next = n, c.tail
	if n.All && c.background {
		if c.soon.Before(c.next) {
			c.next = c.soon
		}
		return
	}
	if n.All {
		clear(c.low)
		return
	}
	for place, at := range n.Ready {
		low, ok := c.low[place]
		if !ok {
			low = c.floor
		}
		if at < low {
			c.low[place] = at
		}
	}
}
