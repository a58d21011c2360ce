package webhook_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify/webhook"
)

var (
	secret = webhook.Secret(strings.Repeat("n", 32))
	older  = webhook.Secret(strings.Repeat("o", 32))
	body   = []byte(`{"type":"campaign_ready","data":{"name":"<é>"}}`)
)

// receiver is an HTTPS server on this machine and an endpoint that may reach it.
func receiver(t *testing.T, h http.HandlerFunc) (*webhook.Sender, *webhook.Endpoint) {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	port := srv.Listener.Addr().(*net.TCPAddr).Port
	return webhook.New(webhook.Options{RootCAs: roots}), &webhook.Endpoint{URL: srv.URL, Secret: secret,
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: []uint16{uint16(port)}}
}

// received is what a receiver has got.
type received struct {
	header http.Header
	body   []byte
}

func send(t *testing.T, change func(*webhook.Endpoint)) (got received) {
	t.Helper()
	s, e := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		got.header = r.Header
		got.body, _ = io.ReadAll(r.Body)
	})
	if change != nil {
		change(e)
	}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); err != nil {
		t.Fatal(err)
	}
	return got
}

func verifies(t *testing.T, s webhook.Secret, got received) bool {
	t.Helper()
	wh, err := standard.NewWebhook(s.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return wh.Verify(got.body, got.header) == nil
}

// part of: N3
func TestN3_Trap24_ThePublishedLibraryVerifies(t *testing.T) {
	t.Parallel()
	plain := send(t, nil)
	if !verifies(t, secret, plain) || verifies(t, older, plain) {
		t.Error("before a rotation: want that the secret verifies, and no other")
	}
	during := send(t, func(e *webhook.Endpoint) { e.OldSecret, e.OldUntil = older, time.Now().Add(time.Hour) })
	if !verifies(t, secret, during) || !verifies(t, older, during) {
		t.Error("during a rotation: want that both secrets verify")
	}
	after := send(t, func(e *webhook.Endpoint) { e.OldSecret, e.OldUntil = older, time.Now().Add(-time.Hour) })
	if !verifies(t, secret, after) || verifies(t, older, after) {
		t.Error("after a rotation: want that only the new secret verifies")
	}
	plain.body[3] ^= 1
	if verifies(t, secret, plain) {
		t.Error("a body with one byte changed verifies")
	}
}

// The libraries for Python and JavaScript, if they are installed.
// part of: N3
func TestSend_TheLibrariesOfOtherLanguagesVerify(t *testing.T) {
	t.Parallel()
	got := send(t, func(e *webhook.Endpoint) { e.OldSecret, e.OldUntil = older, time.Now().Add(time.Hour) })
	input, err := json.Marshal(map[string]any{"body": string(got.body), "secrets": []string{secret.Reveal(), older.Reveal()}, "headers": map[string]string{
		"webhook-id": got.header.Get("webhook-id"), "webhook-timestamp": got.header.Get("webhook-timestamp"), "webhook-signature": got.header.Get("webhook-signature")}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := exec.CommandContext(t.Context(), "sh", "../../scripts/webhooks.sh").Output()
	if err != nil {
		t.Skipf("the libraries for Python and JavaScript are not there: %s", found)
	}
	folder := strings.TrimSpace(string(found))
	for name, args := range map[string][]string{
		folder + "/bin/python3": {"-c", `import json, sys
from standardwebhooks.webhooks import Webhook
d = json.load(sys.stdin)
for s in d["secrets"]:
    Webhook(s).verify(d["body"], d["headers"])
    try:
        Webhook(s).verify(d["body"] + " ", d["headers"])
    except Exception:
        continue
    sys.exit("a changed body verifies")`},
		"node": {"-e", `const {Webhook} = require("standardwebhooks");
const d = JSON.parse(require("fs").readFileSync(0));
for (const s of d.secrets) {
  new Webhook(s).verify(d.body, d.headers);
  let ok = false;
  try { new Webhook(s).verify(d.body + " ", d.headers); } catch { ok = true; }
  if (!ok) throw new Error("a changed body verifies");
}`},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Env = append(os.Environ(), "NODE_PATH="+folder+"/node_modules")
			cmd.Stdin = strings.NewReader(string(input))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestSend_AnswersAreEvidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		after  time.Duration
	}{
		"410":              {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }, 410, 0},
		"429 with seconds": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "120"); w.WriteHeader(429) }, 429, 2 * time.Minute},
		"503 and a key": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprint(w, "password=hunter2secret")
		}, 503, 0},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, http.StatusFound, 0},
		"body without an end": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			for range 1000 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}, 500, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, e := receiver(t, c.answer)
			err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body})
			status, ok := errors.AsType[*webhook.StatusError](err)
			if !ok || status.Status != c.status || strings.Contains(err.Error(), "hunter2") || len(status.Body) > 1<<10 {
				t.Fatalf("got error %.300v, want the status %d without secrets", err, c.status)
			}
			if ev := failure.Of(err); ev.HTTPStatus != c.status || ev.RetryAfter != c.after {
				t.Errorf("the evidence has the status %d and a wait of %s, want %d and %s", ev.HTTPStatus, ev.RetryAfter, c.status, c.after)
			}
		})
	}
}

func TestSend_AReceiverThatHangsCostsTheTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	_, e := receiver(t, func(http.ResponseWriter, *http.Request) { <-release })
	e.AllowHTTP = true
	s := webhook.New(webhook.Options{Timeout: 50 * time.Millisecond})
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e.URL, e.Ports = "http://"+l.Addr().String(), []uint16{uint16(l.Addr().(*net.TCPAddr).Port)}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got error %v, want that the time was over", err)
	}
}

// forms are hosts that lead into private or special networks.
var forms = []string{
	"0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "127.0.0.1.", "169.254.169.254", "172.31.0.1", "192.0.0.8",
	"192.0.2.1", "192.88.99.1", "192.168.1.1", "198.19.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[100::1]", "[2001::1]", "[2001:db8::1]",
	"[2002:7f00:1::]", "[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd12::1]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[ff02::1]",
}

func refusedInput(err error) bool {
	e := failure.Of(err)
	return err != nil && e.Permanent && e.Class == failure.InvalidInput
}

// part of: N3
func TestN3_Trap22_RefusesEveryForm(t *testing.T) {
	t.Parallel()
	s := webhook.New(webhook.Options{})
	for _, host := range forms {
		e := &webhook.Endpoint{URL: "https://" + host + "/hook", Secret: secret}
		if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); !refusedInput(err) {
			t.Errorf("host %s: got error %v, want that it is refused", host, err)
		}
	}
}

// A name is checked by the address that is dialled, each time: a resolver that gives a public address
// at the check and a private one later gains nothing.
// part of: N3
func TestGuard_ChecksWhatANameResolvesTo(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dialled.Add(1)
			_ = c.Close()
		}
	}()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	e := &webhook.Endpoint{URL: fmt.Sprintf("https://localhost:%d/hook?token=canary", port), Secret: secret, Ports: []uint16{port}}
	s := webhook.New(webhook.Options{})
	err = s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body})
	if !errors.Is(err, webhook.ErrPrivate) || !refusedInput(err) || dialled.Load() != 0 {
		t.Errorf("got error %v and %d connections, want that the private network is refused before a connection", err, dialled.Load())
	}
	if err != nil && (strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "::1") || strings.Contains(err.Error(), "canary")) {
		t.Errorf("the error shows an address or the URL: %v", err)
	}
	e.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); err == nil || dialled.Load() != 1 || strings.Contains(err.Error(), "canary") {
		t.Errorf("the network is allowed: got error %v and %d connections, want an error of TLS without the URL, and 1 connection", err, dialled.Load())
	}
}

// The variables for proxies do not count. The test runs itself, because net/http reads them once.
func TestGuard_UsesNoProxy(t *testing.T) {
	if os.Getenv("REDRIVE_PROXY_TEST") == "" {
		var asked atomic.Int32
		proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer proxy.Close()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGuard_UsesNoProxy$")
		cmd.Env = append(os.Environ(), "REDRIVE_PROXY_TEST=1", "HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "ALL_PROXY="+proxy.URL)
		if out, err := cmd.CombinedOutput(); err != nil || asked.Load() != 0 {
			t.Errorf("error %v, the proxy was asked %d times, want never\n%s", err, asked.Load(), out)
		}
		return
	}
	s := webhook.New(webhook.Options{Timeout: 2 * time.Second})
	e := &webhook.Endpoint{URL: "http://localhost/hook", Secret: secret, AllowHTTP: true}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); !errors.Is(err, webhook.ErrPrivate) {
		t.Errorf("got error %v, want that the private network is refused", err)
	}
}

func TestEndpoint_RefusesMistakes(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]webhook.Endpoint{
		"use https":                   {URL: "http://shop.example.com/", Secret: secret},
		"remove it, because the sign": {URL: "https://user:canary@shop.example.com/", Secret: secret},
		"remove the #":                {URL: "https://shop.example.com/#a", Secret: secret},
		"the port 22 is not allowed":  {URL: "https://shop.example.com:22/", Secret: secret},
		"the secret has 8 bytes":      {URL: "https://shop.example.com/", Secret: secret[:8]},
		"the URL is not complete":     {URL: "shop.example.com", Secret: secret},
		"the scheme \"ftp\" is not":   {URL: "ftp://shop.example.com/", Secret: secret},
		"in a private or special":     {URL: "https://10.0.0.1/", Secret: secret},
		"neither a name nor an addr":  {URL: "https://127.1/", Secret: secret},
		"the URL has 3024 bytes":      {URL: "https://shop.example.com" + strings.Repeat("/", 3000), Secret: secret},
	} {
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%+v: got error %v, want one with %q", e, err, want)
		}
	}
	if err := (&webhook.Endpoint{URL: "https://shop.example.com/hooks?shop=1", Secret: secret}).Validate(); err != nil {
		t.Error(err)
	}
}

// part of: N3
func TestN3_Trap24_ASecretPrintsNothing(t *testing.T) {
	t.Parallel()
	s, err := webhook.ParseSecret(secret.Reveal())
	if err != nil || string(s) != string(secret) {
		t.Fatalf("the secret is read as %d bytes, error %v", len(s), err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s)
	encoded, err := json.Marshal(map[string]any{"secret": s})
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %s %x %q %#v %d %+v", s, s, s, s, s, s, webhook.Endpoint{Secret: s}) + log.String() + string(encoded)
	for _, shown := range []string{"nnnn", fmt.Sprintf("%x", "nnnn"), "110 110", secret.Reveal()[6:]} {
		if strings.Contains(all, shown) {
			t.Errorf("the secret is shown as %q in %s", shown, all)
		}
	}
	for _, text := range []string{"whsec_", "whsec_AAAA", "canary", "whsec_" + strings.Repeat("A", 100)} {
		if _, err := webhook.ParseSecret(text); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("the secret %q: got error %v, want an error without the text", text, err)
		}
	}
}
