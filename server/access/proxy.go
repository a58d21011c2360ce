package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Proxy says which proxies in front of the server are trusted, and what their headers mean. The
// zero value trusts no proxy.
type Proxy struct {
	// Trusted are the addresses of the proxies. The headers of any other peer are ignored. A
	// peer on a Unix socket is trusted.
	Trusted []netip.Prefix
	// User and Groups are the names of the headers with the name of the user, and with the
	// names of its groups, separated by commas. The defaults are X-Forwarded-User and
	// X-Forwarded-Groups.
	User, Groups string
	// Roles are the roles of the members of each group; "*" is everybody.
	Roles map[string]Roles
}

// peerOf returns the address of the other end of the connection. The zero address is a Unix socket.
func peerOf(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap()
}

// overSocket reports whether a request came over a Unix socket. Its peer has no address.
func overSocket(r *http.Request) bool {
	return r.RemoteAddr == "" || r.RemoteAddr[0] == '@' || r.RemoteAddr[0] == '/'
}

func (p *Proxy) trusts(address netip.Addr) bool {
	for _, prefix := range p.Trusted {
		if prefix.Contains(address.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

// fromProxy reports whether a request came from a trusted proxy.
func (p *Proxy) fromProxy(r *http.Request) bool {
	return overSocket(r) || peerOf(r).IsValid() && p.trusts(peerOf(r))
}

// client returns the address from which a request came. Behind a trusted proxy this is the last
// address of X-Forwarded-For that is not one of a trusted proxy: the client may have written the
// addresses before this one itself.
func (p *Proxy) client(r *http.Request) netip.Addr {
	peer := peerOf(r)
	if len(p.Trusted) == 0 || !p.fromProxy(r) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return peer
		}
		if peer = address.Unmap(); !p.trusts(peer) {
			return peer
		}
	}
	return peer
}

// identify returns the user that a trusted proxy names. ok is false when the request does not come
// from a trusted proxy, or names nobody.
func (p *Proxy) identify(r *http.Request) (c Caller, ok bool, err error) {
	if !p.fromProxy(r) {
		return Caller{}, false, nil
	}
	user, err := single(r, p.User)
	if err != nil || user == "" {
		return Caller{}, false, err
	}
	groups, err := single(r, p.Groups)
	if err != nil {
		return Caller{}, false, err
	}
	by := store.By{Actor: user}
	if !utf8.ValidString(user) || by.Validate() != nil {
		return Caller{}, false, &Header{p.User, fmt.Sprintf("a user has a name of 1 to %d bytes of UTF-8, and not %q", job.TextMax, store.SweepActor)}
	}
	roles := p.Roles["*"]
	for group := range strings.SplitSeq(groups, ",") {
		if group = strings.TrimSpace(group); group != "*" {
			roles |= p.Roles[group]
		}
	}
	return Caller{Actor: user, Roles: roles}, true, nil
}

// single returns the value of a header that must not be sent twice: the client may have written the
// second header, and the proxy may have forwarded it.
func single(r *http.Request, name string) (string, error) {
	values := r.Header.Values(name)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
		return strings.TrimSpace(values[0]), nil
	}
	return "", &Header{http.CanonicalHeaderKey(name), fmt.Sprintf("the header is sent %d times; send it once", len(values))}
}
