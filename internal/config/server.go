package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/server/access"
)

// Server says how the HTTP server identifies its callers.
type Server struct {
	// Auth says how callers are identified. Default access.Auto.
	Auth access.Mode
	// Hosts are the names and addresses by which the server is called, without ports, in lower
	// case. Default nil: with keys or a proxy any name, otherwise only names of this machine.
	Hosts []string
	// Proxy are the proxies whose headers count. The default trusts no proxy.
	Proxy access.Proxy
}

// The largest numbers of entries of the server's lists.
const (
	hostsMax   = 100
	trustedMax = 100
	groupsMax  = 1_000
)

func defaultServer() Server {
	return Server{Auth: access.Auto, Proxy: access.Proxy{User: "X-Forwarded-User", Groups: "X-Forwarded-Groups"}}
}

func (r *reader) server(v value, s *Server) {
	modes := []access.Mode{access.Auto, access.Open, access.ByKeys, access.ByProxy}
	r.Fields(v, "a mapping such as {auth: keys, hosts: [jobs.example.org]}", []field{
		{"auth", yamlfile.Choice(r.Reader, &s.Auth, access.ModeNames(), modes)},
		{"hosts", r.several(hostsMax, yamlfile.ListOf(r.Reader, &s.Hosts, "a list of names such as [jobs.example.org]", r.host))},
		{"proxy", func(v value) { r.proxy(v, &s.Proxy) }},
	})
}

func (r *reader) proxy(v value, p *access.Proxy) {
	r.Fields(v, "a mapping such as {trusted: [10.0.0.0/8], roles: {sre: administer}}", []field{
		{"trusted", r.several(trustedMax, yamlfile.ListOf(r.Reader, &p.Trusted, "a list of networks such as [10.0.0.0/8]", r.network))},
		{"user", r.header(&p.User)},
		{"groups", r.header(&p.Groups)},
		{"roles", func(v value) { r.groupRoles(v, p) }},
	})
}

// several reports a list that has too many entries, or one of them twice.
func (r *reader) several(most int, read func(value)) func(value) {
	return func(v value) {
		if len(v.Items) > most {
			r.Addf(v.Pos, "%s has %d entries; at most %d are allowed", v.Path, len(v.Items), most)
			return
		}
		r.NoRepeats(v)
		read(v)
	}
}

// host reads the name or the address of a host, without a port.
func (r *reader) host(into *string) func(value) {
	return func(v value) {
		text := strings.ToLower(v.Text)
		_, err := netip.ParseAddr(text)
		named := strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-._") == "" && len(text) <= 253
		switch {
		case v.Shape != yamlfile.Text || text == "" || err != nil && !named:
			r.Mismatch(v, "the name or the address of a host, without scheme and port", "")
		default:
			*into = text
		}
	}
}

// network reads a network in CIDR form, or one address.
func (r *reader) network(into *netip.Prefix) func(value) {
	return func(v value) {
		text := v.Text
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			text = fmt.Sprintf("%s/%d", text, a.BitLen())
		}
		p, err := netip.ParsePrefix(text)
		switch {
		case v.Shape != yamlfile.Text || err != nil:
			r.Mismatch(v, "a network such as 10.0.0.0/8, or an address", "")
		case p.Addr().Is4In6():
			r.Mismatch(v, "a network such as 10.0.0.0/8", "; write it as IPv4")
		case p.Masked() != p:
			r.Mismatch(v, "a network such as 10.0.0.0/8", fmt.Sprintf("; write %s", p.Masked()))
		default:
			*into = p
		}
	}
}

// header reads the name of a header.
func (r *reader) header(into *string) func(value) {
	return func(v value) {
		if v.Shape != yamlfile.Text || v.Text == "" || len(v.Text) > 64 ||
			strings.Trim(v.Text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			r.Mismatch(v, "the name of a header such as X-Forwarded-User", "")
			return
		}
		*into = v.Text
	}
}

// groupRoles reads the role of each group of users.
func (r *reader) groupRoles(v value, p *access.Proxy) {
	if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, `a mapping such as {sre: administer, "*": view}`) {
		return
	}
	if len(v.Entries) > groupsMax {
		r.Addf(v.Pos, "%s has %d groups; at most %d are allowed", v.Path, len(v.Entries), groupsMax)
		return
	}
	names := access.RoleNames()
	roles := make([]access.Roles, len(names))
	for i, name := range names {
		roles[i], _ = access.ParseRole(name)
	}
	p.Roles = make(map[string]access.Roles, len(v.Entries))
	for _, e := range v.Entries {
		if e.Key == "" || strings.ContainsRune(e.Key, ',') || strings.TrimSpace(e.Key) != e.Key {
			r.Addf(e.Pos, "%s has the group %s: a group has a name without commas, and without spaces at its ends", v.Path, yamlfile.Quote(e.Key))
			continue
		}
		var role access.Roles
		yamlfile.Choice(r.Reader, &role, names, roles)(value{Node: e.Value, Path: yamlfile.Join(v.Path, yamlfile.Quote(e.Key))})
		p.Roles[e.Key] = role
	}
}
