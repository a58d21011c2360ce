package selfbench

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

var (
	soakQueues = []string{"soak-1", "soak-2", "soak-3", "soak-4"}
	soakKinds  = []string{"noop", "notice", "preview"}
)

// These constants give the shares of special jobs in the load: a constant n means one job
// in n.
const (
	soakFailing  = 10  // one job in soakFailing fails once and succeeds at the retry
	soakDying    = 100 // one job in soakDying becomes dead: half of these jobs at the first attempt, the others after their last retry
	soakLater    = 50  // one job in soakLater is scheduled for later, by at most soakLaterMax
	soakKeyed    = 4   // one job in soakKeyed has an idempotency key
	soakBatching = 10  // one producer in soakBatching enqueues soakBatch jobs in each call

	soakBatch    = 10
	soakLaterMax = 5 * time.Second
	soakRetries  = 3
)

// The first letter in the text of a payload says how the job ends.
const (
	endsWell  = 'w'
	endsLater = 'l' // the job succeeds after one failure
	endsDead  = 'd' // the job becomes dead at the first attempt
	endsWorn  = 'r' // the job becomes dead after its last retry

	payloadLeast = 3 // smallest payload in bytes: one letter and two quotes
)

// soakAttempt is the handler of all kinds of the load.
func soakAttempt(_ context.Context, j *redrive.Job[[]byte]) error {
	switch j.Args[1] {
	case endsLater:
		if j.Attempt > 1 {
			return nil
		}
		return unavailable(j)
	case endsDead:
		return failure.Permanent(unavailable(j))
	case endsWorn:
		return unavailable(j)
	}
	return nil
}

// soakLoad holds the running producers.
type soakLoad struct {
	soak    *Soak
	client  *redrive.Client
	gate    *gate
	next    atomic.Int64
	failed  context.CancelCauseFunc
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

// load starts the producers. If a producer fails, its error is given to the function,
// which ends the soak.
func (s *Soak) load(client *redrive.Client, w *watched, failed context.CancelCauseFunc) *soakLoad {
	return &soakLoad{soak: s, client: client, gate: w.gate, failed: failed}
}

func (l *soakLoad) start(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, l.gate.close)
	begin := time.Now()
	for i := range l.soak.Producers {
		batch := 1
		if i%soakBatching == soakBatching-1 {
			batch = soakBatch
		}
		l.workers.Go(func() {
			for ctx.Err() == nil {
				if err := l.enqueue(ctx, begin, batch); err != nil {
					l.failed(err)
					return
				}
			}
		})
	}
}

// stop waits until all producers have ended.
func (l *soakLoad) stop() {
	l.cancel()
	l.workers.Wait()
}

// enqueue waits for space in the backlog and, if there is a rate, until the next call is
// due. A call that has begun is completed even if ctx ends, so that all stored jobs are
// known.
func (l *soakLoad) enqueue(ctx context.Context, begin time.Time, batch int) error {
	first := l.next.Add(int64(batch)) - int64(batch)
	if l.soak.Rate > 0 {
		due := begin.Add(time.Duration(float64(first) / float64(l.soak.Rate) * float64(time.Second)))
		pause(ctx, time.Until(due))
	}
	if !l.gate.enter(batch) {
		return nil
	}
	now := time.Now()
	specs := make([]redrive.Spec, batch)
	for i := range specs {
		j := l.soak.job(first+int64(i), now)
		specs[i] = redrive.NewRaw(j.kind, j.payload(l.soak.Payload), &j.options)
	}
	_, err := l.client.EnqueueMany(context.WithoutCancel(ctx), specs)
	return err
}

// soakJob is one job of the load.
type soakJob struct {
	kind    string
	ends    byte
	options redrive.Options
}

// job returns job number n of the load. The result depends only on n.
func (s *Soak) job(n int64, now time.Time) soakJob {
	spread := uint64(n+1) * 0x9E3779B97F4A7C15 >> 20 // a hash of n, so that the different shares do not select the same jobs
	j := soakJob{kind: soakKinds[spread/19%uint64(len(soakKinds))], ends: endsWell}
	switch {
	case spread%soakDying == 0:
		j.ends = endsDead
		if spread/soakDying%2 == 0 {
			j.ends = endsWorn
		}
	case spread%soakFailing == 1:
		j.ends = endsLater
	}
	o := &j.options
	o.Queue = soakQueues[n%int64(len(soakQueues))]
	o.Priority = job.PriorityMin + int(spread/7%(job.PriorityMax-job.PriorityMin+1))
	if spread/11%soakLater == 0 {
		o.RunAt = now.Add(time.Duration(spread / 13 % uint64(soakLaterMax)))
	}
	if spread/17%soakKeyed == 0 {
		o.Key, o.KeyUntil = "order-"+strconv.FormatUint(spread, 16)+"-"+strconv.FormatInt(n, 16), now.Add(s.Keep)
	}
	return j
}

// payload returns a payload with the given number of bytes.
func (j *soakJob) payload(size int) []byte {
	payload := (*bench)(nil).bytes(size)
	payload[1] = j.ends
	return payload
}

// gate makes producers wait while the backlog is at its limit.
type gate struct {
	mu     sync.Mutex
	free   sync.Cond
	inside int
	limit  int
	shut   bool
}

func newGate(limit int) *gate {
	g := &gate{limit: limit}
	g.free.L = &g.mu
	return g
}

// enter waits until the backlog is below the limit and then adds n to it. The sum may
// exceed the limit. It returns false if the gate is closed.
func (g *gate) enter(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.inside >= g.limit && !g.shut {
		g.free.Wait()
	}
	if !g.shut {
		g.inside += n
	}
	return !g.shut
}

// leave removes n jobs from the backlog.
func (g *gate) leave(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside -= n
	for range n {
		g.free.Signal()
	}
}

// close ends all present and future calls of enter; they return false.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	g.free.Broadcast()
}
