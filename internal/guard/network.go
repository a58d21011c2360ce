// Package guard checks where webhooks may be sent, so that nobody reaches a private network with one.
package guard

import (
	"errors"
	"net/netip"
)

// ErrPrivate says that an address is in a network that webhooks must not reach. The error names no
// address, because the answer to a name may be a secret of the network.
var ErrPrivate = errors.New("the address is in a private or special network: allow the network for this endpoint, or use a public address")

// special are the networks that are not public. Webhooks must not reach addresses in them.
var special = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
	"fec0::/10", "ff00::/8")

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// Allowed returns ErrPrivate for an address that webhooks must not reach. Networks in allow
// are allowed even if they are private or reserved. IPv4 addresses in the form of IPv6 count as IPv4.
func Allowed(a netip.Addr, allow []netip.Prefix) error {
	if a.Zone() != "" {
		return ErrPrivate
	}
	a = a.Unmap()
	for _, p := range allow {
		if p.Contains(a) {
			return nil
		}
	}
	for _, p := range special {
		if p.Contains(a) {
			return ErrPrivate
		}
	}
	if !a.IsGlobalUnicast() {
		return ErrPrivate
	}
	return nil
}
