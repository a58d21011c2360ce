package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// logLeft logs how many jobs were done and which jobs are left. It is called at the end of
// `redrive work --until-idle`.
func (w *worker) logLeft(ctx context.Context, client *redrive.Client) {
	b, err := client.Backlog(ctx)
	if err != nil {
		return // without this error, the log would show how many jobs were done
	}
	w.log.Info("no jobs are left to run", "completed", b.Jobs[job.Completed], "dead", b.Jobs[job.Dead],
		"cancelled", b.Jobs[job.Cancelled])
	for queue, n := range b.Paused {
		w.log.Warn("jobs are left in a paused queue", "queue", queue, "jobs", n)
	}
	for _, id := range b.WaitingRedrives {
		w.log.Warn("jobs are left: the redrive waits for jobs that this worker does not run", "redrive", id)
	}
	others := map[string]int64{} // number of jobs by "queue/kind"
	for _, n := range b.Others {
		others[n.Queue+"/"+n.Kind] += n.N
	}
	for name, n := range others {
		w.log.Warn("jobs are left: the configuration does not have this queue or kind", "queue/kind", name, "jobs", n)
	}
}

// progress makes the status line of a worker.
type progress struct {
	now func() time.Time

	at    time.Time // time of the first and of the last measurement of the rate
	ended int64
	rate  float64
}

// rateEvery is the length of time over which the rate of completed jobs is measured.
const rateEvery = 2 * time.Second

func (p *progress) line(b *redrive.Backlog, stopping bool) string {
	p.measure(b.Jobs[job.Completed] + b.Jobs[job.Dead] + b.Jobs[job.Cancelled])
	var parts []string
	for _, state := range job.States {
		if n := b.Jobs[state]; n > 0 || state == job.Running || state == job.Waiting {
			parts = append(parts, words.Number(n)+" "+state.String())
		}
	}
	if p.rate > 0 {
		parts = append(parts, fmt.Sprintf("%.1f/s", p.rate))
	}
	for queue := range b.Paused {
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
