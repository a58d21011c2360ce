package deliver_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
	"github.com/redrive/redrive/notify/webhook"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

var by = redrive.By{Actor: "ann"}

// rig is a client on a store in memory, with a clock that the test moves.
type rig struct {
	*redrive.Client
	t     *testing.T
	store *memory.Store
	ahead atomic.Int64
}

func (r *rig) now() time.Time          { return time.Now().Add(time.Duration(r.ahead.Load())) }
func (r *rig) advance(d time.Duration) { r.ahead.Add(int64(d)) }

func newRig(t *testing.T, o deliver.Options, config *redrive.Config) *rig {
	t.Helper()
	r := &rig{t: t}
	r.store = memory.New(memory.Options{Clock: r.now})
	if config == nil {
		config = &redrive.Config{}
	}
	config.TempDir, config.Logger = t.TempDir(), slog.New(slog.DiscardHandler)
	var err error
	if r.Client, err = redrive.New(r.store, config); err != nil {
		t.Fatal(err)
	}
	o.Webhook.Now = r.now
	if err := deliver.Install(r.Client, o); err != nil {
		t.Fatal(err)
	}
	return r
}

// notice enqueues a notice as a store does, and returns its job.
func (r *rig) notice(n notify.Notice) redrive.JobID {
	r.t.Helper()
	id, err := r.store.ReserveIDs(r.t.Context(), 1)
	if err != nil {
		r.t.Fatal(err)
	}
	n.V, n.ID, n.MadeAt = 1, fmt.Sprintf("%032x", id), notify.Time(job.At(r.now()))
	n.Key = fmt.Sprintf("%s/%d", n.On, id)
	made, err := n.New()
	if err != nil {
		r.t.Fatal(err)
	}
	made.ID = id
	if _, err := r.store.Enqueue(r.t.Context(), []job.New{made}); err != nil {
		r.t.Fatal(err)
	}
	return redrive.JobID(id)
}

func (r *rig) hook(to string) redrive.JobID {
	return r.notice(notify.Notice{On: notify.BatchPartial, Kind: notify.KindWebhook, To: to, Body: json.RawMessage(`{"type":"campaign_ready","data":{"state":"PARTIAL"}}`)})
}

func (r *rig) work() {
	r.t.Helper()
	if err := r.RunUntilIdle(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) job(id redrive.JobID) *job.Job {
	r.t.Helper()
	j, err := r.store.Get(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return &j
}

func (r *rig) endpoint(name string) redrive.Endpoint {
	r.t.Helper()
	list, err := r.Endpoints(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name == name {
			return e
		}
	}
	return redrive.Endpoint{}
}

func (r *rig) put(e redrive.Endpoint) redrive.Endpoint {
	r.t.Helper()
	stored, err := r.PutEndpoint(r.t.Context(), by, e)
	if err != nil {
		r.t.Fatal(err)
	}
	return stored
}

var secret = redrive.WebhookSecret(strings.Repeat("n", 32))

// receiver is a server for webhooks on this machine, and the endpoint that leads to it.
func receiver(t *testing.T, name string, h http.HandlerFunc) (redrive.Endpoint, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	port := uint16(srv.Listener.Addr().(*net.TCPAddr).Port)
	return redrive.Endpoint{Name: name, URL: srv.URL, Secret: secret, Allow: []string{"127.0.0.0/8"}, Ports: []uint16{port}}, roots
}

// call is one webhook as it arrived.
type call struct{ id, signature, body string }

type calls struct {
	mu   sync.Mutex
	list []call
}

func (c *calls) add(req *http.Request) int {
	body, _ := io.ReadAll(req.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, call{req.Header.Get("Webhook-Id"), req.Header.Get("Webhook-Signature"), string(body)})
	return len(c.list)
}

// part of: N3, I3
func TestWebhook_IsRepeatedWithTheSameID(t *testing.T) {
	t.Parallel()
	var got calls
	e, roots := receiver(t, "shop", func(w http.ResponseWriter, req *http.Request) {
		if got.add(req) <= 2 {
			w.WriteHeader(http.StatusNotFound) // which the classifier would not retry
		}
	})
	r := newRig(t, deliver.Options{Webhook: webhook.Options{RootCAs: roots}}, nil)
	r.put(e)
	id := r.hook("shop")
	r.work()
	if j := r.job(id); j.State != job.Retrying {
		t.Fatalf("after the first attempt the job is %s, want retrying", j.State)
	}
	r.advance(6 * time.Second)
	r.work()
	r.advance(6 * time.Minute)
	r.work()
	j := r.job(id)
	if j.State != job.Completed || len(got.list) != 3 || len(j.Payload) == 0 {
		t.Fatalf("the job is %s after %d calls, with a payload of %d bytes; want completed after 3, with its payload", j.State, len(got.list), len(j.Payload))
	}
	for _, c := range got.list {
		if c.id != got.list[0].id || !strings.HasPrefix(c.id, "msg_") || c.body != `{"type":"campaign_ready","data":{"state":"PARTIAL"}}` || !strings.HasPrefix(c.signature, "v1,") {
			t.Errorf("got the call %+v, want the same id and the same bytes each time", c)
		}
	}
	if e := r.endpoint("shop"); e.Delivered != 1 || e.Failed != 2 || e.FailingSince != 0 {
		t.Errorf("counts: %d delivered, %d failed, failing since %d; want 1, 2, 0", e.Delivered, e.Failed, e.FailingSince)
	}
}

// part of: N3
func TestN3_Trap25_410TurnsOffAndARetryAfterOnSends(t *testing.T) {
	t.Parallel()
	var answer atomic.Int32
	answer.Store(http.StatusGone)
	var got calls
	e, roots := receiver(t, "shop", func(w http.ResponseWriter, req *http.Request) { got.add(req); w.WriteHeader(int(answer.Load())) })
	r := newRig(t, deliver.Options{Webhook: webhook.Options{RootCAs: roots}}, nil)
	r.put(e)
	first := r.hook("shop")
	r.work()
	waiting := r.hook("shop")
	r.work()
	for _, id := range []redrive.JobID{first, waiting} {
		if j := r.job(id); j.State != job.Dead || len(got.list) != 1 {
			t.Errorf("the job is %s after %d calls, want dead after 1", j.State, len(got.list))
		}
	}
	stored := r.endpoint("shop")
	if stored.Off != store.OffGone {
		t.Fatalf("the endpoint is off by %q, want %q", stored.Off, store.OffGone)
	}
	answer.Store(http.StatusOK)
	stored.Off = ""
	r.put(stored)
	r.advance(2 * time.Second)
	if err := r.Retry(t.Context(), by, waiting, nil); err != nil {
		t.Fatal(err)
	}
	r.work()
	if j := r.job(waiting); j.State != job.Completed || len(got.list) != 2 {
		t.Errorf("after it is on, the retried job is %s after %d calls, want completed after 2", j.State, len(got.list))
	}
}

func TestWebhook_UnknownAndPrivateOnesDieAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, deliver.Options{}, nil)
	r.put(redrive.Endpoint{Name: "inside", URL: "https://localhost/", Secret: secret})
	for name, want := range map[string]string{"nobody": "there is no webhook", "inside": "private or special network"} {
		id := r.hook(name)
		r.work()
		if j := r.job(id); j.State != job.Dead {
			t.Errorf("%s: the job is %s, want dead", name, j.State)
		}
		failures, err := r.Failures(t.Context(), id)
		if err != nil || len(failures) != 1 || !strings.Contains(failures[0].Message, want) || failures[0].Class != "InvalidInput" {
			t.Errorf("%s: failures %+v, error %v; want one with %q", name, failures, err, want)
		}
	}
}

// part of: N3
func TestWebhook_TestTriesAnEndpointThatIsOff(t *testing.T) {
	t.Parallel()
	var got calls
	e, roots := receiver(t, "shop", func(_ http.ResponseWriter, req *http.Request) { got.add(req) })
	r := newRig(t, deliver.Options{Webhook: webhook.Options{RootCAs: roots}}, nil)
	e.Off = store.OffByPerson
	r.put(e)
	id, err := r.TestWebhook(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	r.work()
	if j := r.job(id); j.State != job.Completed || len(got.list) != 1 || !strings.Contains(got.list[0].body, `"type":"redrive.test"`) {
		t.Errorf("the job is %s, calls %+v; want completed with one test", j.State, got.list)
	}
	if _, err := r.TestWebhook(t.Context(), "nobody"); err == nil {
		t.Error("a test of an unknown endpoint was taken")
	}
}

// A policy of the user that names the kind decides about its retries.
func TestWebhook_ThePolicyOfTheUserCounts(t *testing.T) {
	t.Parallel()
	e, roots := receiver(t, "shop", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	one := 1
	p, err := policy.New(policy.Spec{Name: "own", Kinds: map[string]policy.KindSpec{notify.KindWebhook: {Settings: policy.Settings{MaxRetries: &one}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, deliver.Options{Webhook: webhook.Options{RootCAs: roots}}, &redrive.Config{Policy: p})
	r.put(e)
	id := r.hook("shop")
	r.work()
	r.advance(24 * time.Hour)
	r.work()
	if j := r.job(id); j.State != job.Dead || j.Counters.Attempts != 2 {
		t.Errorf("the job is %s after %d attempts, want dead after 2", j.State, j.Counters.Attempts)
	}
}

// Others' webhooks arrive while one endpoint hangs and has many notices.
// part of: N3
func TestN3_Trap23_AnEndpointThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var busy, most atomic.Int32
	hanging, roots := receiver(t, "hanging", func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), busy.Add(1)))
		defer busy.Add(-1)
		<-release
	})
	done := make(chan struct{}, 100)
	quick, others := receiver(t, "quick", func(http.ResponseWriter, *http.Request) { done <- struct{}{} })
	_ = others // both servers have the same certificate
	r := newRig(t, deliver.Options{Webhook: webhook.Options{RootCAs: roots}}, nil)
	r.put(hanging)
	r.put(quick)
	for range 60 {
		r.hook("hanging")
	}
	for range 20 {
		r.hook("quick")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for range 20 {
		<-done
	}
	if most.Load() != deliver.SlotsDefault {
		t.Errorf("%d webhooks were under way to the endpoint that hangs, want %d", most.Load(), deliver.SlotsDefault)
	}
	close(release)
	stop()
	<-ended
}
