package server_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store/memory"
)

// part of: X2
//
// A request that a page of another site makes a browser send changes nothing, although the browser
// sends the cookie.
func TestTrap5_RequestsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer","submit"]}`)
	a := s.ok("POST", "/api/login", `{"key":"`+strings.TrimPrefix(root, "Authorization: Bearer ")+`"}`, nil)
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	before := dump(t, s.store)
	for _, r := range api.Routes() {
		if r.Method == "GET" {
			continue
		}
		for _, foreign := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: http://evil.example", "Origin: null"} {
			s.refused("forbidden", r.Method, pathOf(&r), `{}`, "Cookie: "+cookie, foreign)
		}
	}
	after := dump(t, s.store)
	for i := range after.Access {
		after.Access[i].UsedAt, before.Access[i].UsedAt = 0, 0
	}
	if got, want := encoded(t, after), encoded(t, before); got != want {
		t.Errorf("requests of other sites have changed the store: got %s, want %s", got, want)
	}
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, nil, "Cookie: "+cookie, "Sec-Fetch-Site: same-origin")
}

// part of: X2
func TestTrap3_TwoHeadersOfAUserAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Access = access.Options{Mode: access.ByProxy, Proxy: access.Proxy{
			Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Roles: map[string]access.Roles{"sre": access.Operate},
		}}
	})
	s.ok("GET", "/api/jobs", "", nil, "X-Forwarded-User: ann", "X-Forwarded-Groups: dev,sre")
	p := s.refused("invalid-field", "GET", "/api/jobs", "", "X-Forwarded-User: ann", "X-Forwarded-User: eve", "X-Forwarded-Groups: sre")
	if len(p.Errors) != 1 || p.Errors[0].Header != "X-Forwarded-User" {
		t.Errorf("got the mistakes %+v, want the header", p.Errors)
	}
	s.refused("forbidden", "GET", "/api/jobs", "", "X-Forwarded-User: bob")
	s.refused("unauthenticated", "GET", "/api/jobs", "")
}

// part of: X2
//
// Without keys, and where the mode asks for none, a page that resolves its own name to this machine
// is refused on every route.
func TestTrap4_KeylessServersCheckTheHost(t *testing.T) {
	t.Parallel()
	for mode, strict := range map[access.Mode]bool{access.Auto: true, access.Open: true, access.ByKeys: false, access.ByProxy: false} {
		s := newSiteOn(t, memory.New(memory.Options{}), func(_ *redrive.Config, o *server.Options) { o.Access.Mode = mode })
		if a := s.do("GET", "/api/jobs", "", "Host: evil.example"); (a.status == http.StatusMisdirectedRequest) != strict {
			t.Errorf("mode %s: got %d for another host, want 421 %t", mode, a.status, strict)
		}
	}
}
