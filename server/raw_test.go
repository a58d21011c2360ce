package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
)

// raw sends bytes over a connection of its own and returns the statuses of all answers.
func (s *site) raw(text string) (statuses []int) {
	s.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		s.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		s.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		s.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		_, _ = io.Copy(io.Discard, answer.Body) // a cut body ends the next ReadResponse
		_ = answer.Body.Close()                 // likewise
		statuses = append(statuses, answer.StatusCode)
	}
}

// part of: X2, X3
//
// What proxies and servers can read in two ways is refused, so that nobody can hide a second
// request, with headers of a user, in a first one that a trusted proxy passes on.
func TestTrap3_RequestsWithTwoMeaningsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Access = access.Options{Mode: access.ByProxy, Proxy: access.Proxy{
			Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roles: map[string]access.Roles{"*": access.Operate},
		}}
	})
	const user = "X-Forwarded-User: ann\r\n"
	hidden := "DELETE /api/keys/a HTTP/1.1\r\nHost: a\r\n" + user + "\r\n"
	get := func(headers string) string { return "GET /api/whoami HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" }
	post := func(headers, body string) string {
		return "POST /api/jobs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + user + headers + "\r\n" + body
	}
	if got := s.raw(get(user)); len(got) != 1 || got[0] != http.StatusOK {
		t.Fatalf("a plain request: got the statuses %v, want 200", got)
	}
	// A folded line is one value with a space (RFC 9112, 5.2), never a second header.
	if got := s.raw(get("X-Forwarded-User: ann\r\n X-Forwarded-Groups: sre\r\n")); len(got) != 1 || got[0] != http.StatusOK {
		t.Errorf("a folded header: got the statuses %v, want 200 for one user", got)
	}
	for name, text := range map[string]string{
		"two lengths":               post("Content-Length: 2\r\nContent-Length: 0\r\n", "{}"+hidden),
		"a length with a sign":      post("Content-Length: +2\r\n", "{}"+hidden),
		"a list of lengths":         post("Content-Length: 2, 2\r\n", "{}"+hidden),
		"an unknown coding":         post("Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n", "{}"+hidden),
		"two codings":               post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"+hidden),
		"a coding with a tab":       post("Transfer-Encoding:\tchunked, identity\r\n", "0\r\n\r\n"+hidden),
		"a space before the colon":  get("X-Forwarded-User : ann\r\n"),
		"a line break in a value":   get("X-Forwarded-User: ann\rX-Forwarded-Groups: sre\r\n"),
		"a zero byte in a value":    get("X-Forwarded-User: ann\x00\r\n"),
		"two hosts":                 "GET /api/whoami HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + user + "\r\n",
		"no host":                   "GET /api/whoami HTTP/1.1\r\n" + user + "\r\n",
		"a user twice":              get(user + user),
		"a user twice, other cases": get(user + "x-forwarded-user: eve\r\n"),
		"a chunk that is too long":  post("Transfer-Encoding: chunked\r\n", "2\r\n{}}\r\n0\r\n\r\n"+hidden),
	} {
		got := s.raw(text)
		if len(got) == 0 || got[0] < 400 || got[0] == http.StatusForbidden || len(got) > 1 {
			t.Errorf("%s: got the statuses %v, want one answer of 400 or another refusal", name, got)
		}
	}
}
