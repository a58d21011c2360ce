package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// small is a command line for fake peers.
func small(t *testing.T) options {
	return options{
		jobs: 50, workers: 4, producers: 4, payload: 3,
		dir: t.TempDir(), limit: time.Second, now: time.Now,
	}
}

func TestProcessIsTimedUntilTheDatabaseHasAllCompleted(t *testing.T) {
	o := small(t)
	synctest.Test(t, func(t *testing.T) {
		p := &fakePeer{preloadTakes: time.Hour, unfinished: []int{7, 3, 1, 0}}
		got, err := measure(t.Context(), p.setting(), process, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := (3 * settledEvery).Seconds(); got.seconds != want {
			t.Errorf("took %v s, want %v s: three looks after the handlers, without the preload", got.seconds, want)
		}
		if got.runs != 50 || got.rowsLeft != 50 || p.load.payload != "xxx" || p.load.workers != 4 {
			t.Errorf("got %+v with load %+v", got, p.load)
		}
		p.wantOrder(t, o.dir, "preload", "start", "stop", "close")
	})
}

func TestLostWorkIsAnErrorNotANumber(t *testing.T) {
	tests := []struct {
		name string
		peer *fakePeer
		want string
	}{
		{"completion lost", &fakePeer{unfinished: []int{2}}, "2 jobs ran but are not completed: not done within 1s"},
		{"handler never called", &fakePeer{handlersIdle: true}, "0 of 50 jobs run: not done within 1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t)
			synctest.Test(t, func(t *testing.T) {
				_, err := measure(t.Context(), tt.peer.setting(), process, o)
				if err == nil || err.Error() != tt.want {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				tt.peer.wantOrder(t, o.dir, "preload", "start", "stop", "close")
			})
		})
	}
}

func TestEnqueueStoresEachJobOnceAndStartsNothing(t *testing.T) {
	o := small(t)
	p := &fakePeer{}
	got, err := measure(t.Context(), p.setting(), enqueue, o)
	if err != nil || got.rowsLeft != o.jobs || got.runs != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	p.wantOrder(t, o.dir, "close")
}

func TestBothEnqueuesWhileWorkersRun(t *testing.T) {
	o := small(t)
	p := &fakePeer{}
	got, err := measure(t.Context(), p.setting(), both, o)
	if err != nil || got.rowsLeft != o.jobs || got.runs != int64(o.jobs) {
		t.Errorf("got %+v, %v", got, err)
	}
	p.wantOrder(t, o.dir, "start", "stop", "close")
}

func TestFailedEnqueueEndsTheRun(t *testing.T) {
	o := small(t)
	p := &fakePeer{enqueueFails: errDisk}
	_, err := measure(t.Context(), p.setting(), both, o)
	if !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), "enqueue: ") {
		t.Errorf("error %v, want %v from enqueue", err, errDisk)
	}
	p.wantOrder(t, o.dir, "start", "stop", "close")
}

func TestJobsThatRanTwiceShow(t *testing.T) {
	o := small(t)
	p := &fakePeer{handledTwice: true}
	got, err := measure(t.Context(), p.setting(), process, o)
	if err != nil || got.runs != 100 {
		t.Errorf("%d handler calls, %v; want 100 for 50 jobs", got.runs, err)
	}
}
