package redrive

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CronRunKept is how long a key of RunCron is kept.
const CronRunKept = 24 * time.Hour

// CronTimesMax is the maximum number of slots that CronTimes and NextSlots return.
const CronTimesMax = 1000

// RunCron enqueues the job of a cron entry of this client at once, in the name of a person. A pause
// does not hinder it, and the slots of the entry stay as they are. Cron.Make gets the present time,
// cut to the second.
//
// Calls with the same key, which may be in several processes, enqueue the job once within
// CronRunKept: the other calls return its receipt with Existing true. With the key "", each call
// enqueues a job. A job whose Spec has a Key or is unique keeps that: if such a job exists, its
// receipt is returned. The error is ErrNotFound if this client does not have the entry.
func (c *Client) RunCron(ctx context.Context, by By, name, key string) (Receipt, error) {
	c.mu.Lock()
	i := c.crons.find(name)
	var entry Cron
	if i >= 0 {
		entry = c.crons.list[i]
	}
	c.mu.Unlock()
	if i < 0 {
		return Receipt{}, fmt.Errorf("cron entry %q: this client has no such entry: %w", name, ErrNotFound)
	}
	if key == "" {
		key = rand.Text()
	}
	sum := sha256.Sum256([]byte(name + "\x00" + key))
	return one(cronWithin(ctx, CronLimit, new(atomic.Bool), name, func(ctx context.Context) ([]Receipt, error) {
		return c.runCron(ctx, by, &entry, sum[:16])
	}))
}

// runCron enqueues the job of an entry with a key that is made from a digest.
func (c *Client) runCron(ctx context.Context, by By, entry *Cron, digest []byte) ([]Receipt, error) {
	zone := entry.Location
	if zone == nil {
		zone = time.UTC
	}
	now := c.config.now()
	var receipts []Receipt
	_, err := c.through(ctx, []Spec{cronSpec(entry, now.In(zone).Truncate(time.Second))}, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		jobs, err := c.check(ctx, specs)
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			if jobs[i].Key == "" { // the payload is not compared: a repeat may get another one from Make
				jobs[i].Key, jobs[i].KeyUntil = fmt.Sprintf("cron-run:%s:%d", hex.EncodeToString(digest), i), job.At(now.Add(CronRunKept))
				jobs[i].Digest = digest
			}
		}
		for try := 1; ; try++ {
			first, err := c.ids.take(ctx, len(jobs))
			if err != nil {
				return nil, err
			}
			number(jobs, first)
			receipts, err = c.store.RunSchedule(ctx, by, entry.Name, jobs)
			unknown := errors.Is(err, store.ErrUnknown)
			if try == renumberTries || !c.ids.lost(err) && !unknown {
				return receipts, err
			}
			if unknown { // the keys make it safe to ask again
				if serr := c.sleep(ctx, askAgainWait); serr != nil {
					return nil, errors.Join(err, serr)
				}
			}
			jobs = slices.Clone(jobs) // the store may still be reading the old slice
		}
	})
	return receipts, err
}

// CronTimes returns the next slots of a cron entry of this client after a time, at most n. A paused
// entry has the slots that it would have without its pause. The error is ErrNotFound if this client
// does not have the entry.
func (c *Client) CronTimes(name string, after time.Time, n int) ([]time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.crons.find(name)
	if i < 0 {
		return nil, fmt.Errorf("cron entry %q: this client has no such entry: %w", name, ErrNotFound)
	}
	return nextSlots(c.crons.kept[i].Expression, after, n)
}

// NextSlots returns the next slots of a cron expression after a time, at most n (1 to CronTimesMax).
// Fewer are returned if the expression has fewer in the years to come. A nil location means UTC.
func NextSlots(expression string, location *time.Location, after time.Time, n int) ([]time.Time, error) {
	e, err := cron.Parse(expression, location)
	if err != nil {
		return nil, invalid(err)
	}
	return nextSlots(e, after, n)
}

func nextSlots(e *cron.Expression, after time.Time, n int) ([]time.Time, error) {
	if n < 1 || n > CronTimesMax {
		return nil, fmt.Errorf("%d slots: must be 1 to %d: %w", n, CronTimesMax, ErrInvalid)
	}
	var list []time.Time
	for len(list) < n {
		if after = e.Next(after); after.IsZero() {
			break
		}
		list = append(list, after)
	}
	return list, nil
}
