package sqlstore

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selClaim   = ask("selClaim")
	setClaimed = ask("setClaimed")
	selBody    = ask("selBody")
)

// take claims one job. If the job's deadline has passed, the job dies instead.
func (c *claimer) take(id job.ID, room *kindRoom) (bool, error) {
	t := c.t
	if err := c.find(id); err != nil || c.run == nil {
		return false, err
	}
	r, claim := c.run, &c.next
	from := r.state
	if claim.Deadline != 0 && claim.Deadline <= t.now {
		return false, c.expire(r, from)
	}
	r.token++
	r.claimedAt, r.holder, r.crashMax = t.now, c.holder, maxCrashes(room.want.MaxCrashes)
	var err error
	if r.terms, err = t.TermsID(room.want.Terms); err != nil {
		return false, err
	}
	if err := c.write(r); err != nil {
		return false, err
	}
	t.move(r.lane, from, r.lane, job.Running)
	t.started(r, claim.RunAt)
	t.events.Add(r.event(from, job.Running, job.Claimed))
	t.remember(r)
	claim.ID, claim.Token, claim.Kind, claim.Queue, claim.Priority = id, r.token, r.lane.kind, r.lane.queue, r.priority
	claim.Life, claim.Counters, claim.CreatedAt, claim.LifeAt, claim.ClaimedAt = r.life, r.counters, r.createdAt, r.lifeAt, t.now
	claim.Owner, claim.Correlation, claim.Batch, claim.Released = r.owner, r.correlation, max(r.batch, -r.batch), r.released
	c.out.Claims = append(c.out.Claims, *claim)
	c.bytes += max(c.size, len(claim.Payload))
	return true, nil
}

// find reads a ready job into c.run. If another process has taken the job, find sets c.run to
// nil.
func (c *claimer) find(id job.ID) error {
	c.run = nil
	if c.source == nil {
		return c.t.rows(selClaim, c.scan, num(id))
	}
	run, claim, size, err := c.source.Take(id)
	if run != nil {
		c.run, c.next, c.size = run, *claim, size
	}
	return err
}

// write writes the claim of a job and reads the values that the worker needs but find has not read.
func (c *claimer) write(r *Run) error {
	if c.source != nil {
		c.source.Claimed(r)
		return nil
	}
	_, err := c.t.exec(setClaimed, num(r.id), num(r.token), num(c.until), num(c.t.now), text(c.holder), num(r.crashMax), setNum(r.terms))
	if err == nil && r.long {
		err = c.t.rows(selBody, c.scanBody, num(r.id))
	}
	return err
}

const (
	// passedMax is the maximum number of jobs past their deadline that one exchange reads and
	// leaves for later.
	passedMax = 10 * store.ExpiredMax
	// passedAgain is the wait before the next attempt to end jobs that are past their
	// deadline.
	passedAgain = time.Second
)

// expire ends a job that is past its deadline. If another transaction has locked dead letters,
// expire leaves the job for later: the claim has locked ready jobs, and must not keep these
// locks while it waits for another transaction.
func (c *claimer) expire(r *Run, from job.State) error {
	if c.passed > 0 {
		c.passed++
		return nil
	}
	switch free, err := c.t.tryLockDeadLetters(); {
	case err != nil:
		return err
	case !free:
		c.passed++
		return nil
	}
	c.out.Expired = append(c.out.Expired, r.id)
	return c.t.expire(r, from)
}

func (t *Txn) expire(r *Run, from job.State) error {
	terms, err := t.termsOf(r)
	if err != nil {
		return err
	}
	f := terms.Expiry(r.lane.kind)
	answer, err := t.answer(r, false, job.Dead, &f)
	if err != nil {
		return err
	}
	t.answered(r, answer)
	_, err = t.makeDead(from, r, job.Expired, job.DeadlineOver, &f, "")
	return err
}

func (c *claimer) scanRow(row Row) error {
	c.run, c.next = c.t.ScanReady(row)
	return nil
}

// ScanReady reads a ready job from a row with the columns of selClaim. The other fields of
// the claim are set when the job is claimed.
func (t *Txn) ScanReady(row Row) (*Run, job.Claim) {
	return t.scanRun(row), job.Claim{
		RunAt: job.Micros(row.Int(runWidth)), Deadline: job.Micros(row.Int(runWidth + 1)),
		Attrs: row.Blob(runWidth + 2), Override: row.Blob(runWidth + 3),
		Memo: row.Blob(runWidth + 4), Payload: row.Blob(runWidth + 5),
	}
}

func (c *claimer) scanLong(row Row) error {
	c.next.Payload = row.Blob(0)
	return nil
}

func maxCrashes(n int) int32 { return int32(min(max(n, 1), job.MaxCrashes)) }
