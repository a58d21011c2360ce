package access

import (
	"net/netip"
	"sync"
	"time"
)

// LoginsPerMinute is how many logins an address may try in a minute. IPv6 addresses count by
// their first 64 bits.
const LoginsPerMinute = 10

// addressesMax is the largest number of addresses that a rate remembers.
const addressesMax = 10_000

// rate limits how often each address may do something. After a pause, an
// address may do it n times in a row.
type rate struct {
	n    int
	per  time.Duration
	mu   sync.Mutex
	full map[netip.Addr]time.Time // from this time on the address may again do it n times in a row
}

func newRate(n int, per time.Duration) *rate {
	return &rate{n: n, per: per, full: make(map[netip.Addr]time.Time)}
}

// take counts one try of an address. It returns 0 if the try is allowed, or else how long the
// address has to wait.
func (r *rate) take(address netip.Addr, now time.Time) time.Duration {
	if address = address.Unmap().WithZone(""); address.Is6() {
		prefix, _ := address.Prefix(64) // an IPv6 address has this prefix
		address = prefix.Addr()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	each := r.per / time.Duration(r.n)
	full := r.full[address]
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(each).Sub(now) - r.per; wait > 0 {
		return wait
	}
	if len(r.full) >= addressesMax {
		r.forget(now)
	}
	r.full[address] = full.Add(each)
	return 0
}

// forget removes the addresses that have not tried lately. If too many remain, it removes other
// addresses until half of addressesMax are left.
func (r *rate) forget(now time.Time) {
	for address, full := range r.full {
		if !full.After(now) {
			delete(r.full, address)
		}
	}
	for address := range r.full {
		if len(r.full) <= addressesMax/2 {
			return
		}
		delete(r.full, address)
	}
}
