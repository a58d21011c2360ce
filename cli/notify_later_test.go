package cli

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/store/memory"
)

// A worker that had nothing to send when it started sends webhooks since there is a receiver.
//
// part of: N3
func TestN3_AWorkerSendsWebhooksThatComeLater(t *testing.T) {
	t.Parallel()
	w := &worker{settings: settings{Config: config.Default()}, log: slog.New(slog.DiscardHandler)}
	w.TempDir = t.TempDir()
	client, err := w.laterSender(&opened{memory.New(memory.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("webhook-id") }))
	defer receiver.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tick, looks, ended := make(chan time.Time), make(chan bool, 2), make(chan struct{})
	go func() {
		defer close(ended)
		w.sendSince(ctx, tick, func() (bool, error) {
			is, err := sends(ctx, client)
			looks <- is
			return is, err
		}, client.Run)
	}()
	tick <- time.Time{}
	if <-looks {
		t.Error("an empty database has something to send")
	}
	at, err := url.Parse(receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	port := netip.MustParseAddrPort(at.Host).Port()
	_, err = client.PutEndpoint(ctx, redrive.By{Actor: "tess", Reason: "test"}, redrive.Endpoint{Name: "shop", URL: receiver.URL, AllowHTTP: true,
		Secret: redrive.WebhookSecret(make([]byte, 32)),
		Allow:  []string{"127.0.0.0/8"}, Ports: []uint16{port}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.TestWebhook(ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{}
	select {
	case id := <-got:
		if !<-looks || id == "" {
			t.Errorf("a webhook was sent with the id %q", id)
		}
	case <-time.After(time.Minute): //nolint:forbidigo // the process is real
		t.Fatal("the worker has sent nothing within a minute")
	}
	cancel()
	<-ended
}
