package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakePeer stands for a library, so that the measuring itself can be tested.
// Its handlers run within Start or Enqueue.
type fakePeer struct {
	load load

	preloadTakes time.Duration
	enqueueFails error
	handlersIdle bool  // no handler is ever called
	handledTwice bool  // each handler is called once more
	unfinished   []int // answers of Unfinished, the last one for ever

	stored  atomic.Int64
	mu      sync.Mutex
	started bool
	order   []string // of the calls that belong to the life of a peer
}

func (p *fakePeer) Preload(_ context.Context, n int) error {
	p.note("preload")
	time.Sleep(p.preloadTakes)
	p.stored.Add(int64(n))
	return nil
}

func (p *fakePeer) Enqueue(context.Context) error {
	if p.enqueueFails != nil {
		return p.enqueueFails
	}
	p.stored.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		p.handle(1)
	}
	return nil
}

func (p *fakePeer) Start(context.Context) error {
	p.note("start")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = true
	p.handle(p.stored.Load())
	return nil
}

func (p *fakePeer) handle(n int64) {
	if p.handlersIdle {
		return
	}
	if p.handledTwice {
		n *= 2
	}
	for range n {
		p.load.handled()
	}
}

func (p *fakePeer) Stop(ctx context.Context) error {
	p.note("stop")
	return ctx.Err()
}

func (p *fakePeer) Unfinished(context.Context) (int, error) {
	if len(p.unfinished) == 0 {
		return 0, nil
	}
	n := p.unfinished[0]
	if len(p.unfinished) > 1 {
		p.unfinished = p.unfinished[1:]
	}
	return n, nil
}

func (p *fakePeer) RowsLeft(context.Context) (int, error) { return int(p.stored.Load()), nil }

func (p *fakePeer) Durability(context.Context) (string, error) { return "none", nil }

func (p *fakePeer) Close() error {
	p.note("close")
	return nil
}

func (p *fakePeer) note(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = append(p.order, call)
}

// setting makes the fake a setting that can be measured once.
func (p *fakePeer) setting() setting {
	return setting{peer: "fake", name: "only", open: func(_ context.Context, dir string, l load) (peer, error) {
		p.load = l
		return p, os.WriteFile(dir+"/jobs.db", nil, 0o600)
	}}
}

// wantOrder checks the calls and that nothing is left on disk.
func (p *fakePeer) wantOrder(t *testing.T, dir string, want ...string) {
	t.Helper()
	if !slices.Equal(p.order, want) {
		t.Errorf("calls %v, want %v", p.order, want)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

var errDisk = errors.New("disk full")
