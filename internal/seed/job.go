package seed

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// record is one job.
type record struct {
	id          job.ID
	state       job.State
	kind        int
	queue       int
	lane        int
	priority    int
	owner       string
	correlation string // "" unless the job has one
	key         string // "" unless the job has one
	batch       int64  // 0 unless the job is in a batch
	group       int    // the group of the failure; only for dead and retrying jobs
	created     job.Micros
	claimed     job.Micros // start of the first run
	ended       job.Micros // the end of the last run; 0 for waiting jobs
	due         job.Micros // when a live job may start
}

const (
	keyEvery         = 10 // every tenth job has a key
	correlationEvery = 4  // every fourth job has a correlation id
	correlated       = 5  // number of jobs with the same correlation id
	batchJobs        = 1000
	batchEvery       = 16 // every sixteenth thousand of jobs is a batch
	holderCount      = 20
	retryTime        = 3 * time.Hour // time in which all retrying jobs fall due
)

var classes = [...]failure.Class{
	failure.NetworkTimeout, failure.RateLimitExceeded, failure.TemporaryServiceError, failure.InvalidInput, failure.NotFound, failure.UnknownError, failure.Panic, failure.AttemptTimeout,
}

var payload = []byte(`{"user":4711,"template":"welcome"}`)

func correlationOf(i int) string {
	if i%correlationEvery != 0 {
		return ""
	}
	return fmt.Sprintf("req-%012x", mix(i/(correlationEvery*correlated), 1)>>16)
}

func fingerprintOf(g int) string { return fmt.Sprintf("1:%016x", mix(g, 2)) }

func classOf(g int) string { return string(classes[mix(g, 3)%uint64(len(classes))]) }

func holderOf(i int) string {
	n := mix(i, 4) % holderCount
	return fmt.Sprintf("host-%d-%016x", n, mix(int(n), 5))
}

// job returns job number i, from 0 on. Its id is i+1.
func (l *layout) job(i int) record {
	r := record{
		id: job.ID(i + 1), priority: 1 + int(mix(i, 6)%job.PriorityMax), kind: int(mix(i, 7) % uint64(l.Kinds)),
		owner: l.owner(skewed(i, 8, l.Owners)), correlation: correlationOf(i),
	}
	r.queue, r.lane = r.kind, 1+r.kind
	if l.Kinds > 1 && mix(i, 9)%4 == 0 {
		r.queue, r.lane = (r.kind+1)%l.Kinds, 1+l.Kinds+r.kind
	}
	if i%keyEvery == 0 {
		r.key = fmt.Sprintf("order-%016x", mix(i, 10))
	}
	if b := i / batchJobs; b%batchEvery == 0 {
		r.batch = int64(b*batchJobs + 1)
	}
	step := span.Microseconds() / int64(l.jobs)
	r.created = l.now.Add(-span-quiet) + job.Micros(int64(i)*step)
	r.claimed = r.created + job.Micros(mix(i, 11)%500_000)
	switch at := i * l.stride % l.jobs; {
	case at < l.Completed:
		r.state = job.Completed
		r.ended = r.created.Add(runTime)
	case at < l.Completed+l.Dead:
		r.state = job.Dead
		r.group = l.groupOf(i, r.kind)
		r.ended = r.created.Add(dieMin) + job.Micros(mix(i, 12)%uint64((dieMax-dieMin).Microseconds()))
	case at < l.Completed+l.Dead+l.Retrying:
		r.state = job.Retrying
		r.group = l.groupOf(i, r.kind)
		r.ended = r.created.Add(runTime)
		r.due = l.now + job.Micros(mix(i, 13)%uint64(retryTime.Microseconds()))
	default:
		r.state = job.Waiting
		r.claimed, r.due = 0, r.created
		if mix(i, 14)%2 == 0 { // half of the waiting jobs are due during the next day
			r.due = l.now + job.Micros(mix(i, 15)%uint64((24*time.Hour).Microseconds()))
		}
	}
	return r
}

// groupOf returns the group of a failure. The groups of a kind are those with the same
// number modulo the number of kinds.
func (l *layout) groupOf(i, kind int) int {
	first := kind % l.Groups
	return first + l.Kinds*skewed(i, 16, (l.Groups-first-1)/l.Kinds+1)
}

// status returns the status of a dead letter: four fifths are pending.
func (r *record) status() job.Status {
	switch mix(int(r.id), 17) % 10 {
	case 0:
		return job.Resolved
	case 1:
		return job.Ignored
	}
	return job.Pending
}

func (r *record) reason() job.Reason {
	if r.group%3 == 0 {
		return job.NonRetriable
	}
	return job.MaxRetries
}

// secondRun is when the second run of a dead job began.
func (r *record) secondRun() job.Micros { return r.ended - 1_000_000 }

func (r *record) message() string {
	return fmt.Sprintf("fetch https://media.example.com/v2/renditions/%d/preview.mp4: unexpected status 503 Service Unavailable (cause %d)", r.id, r.group)
}
