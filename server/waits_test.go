package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store"
)

// waits returns why a job waits, by GET /api/jobs/{id}/explain.
func (s *site) waits(id string) string {
	s.Helper()
	var why struct{ Waits string }
	s.ok("GET", "/api/jobs/"+id+"/explain", "", &why)
	return why.Waits
}

// present says that a process lives and runs the kind "k" of the queue "default".
func (s *site) present(name string, slots, running int) {
	s.Helper()
	_, err := s.store.Present(s.Context(), store.Process{Name: name, Instance: name + "-1", What: "work", Queues: []string{"default"}, Kinds: []string{"k"}, Slots: slots, Running: running})
	if err != nil {
		s.Fatal(err)
	}
}

// proves: Q7
//
// A waiting job is explained: the first cause that holds, from the settings, the processes and the
// limits of the store.
func TestQ7_WhyAJobWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		c.Queues = map[string]redrive.Queue{"default": {Limit: 1}}
		o.Limits = c.Queues
	})
	want := func(id string, parts ...string) {
		t.Helper()
		got := s.waits(id)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("job %s waits because %q, want %q in it", id, got, part)
			}
		}
	}
	later := s.submit(`{"kind":"k","payload":1,"delay_ms":7200000}`)
	want(later, "it was enqueued to start at ", "(in 2h)")
	id := s.submit(`{"kind":"k","payload":1,"deadline":"30m"}`)
	want(id, "no living process works on queue default and runs the kind k; its deadline is near: ")
	s.ok("POST", "/api/queues/default/pause", `{"note":"the disk is full"}`, nil)
	want(id, "queue default is paused by local since ", "because: the disk is full")
	s.ok("PATCH", "/api/queues/default", `{"workers":3}`, nil)
	want(id, "queue default is paused by local since ", "because: the disk is full")
	s.ok("POST", "/api/queues/default/resume", "", nil)
	s.present("w1", 4, 4)
	want(id, "all workers are busy: 4 of 4 slots are used")
	s.ok("POST", "/api/processes/w1/quiet", "", nil)
	want(id, "the only process that runs it is ordered to be quiet")
	s.present("w2", 4, 0)
	want(id, "nothing holds it")
	second := s.submit(`{"kind":"k","payload":2}`)
	want(second, "other jobs are before it: 3 jobs wait in queue default, the oldest since ")
	s.ok("PATCH", "/api/queues/default", `{"rate":"1/h"}`, nil)
	want(id, "queue default starts at most 1/h, the next one now; 3 jobs wait in it")
	s.ok("POST", "/api/queues/default/drain", `{"note":"moves"}`, nil)
	want(id, "; queue default is draining by local since ", "because: moves: it takes no new jobs")
	s.ok("PATCH", "/api/queues/default", `{"rate":"0"}`, nil)

	began, end := make(chan bool), make(chan bool)
	redrive.HandleRaw(s.client, "k", func(context.Context, *redrive.Job[[]byte]) error {
		began <- true
		<-end
		return nil
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- s.client.Run(ctx) }()
	<-began
	want(second, "the limit of queue default is reached: 1 of 1 run")
	if got := s.waits(id); got != "" {
		t.Errorf("the running job waits because %q, want nothing", got)
	}
	close(end)
	<-began
	cancel()
	<-stopped
}

// proves: Q7
//
// The explanation of a job that waits for a rate has the time of the next start. That of a job whose
// program cannot be started has the cause.
func TestQ7_TheNextStartOfARate(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Kinds = map[string]server.KindOptions{"k": {Rate: redrive.Rate{N: 1, Per: time.Hour}}}
	})
	s.submit(`{"kind":"k","payload":1}`)
	second := s.submit(`{"kind":"k","payload":2}`)
	process := store.Process{Name: "w", Instance: "w-1", What: "work", Queues: []string{"default"}, Kinds: []string{"k"}, Slots: 4}
	present := func() {
		t.Helper()
		if _, err := s.store.Present(t.Context(), process); err != nil {
			t.Fatal(err)
		}
	}
	want := func(text string) {
		t.Helper()
		if got := s.waits(second); !strings.HasPrefix(got, text) {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	present()
	want("jobs of the kind k start at most at 1/h, the next one now; 2 jobs wait")
	now := time.Now()
	x, err := s.store.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 9, Kinds: []store.KindWant{{Kind: "k", Max: 9, Rate: redrive.Rate{N: 1, Per: time.Hour}}}}}})
	if err != nil || len(x.Claims) != 1 {
		t.Fatalf("got %d claims and error %v, want 1", len(x.Claims), err)
	}
	at := now.Add(time.Hour).UTC().Format("2006-01-02 15:")
	want("jobs of the kind k start at most at 1/h, the next one at " + at)
	process.Sick = []store.Sickness{{Kind: "k", Cause: "fork/exec /opt/encode: no such file"}}
	present()
	want("the only process that runs it cannot start its program: fork/exec /opt/encode: no such file")
}
