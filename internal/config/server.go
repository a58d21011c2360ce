package config

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/redrive/redrive/internal/joblink"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/server/access"
)

// Server says where the HTTP server listens and how it identifies its callers.
type Server struct {
	// Listen is an address and a port, or SocketPrefix and the path of a Unix socket. Default
	// ListenDefault.
	Listen string
	// SocketMode are the permissions of the Unix socket; it has no effect on an address. Default 0660.
	SocketMode os.FileMode
	// TLS is the certificate of the server. The default is HTTP without TLS.
	TLS TLS
	// Auth says how callers are identified. Default access.Auto.
	Auth access.Mode
	// Hosts are the names and addresses by which the server is called, without ports, in lower
	// case. Default nil: with keys or a proxy any name, otherwise only names of this machine.
	Hosts []string
	// Proxy are the proxies whose headers count. The default trusts no proxy.
	Proxy access.Proxy
	// Doors are kinds with a path of their own, by name. Default none.
	Doors map[string]Door
	// Environment is a word about the installation that each page shows. Default "".
	Environment string
	// Links are the templates of links from the page of a job, in the order of the file. Default none.
	Links []joblink.Template
}

// Door is a kind under a path of its own, in the words of another system.
type Door struct {
	Path string // such as /jobs
	Kind string
	// Words is the name of the preset whose words the door uses, or WordsOfPolicy. Default WordsOfPolicy.
	Words string
}

// WordsOfPolicy are the words of the policy in force.
const WordsOfPolicy = "preset"

// The largest numbers of entries of the server's lists.
const (
	hostsMax   = 100
	trustedMax = 100
	groupsMax  = 1_000
	doorsMax   = 100
)

// ListenDefault is where the server listens by default.
const ListenDefault = "127.0.0.1:8080"

func defaultServer() Server {
	return Server{Listen: ListenDefault, SocketMode: 0o660, Auth: access.Auto, Proxy: access.Proxy{User: "X-Forwarded-User", Groups: "X-Forwarded-Groups"}}
}

func (r *reader) server(v value, c *Config) {
	s := &c.Server
	modes := []access.Mode{access.Auto, access.Open, access.ByKeys, access.ByProxy}
	mistakes := len(r.Problems())
	r.Fields(v, "a mapping such as {auth: keys, hosts: [jobs.example.org]}", []field{
		{"listen", r.listen(&s.Listen)},
		{"socket_mode", r.socketMode(&s.SocketMode)},
		{"tls", func(v value) { r.tls(v, &s.TLS) }},
		{"auth", yamlfile.Choice(r.Reader, &s.Auth, access.ModeNames(), modes)},
		{"hosts", r.several(hostsMax, yamlfile.ListOf(r.Reader, &s.Hosts, "a list of names such as [jobs.example.org]", r.host))},
		{"proxy", func(v value) { r.proxy(v, &s.Proxy) }},
		{"doors", func(v value) { r.doors(v, c) }},
		{"environment", r.environment(&s.Environment)},
		{"links", r.links(&s.Links)},
	})
	if len(r.Problems()) == mistakes {
		r.serverTogether(v, s)
	}
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
