package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive/bench/agent"
)

// kill kills a system and its server while jobs run. Then it counts which of the acknowledged jobs
// ran, are still stored, or are lost.
func (b *bench) kill(ctx context.Context, s system, w workload, p *place, r *result) error {
	r.Jobs *= 10 // more jobs than the system can finish before it is killed
	ledger := filepath.Join(p.dir, "ledger")
	group, err := b.launch(ctx, s, w, p, agent.Config{Create: true, Jobs: r.Jobs, Ledger: ledger})
	if err != nil {
		return err
	}
	r.hello(group)
	if err := askAll(ctx, group, agent.Request{Do: "start"}); err != nil {
		return errors.Join(err, closeAll(group))
	}
	enqueued := make(chan error, 1)
	go func() { enqueued <- enqueueAll(ctx, w.mode, group, r.Jobs) }()
	pause(ctx, b.killAfter)
	for empty(ledger+".acked") && ctx.Err() == nil { // wait until the system has acknowledged a job, which may take a while on a slow machine
		pause(ctx, lookEvery)
	}
	if err := b.killAll(ctx, s, p, group); err != nil {
		return err
	}
	<-enqueued // the enqueue ends with an error, because the agent was killed

	acked, ids, err := readAcked(ledger + ".acked")
	if err != nil {
		return err
	}
	ran, err := readRan(ledger+".ran", r.Jobs)
	if err != nil {
		return err
	}
	group, err = b.launch(ctx, s, w, p, agent.Config{Jobs: r.Jobs})
	if err != nil {
		return fmt.Errorf("start the system again after the kill: %w", err)
	}
	var known string
	err = group[0].Ask(ctx, agent.Request{Do: "known", IDs: ids}, &known)
	if err == nil && len(known) != len(ids) {
		err = fmt.Errorf("the system returned %d states for %d jobs", len(known), len(ids))
	}
	if err != nil {
		return errors.Join(err, group[0].Kill())
	}
	r.Kill = compare(acked, known, ran)
	return closeAll(group)
}

// empty reports whether a file is empty or missing.
func empty(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Size() == 0
}

// killAll kills the agents and the server almost simultaneously, and starts the server again.
func (b *bench) killAll(ctx context.Context, s system, p *place, group []*agent.Process) error {
	var err error
	switch {
	case s.server == postgres:
		err = b.pg.Kill()
	case p.redis != nil:
		p.redis.Kill()
	}
	for _, a := range group {
		err = errors.Join(err, a.Kill())
	}
	if err != nil {
		return err
	}
	switch {
	case s.server == postgres:
		return b.pg.Start(ctx)
	case p.redis != nil:
		return p.redis.Start(ctx)
	}
	return nil
}

// compare counts the states of the jobs whose callers got an acknowledgement.
func compare(acked []int, known string, ran []bool) *killed {
	k := &killed{Acked: len(acked)}
	for i, n := range acked {
		switch {
		case known[i] == agent.Finished:
			k.Finished++
		case known[i] == agent.Unfinished:
			k.Pending++
			if ran[n] {
				k.Again++
			}
		case !ran[n]:
			k.Lost++
		}
	}
	for _, did := range ran {
		if did {
			k.Ran++
		}
	}
	return k
}

// readAcked reads the numbers and the ids of the acknowledged jobs from a ledger. It skips an
// incomplete last line.
func readAcked(path string) (numbers []int, ids []string, err error) {
	err = readLines(path, func(line string) {
		var n int
		var id string
		if k, _ := fmt.Sscan(line, &n, &id); k == 2 {
			numbers, ids = append(numbers, n), append(ids, id)
		}
	})
	return numbers, ids, err
}

func readRan(path string, jobs int) ([]bool, error) {
	ran := make([]bool, jobs)
	err := readLines(path, func(line string) {
		var n int
		if k, _ := fmt.Sscan(line, &n); k == 1 && n >= 0 && n < jobs {
			ran[n] = true
		}
	})
	return ran, err
}

// readLines calls the given function for every complete line of a file.
func readLines(path string, each func(string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		}
		each(strings.TrimSuffix(line, "\n"))
	}
}
