package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// survey is how the jobs stand, as one worker sees them.
type survey struct {
	jobs map[job.State]int64 // of the queues and kinds of the configuration
	// parked are those of them that wait in a paused queue.
	parked map[string]int64 // by queue
	// foreign are the live jobs that the configuration has no queue or kind for.
	foreign map[string]int64 // by "queue/kind"
	// redrives are under way; they may bring more jobs.
	redrives int64
	waiting  []int64 // numbers of redrives that go on only when jobs of others have ended
}

// live counts the jobs and redrives that the worker waits for.
func (s *survey) live() int64 {
	n := s.jobs[job.Waiting] + s.jobs[job.Retrying] + s.jobs[job.Running]
	for _, parked := range s.parked {
		n -= parked
	}
	return n + s.redrives
}

func (w *worker) survey(ctx context.Context) (survey, error) {
	ctx = context.WithoutCancel(ctx) // there is something to see while it stops, too
	before, err := w.store.RedriveList(ctx)
	if err != nil {
		return survey{}, fmt.Errorf("count redrives: %w", err)
	}
	queues, err := w.store.Queues(ctx)
	if err != nil {
		return survey{}, fmt.Errorf("read queues: %w", err)
	}
	counts, err := w.store.Counts(ctx)
	if err != nil {
		return survey{}, fmt.Errorf("count jobs: %w", err)
	}
	after, err := w.store.RedriveList(ctx)
	if err != nil {
		return survey{}, fmt.Errorf("count redrives: %w", err)
	}
	s := surveyOf(w.Config, queues, counts)
	s.redrives, s.waiting = keeper.Going(before, after)
	return s, nil
}

func surveyOf(c *config.Config, queues []store.Queue, counts []store.Count) survey {
	s := survey{jobs: make(map[job.State]int64), parked: make(map[string]int64), foreign: make(map[string]int64)}
	for _, n := range counts {
		_, ours := c.Queues[n.Queue]
		if _, known := c.Kinds[n.Kind]; !ours || !known {
			if !n.State.Terminal() && n.N > 0 {
				s.foreign[n.Queue+"/"+n.Kind] += n.N
			}
			continue
		}
		s.jobs[n.State] += n.N
		if n.State.Ready() && n.N > 0 && paused(queues, n.Queue) {
			s.parked[n.Queue] += n.N
		}
	}
	return s
}

func paused(queues []store.Queue, name string) bool {
	return slices.ContainsFunc(queues, func(q store.Queue) bool { return q.Name == name && q.Mode == store.Paused })
}

// tellLeft logs how things stand at the end of --until-idle.
func (w *worker) tellLeft(ctx context.Context) {
	s, err := w.survey(ctx)
	if err != nil {
		return // the work is done all the same
	}
	w.log.Info("nothing left to do", "completed", s.jobs[job.Completed], "dead", s.jobs[job.Dead],
		"cancelled", s.jobs[job.Cancelled])
	for queue, n := range s.parked {
		w.log.Warn("left in a paused queue", "queue", queue, "jobs", n)
	}
	for _, id := range s.waiting {
		w.log.Warn("left: the redrive waits for jobs that this worker does not run", "redrive", id)
	}
	for lane, n := range s.foreign {
		w.log.Warn("left: the configuration does not have this queue or kind", "queue/kind", lane, "jobs", n)
	}
}

// progress is the status line of a worker.
type progress struct {
	now func() time.Time

	at    time.Time // of the first and last measurement of the rate
	ended int64
	rate  float64
}

// rateEvery is the time over which the rate is measured.
const rateEvery = 2 * time.Second

func (p *progress) line(s *survey, stopping bool) string {
	p.measure(s.jobs[job.Completed] + s.jobs[job.Dead] + s.jobs[job.Cancelled])
	var parts []string
	for _, state := range job.States {
		if n := s.jobs[state]; n > 0 || state == job.Running || state == job.Waiting {
			parts = append(parts, words.Number(n)+" "+state.String())
		}
	}
	if p.rate > 0 {
		parts = append(parts, fmt.Sprintf("%.1f/s", p.rate))
	}
	for queue := range s.parked {
		parts = append(parts, queue+" is paused")
	}
	if stopping {
		parts = append(parts, "stopping")
	}
	return words.Clean(strings.Join(parts, "  "))
}

func (p *progress) measure(ended int64) {
	now := p.now()
	if p.at.IsZero() {
		p.at, p.ended = now, ended
		return
	}
	if elapsed := now.Sub(p.at); elapsed >= rateEvery {
		p.rate = float64(ended-p.ended) / elapsed.Seconds()
		p.at, p.ended = now, ended
	}
}
