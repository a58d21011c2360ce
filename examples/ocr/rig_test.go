package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/examples/ocr/world"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/store/sqlite"
)

// rig runs the program on a real store, with simulated services. Its clock moves only when the test
// says so. Calls do not sleep: their waits are recorded.
type rig struct {
	t      *testing.T
	plan   *world.Plan
	bucket *blob.Bucket
	client *redrive.Client
	now    atomic.Int64 // the time of the store and of the calls, in nanoseconds since 1970
	waits  []time.Duration
	lines  bytes.Buffer // the log, one JSON object per line
}

func newRig(t *testing.T, trouble ...world.Trouble) *rig {
	t.Helper()
	r := &rig{t: t, plan: &world.Plan{}}
	r.now.Store(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).UnixNano())
	r.plan.Add(trouble...)
	bucket, err := world.OpenBucket(t.TempDir(), r.plan)
	if err != nil {
		t.Fatal(err)
	}
	r.bucket = bucket
	server := httptest.NewServer(world.APIs(r.plan))
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ocr.db"), &sqlite.Options{Clock: r.Now})
	if err != nil {
		t.Fatal(err)
	}
	r.client, err = newClient(st, &settings{
		APIs: server.URL, VisionKey: world.VisionKey, Bucket: bucket, Environ: []string{},
		ModelKeys: map[string]string{"": world.ModelKey, "former": "a-key-that-was-revoked"},
		Change: func(o *retry.Options) {
			o.Clock, o.Rand = r, func() float64 { return 0.5 }
			o.Logger = slog.New(retry.LogHandler(&r.lines, slog.LevelInfo))
		},
	}, &redrive.Config{
		Logger: slog.New(slog.DiscardHandler), Lease: time.Hour,
		Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		if err := bucket.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// The store and the calls use the methods Now and Sleep as their clock.
func (r *rig) Now() time.Time { return time.Unix(0, r.now.Load()) }

func (r *rig) Sleep(ctx context.Context, d time.Duration) error {
	r.waits = append(r.waits, d)
	return ctx.Err()
}

func (r *rig) advance(d time.Duration) { r.now.Add(int64(d)) }

// enqueue stores a picture and enqueues its job.
func (r *rig) enqueue(f file) redrive.JobID {
	r.t.Helper()
	picture, err := world.Page(strings.ToUpper(f.Name) + "\nTOTAL: 107.50")
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.bucket.WriteAll(r.t.Context(), f.inbox(), picture, nil); err != nil {
		r.t.Fatal(err)
	}
	receipt, err := r.client.Enqueue(r.t.Context(), document.New(f, &redrive.Options{Correlation: f.Name}))
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.ID
}

// work runs the due jobs, and returns the job and its failures.
func (r *rig) work(id redrive.JobID) (job.Job, []job.Failure) {
	r.t.Helper()
	if err := r.client.RunUntilIdle(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	j, err := r.client.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	failures, err := r.client.Failures(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return j, failures
}

// do enqueues a job and runs it.
func (r *rig) do(f file) (job.Job, []job.Failure) {
	r.t.Helper()
	return r.work(r.enqueue(f))
}

// logged returns the log lines so far.
func (r *rig) logged() (lines []map[string]any) {
	r.t.Helper()
	for line := range bytes.Lines(r.lines.Bytes()) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// sameKey reports whether all calls had the same idempotency key.
func sameKey(calls []world.Called) bool {
	for _, c := range calls {
		if c.Key == "" || c.Key != calls[0].Key {
			return false
		}
	}
	return true
}
