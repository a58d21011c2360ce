package cli_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// certify writes a certificate for 127.0.0.1 with a name, and its key.
func certify(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"server.key": {Type: "PRIVATE KEY", Bytes: secret}, "server.crt": {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// part of: X2
//
// The server speaks TLS, also HTTP/2, and uses a new certificate without a restart.
func TestServe_TLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := certify(t, dir, "old")
	write(t, dir, "redrive.yaml", "server: {tls: {cert: server.crt, key: server.key}}\n")
	s := serve(t, dir)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("the server prints %q, want an https address", s.start)
	}
	ask := func(trusted *x509.Certificate) (status, version int, err error) {
		pool := x509.NewCertPool()
		pool.AddCert(trusted)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return 0, 0, err
		}
		return answer.StatusCode, answer.ProtoMajor, answer.Body.Close()
	}
	if status, version, err := ask(old); err != nil || status != 200 || version != 2 {
		t.Fatalf("got %d over HTTP/%d and error %v, want 200 over HTTP/2", status, version, err)
	}
	fresh := certify(t, dir, "fresh")
	becomes(t, "the new certificate is used", func() bool { _, _, err := ask(fresh); return err == nil })
	write(t, dir, "server.crt", "broken")
	if _, _, err := ask(fresh); err != nil {
		t.Errorf("a broken file: got %v, want the certificate before it", err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ cert, key, want string }{
		{"absent.crt", "server.key", "server.tls.cert: "}, {"server.crt", "absent.key", "server.tls.key: "}, {"server.key", "server.crt", "server.tls: "},
	} {
		write(t, dir, "bad.yaml", "server: {listen: '127.0.0.1:0', tls: {cert: "+c.cert+", key: "+c.key+"}}\n")
		if _, errs, code := run(t, dir, "serve", "--config", "bad.yaml"); code == 0 || !strings.Contains(errs, "bad.yaml: "+c.want) {
			t.Errorf("%s: got %d and %q, want %q", c.cert, code, errs, c.want)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// part of: X2
//
// The server listens on a Unix socket with the permissions of the configuration. The socket of a killed
// server is replaced; that of a living one, and any other file, is left alone.
func TestServe_UnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "rd") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a folder that stays harms nobody
	write(t, dir, "redrive.yaml", "server: {listen: 'unix:r.sock', socket_mode: '0600'}\nkinds: {k: {command: [cat]}}\n")
	socket := filepath.Join(dir, "r.sock")
	ask := func() (int, error) {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/api/jobs", strings.NewReader(`{"kind":"k","payload":1}`))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	for range 2 { // the second server finds the socket of the first, which was killed
		s := serveAt(t, dir, "")
		if status, err := ask(); status != 201 || err != nil {
			t.Fatalf("got %d and error %v, want 201", status, err)
		}
		if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket is %v, error %v, want the permissions 0600", info.Mode(), err)
		}
		if _, errs, code := run(t, dir, "serve"); code == 0 || !strings.Contains(errs, "another server listens on this socket") {
			t.Errorf("a second server: got %d and %q, want a refusal", code, errs)
		}
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // it was killed
	}
	s := serveAt(t, dir, "")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is there after a clean stop")
	}
	write(t, dir, "r.sock", "text")
	if _, errs, code := run(t, dir, "serve"); code == 0 || !strings.Contains(errs, "a file that is not a socket") {
		t.Errorf("a file in place of the socket: got %d and %q", code, errs)
	}
}

// part of: X3
//
// A client that sends a byte of its header now and then is cut off, and clients that say nothing, or
// whose headers are too large, hinder nobody.
func TestTrap42_SlowAndIdleClients(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
		return conn
	}
	for range 300 {
		dial()
	}
	slow := dial()
	began := time.Now()
	if _, err := io.WriteString(slow, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-"); err != nil {
		t.Fatal(err)
	}
	closed := make(chan time.Duration, 1)
	go func() {
		_, _ = io.Copy(io.Discard, slow) // it ends when the server closes the connection
		closed <- time.Since(began)
	}()
	if status, body := s.request(t.Context(), "POST", "/api/jobs", `{"kind":"k","payload":1}`); status != 201 {
		t.Errorf("beside 300 idle connections: got %d %s, want 201", status, body)
	}
	// The connection has had a request before, so http.Server itself reads up to 20 KiB.
	for n, want := range map[int]int{14 << 10: 200, 17 << 10: 431, 21 << 10: 431} {
		if status, _ := s.request(t.Context(), "GET", "/healthz", "", "X-Fill: "+strings.Repeat("a", n)); status != want {
			t.Errorf("a header block of more than %d bytes: got %d, want %d", n, status, want)
		}
	}
	for n, want := range map[int]int{8 << 10: 404, 8<<10 + 1: 414} {
		if status, _ := s.request(t.Context(), "GET", "/"+strings.Repeat("a", n-1), ""); status != want {
			t.Errorf("a URL of %d bytes: got %d, want %d", n, status, want)
		}
	}
	if took := <-closed; took > 20*time.Second || took < 4*time.Second {
		t.Errorf("the slow connection was closed after %s, want about 5 s", took)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// part of: Q8
//
// A stop ends streams of events, and refuses work that comes during it with 503 and Retry-After. A
// second signal closes what is still open.
func TestTrap41_AStopEndsStreamsAndASecondSignalEndsIt(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/events?topic=all", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultClient.Do(r)
	if err != nil || stream.StatusCode != 200 {
		t.Fatalf("got %v, error %v, want a stream", stream, err)
	}
	defer stream.Body.Close()
	stuck, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	// The body of this request never comes; without a second signal, the stop waits for it.
	if _, err := io.WriteString(stuck, "POST /api/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream ended with %v, want a clean end", err)
	}
	r, err = http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/jobs", strings.NewReader(`{"kind":"k","payload":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := http.DefaultClient.Do(r); err == nil { // otherwise the server takes no connections any more
		if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
			t.Errorf("during the stop: got %d with Retry-After %q, want 503", a.StatusCode, a.Header.Get("Retry-After"))
		}
		_ = a.Body.Close() // only the header is looked at
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // the exit code says that a request was cut
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %s after a second signal, want it at once", took)
	}
}

// part of: M5, F11
//
// The access log is JSON with a line per request: the pattern of the route, status, size, time, key,
// actor, ids. It has no secret, no query and no path of a client.
func TestTrap40_TheAccessLogHasNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "redrive.yaml", "log: {format: json}\nkinds: {k: {command: [cat]}}\n")
	key, _, code := run(t, dir, "keys", "create", "root", "--role", "administer")
	if code != 0 {
		t.Fatal("no key was made")
	}
	key = strings.TrimSpace(key)
	id := strings.Split(key, "_")[1]
	s := serve(t, dir)
	const canary = "canary-5eCr3t-token"
	s.request(t.Context(), "POST", "/api/jobs", `{"kind":"k","payload":{"password":"`+canary+`"}}`, "Authorization: Bearer "+key, "X-Correlation-Id: corr-7", "X-Request-Id: req-7")
	s.request(t.Context(), "GET", "/api/jobs/1?token="+canary, "", "Authorization: Bearer "+key, "Cookie: redrive_login="+canary)
	s.request(t.Context(), "GET", "/"+canary+"?key="+canary, "", "Authorization: Bearer "+canary)
	s.request(t.Context(), "GET", "/api/jobs", "", "Authorization: Bearer rdk_"+canary, "Referer: "+canary, "User-Agent: "+canary)
	s.request(t.Context(), "POST", "/api/login", `{"key":"`+key+`"}`)
	s.request(t.Context(), "POST", "/api/login", `{"key":"`+canary+`"}`)
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	text := s.log.String()
	for _, secret := range []string{canary, key, key[15:40]} {
		if strings.Contains(text, secret) {
			t.Errorf("the log has the secret %q:\n%s", secret, text)
		}
	}
	line := ""
	for l := range strings.Lines(text) {
		if strings.Contains(l, `"route":"/api/jobs"`) && strings.Contains(l, `"status":201`) {
			line = l
		}
	}
	for _, want := range []string{`"msg":"request"`, `"request":"req-7"`, `"method":"POST"`, `"bytes":`, `"ms":`, `"actor":"root"`, `"key":"` + id + `"`, `"correlation":"corr-7"`} {
		if !strings.Contains(line, want) {
			t.Errorf("the line of the submit has no %s: %s\n%s", want, line, text)
		}
	}
	if n := strings.Count(text, `"route":`); n != 6 {
		t.Errorf("six requests gave %d lines with a route:\n%s", n, text)
	}
}
