package failure_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/typed"
)

// serve runs a server whose handler ends with the test at the latest.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// hang answers when the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// cut ends the connection below a request, by a reset or in order.
func cut(reset bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// get makes one request on a connection of its own and reads the answer whole.
func get(ctx context.Context, t *testing.T, c *http.Client, url string) error {
	t.Helper()
	if c.Transport == nil {
		c.Transport = &http.Transport{}
	}
	defer c.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

// closedPort returns an address that refuses connections until the test ends. An
// outgoing connection holds the port, so that no other test can listen at it.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	holder, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close() })
	return holder.LocalAddr().String()
}

// seen is the part of evidence that the network tells.
type seen struct {
	Timeout, Canceled bool
	Errno, Types      string
	Sent              failure.Sent
}

func look(err error) seen {
	e := failure.Of(typed.Wrap(err))
	return seen{e.Timeout, e.Canceled, e.Errno, strings.Join(e.Types, " "), e.Sent}
}

// Three timeouts that all match context.DeadlineExceeded while the caller's
// context is alive, and one that doesn't match it at all.
//
// part of: F2, F6
func TestF2_TimeoutsOfTheNetwork(t *testing.T) {
	t.Parallel()
	srv := serve(t, hang)
	errs := map[string]error{
		"client":  get(t.Context(), t, &http.Client{Timeout: 50 * time.Millisecond}, srv.URL),
		"headers": get(t.Context(), t, &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Millisecond}}, srv.URL),
		"dialer": get(t.Context(), t, &http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: 1}).DialContext,
		}}, srv.URL),
	}
	for name, err := range errs {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v is no longer a context.DeadlineExceeded: the test has lost its point", name, err)
		}
		if got := look(err); !got.Timeout || got.Canceled || got.Errno != "" {
			t.Errorf("%s: %v: %+v", name, err, got)
		}
	}
	if got := look(errs["dialer"]); got.Sent != failure.NotSent {
		t.Errorf("dialling timed out: %+v, want that nothing was sent", got)
	}
	if got := look(errs["headers"]); got.Sent != failure.SentUnknown {
		t.Errorf("no answer to a request that was sent: %+v", got)
	}

	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	_, err = conn.Read(make([]byte, 1))
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("a connection's deadline has become a context.DeadlineExceeded: the test has lost its point")
	}
	if got, want := look(err), (seen{Timeout: true, Types: "net.OpError"}); got != want {
		t.Errorf("deadline of a connection: %+v, want %+v", got, want)
	}
}

// What ended a call cannot be seen in its error: with a cause, net/http
// returns the cause alone, which is neither a cancel nor a timeout.
//
// part of: F2
func TestF2_CancelledCalls(t *testing.T) {
	t.Parallel()
	srv := serve(t, hang)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if got, want := look(get(cancelled, t, &http.Client{}, srv.URL)), (seen{Canceled: true}); got.Canceled != want.Canceled || got.Timeout {
		t.Errorf("cancelled: %+v, want %+v", got, want)
	}
	caused, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(errors.New("the worker stops"))
	if got := look(get(caused, t, &http.Client{}, srv.URL)); got.Canceled || got.Timeout {
		t.Errorf("cancelled with a cause: %+v, want neither cancelled nor timed out", got)
	}
	timed, cancelTimed := context.WithTimeoutCause(t.Context(), 0, errors.New("the attempt took too long"))
	defer cancelTimed()
	if got := look(get(timed, t, &http.Client{}, srv.URL)); got.Canceled || got.Timeout {
		t.Errorf("timed out with a cause: %+v, want neither cancelled nor timed out", got)
	}
}

// part of: F2, F6
func TestF2_BrokenConnections(t *testing.T) {
	t.Parallel()
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	}
	plain := serve(t, short).URL
	secure := httptest.NewUnstartedServer(http.HandlerFunc(short))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it is not the server that is tested
	secure.StartTLS()
	t.Cleanup(secure.Close)
	tests := []struct {
		name, url string
		want      seen
	}{
		{"refused", "http://" + closedPort(t), seen{Errno: "ECONNREFUSED", Types: "net.OpError", Sent: failure.NotSent}},
		{"reset", serve(t, cut(true)).URL, seen{Errno: "ECONNRESET", Types: "net.OpError"}},
		{"closed before the answer", serve(t, cut(false)).URL, seen{Types: "io.EOF"}},
		{"body cut", plain, seen{Types: "io.ErrUnexpectedEOF"}},
		{"unknown authority", secure.URL,
			seen{Types: "tls.CertificateVerificationError x509.UnknownAuthorityError", Sent: failure.NotSent}},
		{"unknown scheme", "gopher://127.0.0.1", seen{}},
		{"no URL", "http://127.0.0.1:port/", seen{Types: "url.Error"}},
	}
	for _, tt := range tests {
		err := get(t.Context(), t, &http.Client{}, tt.url)
		if got := look(err); got != tt.want {
			t.Errorf("%s: %v:\n got %+v\nwant %+v", tt.name, err, got, tt.want)
		}
	}
	trusted := secure.Client()
	trusted.Transport.(*http.Transport).TLSClientConfig.ServerName = "wrong.example.org"
	err := get(t.Context(), t, trusted, secure.URL)
	want := seen{Types: "tls.CertificateVerificationError x509.HostnameError", Sent: failure.NotSent}
	if got := look(err); got != want {
		t.Errorf("wrong host: %v:\n got %+v\nwant %+v", err, got, want)
	}
	_, err = tls.Dial("tcp", strings.TrimPrefix(plain, "http://"), &tls.Config{InsecureSkipVerify: true})
	if got := look(err); got != (seen{Types: "tls.RecordHeaderError", Sent: failure.NotSent}) {
		t.Errorf("no TLS on the other side: %v: %+v", err, got)
	}
}

// part of: F6
func TestF6_StreamsOfHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	e := failure.Of(get(t.Context(), t, srv.Client(), srv.URL))
	if e.ServiceCode != "INTERNAL_ERROR" || e.HTTPStatus != 0 {
		t.Errorf("%+v, want the name of the stream's error", e)
	}
}

// nameServer answers every question with the code, such as 3 for "no such name".
func nameServer(t *testing.T, code byte) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			b[2], b[3] = 0x81, 0x80|code // an answer, recursion available
			b[11] = 0                    // no additional records
			_, _ = conn.WriteTo(b[:12+questionLen(b[12:n])], from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// questionLen is the length of a question: labels, type and class.
func questionLen(b []byte) int {
	n := 0
	for n < len(b) && b[n] != 0 {
		n += 1 + int(b[n])
	}
	return n + 5
}

// part of: F2, F6
func TestF6_NamesThatAreNotFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[byte]seen{
		2: {Errno: "EAI_AGAIN", Types: "net.DNSError", Sent: failure.NotSent},  // the server failed
		3: {Errno: "EAI_NONAME", Types: "net.DNSError", Sent: failure.NotSent}, // no such name
	} {
		_, err := nameServer(t, code).LookupHost(t.Context(), "host.example.org.")
		if got := look(err); got != want {
			t.Errorf("answer %d: %v:\n got %+v\nwant %+v", code, err, got, want)
		}
	}
}

// When one address refused and another broke off, one cannot say that nothing
// was sent.
func TestOf_SentHoldsForTheWholeTree(t *testing.T) {
	t.Parallel()
	refused := get(t.Context(), t, &http.Client{}, "http://"+closedPort(t))
	reset := get(t.Context(), t, &http.Client{}, serve(t, cut(true)).URL)
	for name, tt := range map[string]struct {
		err  error
		want failure.Sent
	}{
		"refused":                    {refused, failure.NotSent},
		"refused, with a plain text": {errors.Join(errors.New("storage"), refused), failure.NotSent},
		"refused and reset":          {errors.Join(refused, reset), failure.SentUnknown},
		"reset and refused":          {errors.Join(reset, refused), failure.SentUnknown},
		"marked":                     {failure.DependencyDown("s3", refused), failure.NotSent},
	} {
		if got := failure.Of(tt.err).Sent; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
