package cli

import (
	"context"
	"net"
	"net/netip"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// accessOf returns how the server identifies its callers. It refuses settings with which anybody could
// use the server, or could read access keys on the network, and says what to do instead.
func (c *serveCmd) accessOf(s *config.Server, at *place) (access.Options, error) {
	o := access.Options{Mode: s.Auth, Proxy: s.Proxy}
	o.TLS = at.tls != nil
	if at.local() {
		return o, nil
	}
	switch {
	case o.Mode == access.Open && len(s.Hosts) == 0:
		return o, usagef("%s: other machines can reach this address, and `server.auth: none` lets all of them in: add the names by which they call it to `server.hosts`", at)
	case at.tls == nil && !c.InsecureHTTP:
		return o, usagef("%s: other machines can reach this address, and keys and jobs would cross the network unencrypted. "+
			"Set `server.tls`, or listen on 127.0.0.1 behind a proxy with TLS; or, if the network is trusted, add --insecure-http", at)
	case o.Mode == access.Auto:
		o.Mode = access.ByKeys // here nobody is let in without a key
	}
	return o, nil
}

// keyed reports whether callers need a key. It returns an error if they do and the database has no
// key that the server accepts, unless only this machine can reach the server.
func keyed(ctx context.Context, at *place, mode access.Mode, client *redrive.Client, now job.Micros) (bool, error) {
	if mode == access.Open || mode == access.ByProxy {
		return false, nil
	}
	list, err := accessKeys(ctx, client)
	if err != nil {
		return false, err
	}
	for i := range list {
		if list[i].Ended(now) == 0 {
			return true, nil
		}
	}
	if !at.local() {
		return true, usagef("%s: other machines can reach this address, and the database has no active access key; "+
			"make one first: redrive keys create NAME --role administer", at)
	}
	return mode == access.ByKeys || len(list) > 0, nil
}

// isLoopback reports whether only this machine can reach an address with a port.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address) // it is "" if the address has no port
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
