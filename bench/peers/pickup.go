package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/bench/agent"
)

// The limits of the pickup measurement: the number of samples, the total time, and the pause
// between samples. The pause varies, so that it does not stay in step with a timer of the system.
const (
	pickupSamples = 300
	pickupFor     = 12 * time.Second
	pickupGap     = 15 * time.Millisecond
)

// pickup measures how long an idle second process takes to start a job.
func (b *bench) pickup(ctx context.Context, s system, w workload, p *place, r *result) error {
	group, err := b.launch(ctx, s, w, p, agent.Config{Create: true, Jobs: r.Jobs + pickupSamples, Tell: true})
	if err != nil {
		return err
	}
	r.hello(group)
	found, err := pickups(ctx, group[0], group[1], min(pickupSamples, r.Jobs))
	if err == nil {
		err = group[1].Ask(ctx, agent.Request{Do: "stop"}, nil)
	}
	if err != nil {
		return errors.Join(err, group[0].Kill(), group[1].Kill())
	}
	slices.Sort(found)
	r.Samples = len(found)
	r.P50, r.P99 = milliseconds(at(found, 0.5)), milliseconds(at(found, 0.99))
	return closeAll(group)
}

func pickups(ctx context.Context, producer, worker *agent.Process, samples int) (found []time.Duration, err error) {
	if err := worker.Ask(ctx, agent.Request{Do: "start"}, nil); err != nil {
		return nil, err
	}
	pause(ctx, time.Second) // after this pause the process that runs jobs is idle
	began := time.Now()
	for n := 0; n < samples && (time.Since(began) < pickupFor || n < 5); n++ {
		var stored agent.Enqueued
		if err := producer.Ask(ctx, agent.Request{Do: "enqueue", First: n, N: 1}, &stored); err != nil {
			return nil, err
		}
		select {
		case start := <-worker.Starts():
			if start.N != n {
				return nil, fmt.Errorf("job %d started, want the enqueued job %d", start.N, n)
			}
			found = append(found, time.Duration(max(0, start.At-stored.At)))
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		pause(ctx, pickupGap+time.Duration(n*7%23)*time.Millisecond)
	}
	return found, nil
}

// at returns the quantile of sorted durations for a share, such as 0.99.
func at(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
