package main

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/redrive/redrive/bench/agent"
)

// lookEvery is the pause between two progress requests to the agents. It limits the precision of
// the duration, and its load is negligible.
const lookEvery = 5 * time.Millisecond

// rate measures how fast jobs are stored or run.
func (b *bench) rate(ctx context.Context, s system, w workload, p *place, r *result) error {
	group, err := b.launch(ctx, s, w, p, agent.Config{Create: true, Jobs: r.Jobs})
	if err != nil {
		return err
	}
	r.hello(group)
	err = b.timed(ctx, s, w, p, group, r)
	if err == nil {
		err = verify(ctx, s, w, group, r)
	}
	if err != nil {
		for _, a := range group {
			err = errors.Join(err, a.Kill())
		}
		return err
	}
	return closeAll(group)
}

func (b *bench) timed(ctx context.Context, s system, w workload, p *place, group []*agent.Process, r *result) error {
	if w.mode == processMode {
		if err := group[0].Ask(ctx, agent.Request{Do: "bulk", N: r.Jobs}, nil); err != nil {
			return err
		}
		if s.server == postgres { // vacuum now, because autovacuum would otherwise run during the measurement; River's own benchmark does the same
			if err := execute(ctx, p.address, "VACUUM ANALYZE"); err != nil {
				return err
			}
		}
	}
	if s.server == postgres {
		if err := execute(ctx, p.address, "CHECKPOINT"); err != nil {
			return err
		}
	}
	client, server := usage(group, p)
	start := time.Now()
	if !w.mode.stores() {
		if err := askAll(ctx, group, agent.Request{Do: "start"}); err != nil {
			return err
		}
	}
	if w.mode != processMode {
		if err := enqueueAll(ctx, w.mode, group, r.Jobs); err != nil {
			return err
		}
	}
	if !w.mode.stores() {
		if err := awaitDone(ctx, group, r.Jobs); err != nil {
			return err
		}
	}
	took := time.Since(start)
	clientEnd, serverEnd := usage(group, p)
	if !w.mode.stores() {
		if err := askAll(ctx, group, agent.Request{Do: "stop"}); err != nil {
			return err
		}
	}
	r.Seconds = took.Seconds()
	r.PerSecond = float64(r.Jobs) / took.Seconds()
	r.ClientCPU = perJob(clientEnd-client, r.Jobs)
	r.ServerCPU = perJob(serverEnd-server, r.Jobs)
	return nil
}

func perJob(d time.Duration, jobs int) float64 { return float64(d.Microseconds()) / float64(jobs) }

// usage returns the processor time of the agents and of the server.
func usage(group []*agent.Process, p *place) (client, server time.Duration) {
	for _, a := range group {
		client += cpuOf(a.PID(), false)
	}
	if p.pid != 0 {
		server = cpuOf(p.pid, p.forks)
	}
	return client, server
}

// askAll sends a request to all agents concurrently.
func askAll(ctx context.Context, group []*agent.Process, request agent.Request) error {
	return forEach(group, func(_ int, a *agent.Process) error { return a.Ask(ctx, request, nil) })
}

func forEach(group []*agent.Process, do func(i int, a *agent.Process) error) error {
	errs := make([]error, len(group))
	var all sync.WaitGroup
	for i, a := range group {
		all.Go(func() { errs[i] = do(i, a) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// enqueueAll makes each agent enqueue its part of the jobs.
func enqueueAll(ctx context.Context, m mode, group []*agent.Process, jobs int) error {
	do := "enqueue"
	if m == bulkMode || m == bothBulkMode {
		do = "bulk"
	}
	return forEach(group, func(i int, a *agent.Process) error {
		first, end := jobs*i/len(group), jobs*(i+1)/len(group)
		return a.Ask(ctx, agent.Request{Do: do, First: first, N: end - first}, nil)
	})
}

// awaitDone waits until all jobs have run, and then until the store has no unfinished job.
func awaitDone(ctx context.Context, group []*agent.Process, jobs int) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	wait := func(what string, done func() (bool, error)) error {
		for {
			ok, err := done()
			if err != nil || ok {
				return err
			}
			select {
			case <-look.C:
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", what, context.Cause(ctx))
			}
		}
	}
	ran, left := 0, 0
	err := wait("run", func() (bool, error) {
		sum := 0
		for _, a := range group {
			n := 0
			if err := a.Ask(ctx, agent.Request{Do: "ran"}, &n); err != nil {
				return false, err
			}
			sum += n
		}
		ran = sum
		return ran >= jobs, nil
	})
	if err != nil {
		return fmt.Errorf("only %d of %d jobs have run: %w", ran, jobs, err)
	}
	err = wait("settled", func() (bool, error) {
		err := group[0].Ask(ctx, agent.Request{Do: "unfinished"}, &left)
		return left == 0, err
	})
	if err != nil {
		return fmt.Errorf("all jobs ran, but the store still has %d unfinished jobs: %w", left, err)
	}
	return nil
}

// verify checks that each job has run, and that the history has each job if the system keeps a
// history.
func verify(ctx context.Context, s system, w workload, group []*agent.Process, r *result) error {
	if err := group[0].Ask(ctx, agent.Request{Do: "counts"}, &r.Rows); err != nil {
		return err
	}
	var all []byte
	total := int64(0)
	for _, a := range group {
		var runs agent.Runs
		if err := a.Ask(ctx, agent.Request{Do: "runs"}, &runs); err != nil {
			return err
		}
		all = agent.Union(all, runs.Ran)
		total += runs.Total
	}
	if w.mode.stores() {
		if r.Rows.Unfinished != r.Jobs || total != 0 {
			return fmt.Errorf("the store has %d of %d jobs, and %d jobs ran; want all jobs stored and no run", r.Rows.Unfinished, r.Jobs, total)
		}
		return nil
	}
	distinct := 0
	for _, b := range all {
		distinct += bits.OnesCount8(b)
	}
	if distinct != r.Jobs {
		return fmt.Errorf("only %d of %d jobs ran, want all", distinct, r.Jobs)
	}
	r.Twice = total - int64(distinct)
	dead := failures(r.Jobs, w.failing)
	switch {
	case r.Rows.Unfinished != 0:
		return fmt.Errorf("the store still has %d unfinished jobs, want none", r.Rows.Unfinished)
	case s.history && r.Rows.Finished != r.Jobs-dead:
		return fmt.Errorf("the history has %d jobs, want %d", r.Rows.Finished, r.Jobs-dead)
	case r.Rows.Dead > dead:
		return fmt.Errorf("the store has %d dead jobs, want %d", r.Rows.Dead, dead)
	}
	return nil // if a system keeps fewer dead jobs, the page shows their number
}

// failures returns how many of the jobs must fail if the given percentage of them must fail.
func failures(jobs, failing int) (dead int) {
	for n := range jobs {
		if agent.Fails(n, failing) {
			dead++
		}
	}
	return dead
}

// floor measures an [agent.Floor], which only runs the smallest number of statements that jobs
// need.
func (b *bench) floor(ctx context.Context, s system, w workload, p *place, r *result) error {
	group, err := b.launch(ctx, s, w, p, agent.Config{Create: true, Jobs: r.Jobs})
	if err != nil {
		return err
	}
	r.hello(group)
	client, server := usage(group, p)
	err = group[0].Ask(ctx, agent.Request{Do: "floor", Mode: string(w.mode), N: r.Jobs}, &r.Seconds)
	if err != nil {
		return errors.Join(err, group[0].Kill())
	}
	clientEnd, serverEnd := usage(group, p)
	r.PerSecond = float64(r.Jobs) / r.Seconds
	r.ClientCPU, r.ServerCPU = perJob(clientEnd-client, r.Jobs), perJob(serverEnd-server, r.Jobs)
	return closeAll(group)
}
