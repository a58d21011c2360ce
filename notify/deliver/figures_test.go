package deliver_test

import (
	"context"
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
)

var figures = flag.Bool("figures", false, "measure how many notices a process sends a second")

// measured runs the client until n notices have arrived, and returns how many arrive a second.
func measured(t *testing.T, r *rig, n int, arrived <-chan struct{}) float64 {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- r.Run(ctx) }()
	for range n {
		<-arrived
	}
	took := time.Since(began)
	stop()
	<-ended
	return float64(n) / took.Seconds()
}

// With 4 slots, on this machine, against servers on this machine.
func TestFigures_NoticesASecond(t *testing.T) {
	if !*figures {
		t.Skip("figures are measured with -figures")
	}
	arrived := make(chan struct{}, 10_000)
	server := newMails(t, func(string) { arrived <- struct{}{} })
	r := newRig(t, deliver.Options{Mail: server.settings()}, nil)
	const letters = 1_000
	for range letters {
		r.notice(notify.Notice{On: notify.BatchPartial, Kind: notify.KindMail, Channel: "mail", To: "ann@example.com", Facts: notify.Facts{Batch: batch("Spring")}})
	}
	t.Logf("%.0f mails/s over TLS", measured(t, r, letters, arrived))

	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	defer srv.Close()
	e := redrive.Endpoint{Name: "shop", URL: srv.URL, Secret: secret, AllowHTTP: true, Allow: []string{"127.0.0.0/8"}, Ports: []uint16{uint16(srv.Listener.Addr().(*net.TCPAddr).Port)}}
	r = newRig(t, deliver.Options{}, nil)
	r.put(e)
	const hooks = 5_000
	for range hooks {
		r.hook("shop")
	}
	t.Logf("%.0f webhooks/s without TLS", measured(t, r, hooks, arrived))

	quiet := othersWait(t, false)
	t.Logf("others' p99 is %s, and %s beside an endpoint that hangs and has 200 notices", quiet, othersWait(t, true))
}

// othersWait returns the 99th percentile of the time from the enqueue of a webhook to its arrival, beside
// an endpoint that hangs or that answers.
func othersWait(t *testing.T, hangs bool) time.Duration {
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if hangs {
			<-release
		}
	}))
	defer slow.Close()
	defer close(release)
	var at atomic.Int64
	arrived := make(chan time.Duration, 1)
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- time.Duration(time.Now().UnixNano() - at.Load()) }))
	defer quick.Close()
	r := newRig(t, deliver.Options{}, nil)
	for name, srv := range map[string]*httptest.Server{"slow": slow, "quick": quick} {
		r.put(redrive.Endpoint{Name: name, URL: srv.URL, Secret: secret, AllowHTTP: true, Allow: []string{"127.0.0.0/8"}, Ports: []uint16{uint16(srv.Listener.Addr().(*net.TCPAddr).Port)}})
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for range 200 {
		r.hook("slow")
	}
	var waits []time.Duration
	for range 300 {
		at.Store(time.Now().UnixNano())
		r.hook("quick")
		waits = append(waits, <-arrived)
		time.Sleep(2 * time.Millisecond) //nolint:forbidigo // the rate of the notices; a figure, not a test
	}
	go func() { stop() }()
	slices.Sort(waits)
	return waits[len(waits)*99/100]
}
