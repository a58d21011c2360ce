package selfbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive"
)

const (
	liveJobs   = 1_000_000 // number of waiting jobs that are cancelled by a filter
	liveLeast  = 50_000    // lowest accepted rate of the cancels, in jobs a second
	liveMost   = 1.5       // highest accepted ratio of the p99 of new jobs beside the cancels to the p99 without them
	liveTurns  = 5         // number of measured windows with cancels, and equally many without cancels
	liveWindow = time.Second
	liveQueue  = "wrong" // queue of the jobs that are cancelled; no process claims from it
)

// liveFigures prints how fast many waiting jobs are cancelled by a filter while new jobs run,
// and how much that delays the new jobs: on SQLite and, unless the DSN is empty, on PostgreSQL. A
// running client takes the steps.
func (b *bencher) liveFigures(ctx context.Context, p *printer, in Seeded) error {
	jobs := liveJobs / in.Over
	for _, on := range stores(in.DSN) {
		results, err := b.measure(ctx, b.bothOn(on, "enqueue+process on "+on.name, withoutOwner))
		if err != nil {
			return err
		}
		var ratios, rates []float64
		for range b.load.Rounds {
			alone, beside, rate, err := b.live(ctx, on, jobs, results[0].PerSecond)
			if err != nil {
				return err
			}
			fmt.Fprintf(b.log, "new jobs on %s start with a p99 delay of %s alone, and of %s while %.0f jobs/s are cancelled\n", on.name, alone, beside, rate)
			ratios, rates = append(ratios, float64(beside)/float64(alone)), append(rates, rate)
		}
		name := fmt.Sprintf("cancel %d waiting jobs by a filter, beside new jobs at half of capacity, on %s", jobs, on.name)
		if err := p.atLeast(name, median(rates), liveLeast); err != nil {
			return err
		}
		name = fmt.Sprintf("fresh work at half of capacity beside the cancel of %d waiting jobs, on %s, p99", jobs, on.name)
		if err := p.atMost(name, median(ratios), "alone", liveMost); err != nil {
			return err
		}
	}
	return nil
}

// live measures the delay of new jobs without and with the cancels, and the rate of the
// cancels in jobs a second.
func (b *bencher) live(ctx context.Context, on measuredOn, jobs int, capacity float64) (alone, beside time.Duration, rate float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*runMax)
	defer cancel()
	dir := b.folder()
	place := on.place(dir)
	s, err := place.open(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
	client, err := b.newClient(s, dir)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := seedWrong(ctx, client, jobs, b.load.Payload); err != nil {
		return 0, 0, 0, err
	}
	w := &freshWork{client: client, rate: capacity / 2}
	return w.beside(ctx, w.liveTurns)
}

// seedWrong enqueues jobs that no process claims.
func seedWrong(ctx context.Context, client *redrive.Client, n, payload int) error {
	const batch = 1_000
	specs := make([]redrive.Spec, batch)
	for i := range specs {
		specs[i] = redrive.NewRaw("wrong", make([]byte, payload), &redrive.Options{Queue: liveQueue})
	}
	for range n / batch {
		if _, err := client.EnqueueMany(ctx, specs); err != nil {
			return err
		}
	}
	return nil
}

// liveTurns measures windows without and with the cancels in alternation. The redrive that
// cancels the jobs is paused during the windows without it.
func (w *freshWork) liveTurns(ctx context.Context) (alone, beside time.Duration, rate float64, err error) {
	by := redrive.By{Actor: "bench"}
	cancels := redrive.LiveAction{Do: redrive.LiveCancel, Filter: redrive.JobFilter{Queue: liveQueue}}
	counted, err := w.client.PreviewLive(ctx, cancels)
	if err != nil {
		return 0, 0, 0, err
	}
	var without, with, rates []float64
	var r redrive.Redrive
	for turn := range liveTurns {
		pause(ctx, freshSettle)
		without = append(without, float64(w.window(ctx, liveWindow)))
		if turn == 0 {
			r, err = w.client.StartLive(ctx, by, cancels, counted, 0)
		} else {
			r, err = w.client.ControlRedrive(ctx, by, r.ID, redrive.RedriveResume)
		}
		if err != nil {
			return 0, 0, 0, err
		}
		before, began := r.Released, time.Now()
		p99 := w.window(ctx, liveWindow)
		if r, err = w.client.GetRedrive(ctx, r.ID); err != nil {
			return 0, 0, 0, err
		}
		if r.State == redrive.RedriveCompleted {
			break // the last job was cancelled during this window, so the window does not count
		}
		with, rates = append(with, float64(p99)), append(rates, float64(r.Released-before)/time.Since(began).Seconds())
		if r, err = w.client.ControlRedrive(ctx, by, r.ID, redrive.RedrivePause); err != nil {
			return 0, 0, 0, err
		}
	}
	if len(with) == 0 {
		return 0, 0, 0, errors.New("the jobs were cancelled before one window was measured")
	}
	return time.Duration(median(without)), time.Duration(median(with)), median(rates), nil
}
