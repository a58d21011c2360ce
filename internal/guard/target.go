package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits of a target.
const (
	URLMax  = 2048 // maximum length of a URL, in bytes
	ListMax = 20   // maximum number of allowed networks, and of allowed ports
)

// Target is where webhooks are sent.
type Target struct {
	URL       string
	AllowHTTP bool           // allows URLs that begin with http, without TLS
	Allow     []netip.Prefix // networks that are allowed although they are private or special
	Ports     []uint16       // further ports that are allowed
}

// Validate returns one error with all mistakes. It contains neither the URL, which may have a secret
// in its query, nor an address. A host that is a name is checked when it is dialled, because its
// addresses can change.
func (t *Target) Validate() error {
	var errs []error
	if len(t.Allow) > ListMax || len(t.Ports) > ListMax {
		errs = append(errs, fmt.Errorf("%d allowed networks and %d allowed ports: at most %d of each are possible", len(t.Allow), len(t.Ports), ListMax))
	}
	return errors.Join(append(errs, t.validURL())...)
}

func (t *Target) validURL() error {
	u, err := url.Parse(t.URL)
	switch {
	case len(t.URL) > URLMax:
		return fmt.Errorf("the URL has %d bytes: at most %d are allowed", len(t.URL), URLMax)
	case err != nil || u.Hostname() == "" || strings.ContainsFunc(t.URL, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return errors.New("the URL is not complete: write one such as https://shop.example.com/hooks")
	case u.User != nil:
		return errors.New("the URL has a user or a password: remove it, because the signature proves the sender")
	case u.Fragment != "":
		return errors.New("the URL has a fragment: remove the # and what follows it")
	case u.Scheme == "http" && !t.AllowHTTP:
		return errors.New("the URL begins with http: use https, or allow http for this endpoint in a test")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the scheme %.20q is not allowed: use https", u.Scheme)
	}
	if u.Port() != "" {
		p, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || !t.AllowsPort(uint16(p)) {
			return fmt.Errorf("the port %.10s is not allowed: use 443, or allow the port for this endpoint", u.Port())
		}
	}
	return t.validHost(u.Hostname())
}

func (t *Target) validHost(host string) error {
	if strings.ContainsRune(host, '%') {
		return errors.New("the address in the URL has a zone: remove the % and what follows it")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return Allowed(a, t.Allow)
	}
	// Many programs read 127.1, 0x7f000001 and 017700000001 as addresses.
	if last := host[strings.LastIndexByte(host, '.')+1:]; last == "" || isNumber(last) {
		return errors.New("the host of the URL is neither a name nor an address in its usual form: write one such as shop.example.com")
	}
	return nil
}

// AllowsPort reports whether the port may be dialled.
func (t *Target) AllowsPort(p uint16) bool {
	return p == 443 || p == 80 && t.AllowHTTP || slices.Contains(t.Ports, p)
}

func isNumber(label string) bool {
	if rest, hex := strings.CutPrefix(strings.ToLower(label), "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
