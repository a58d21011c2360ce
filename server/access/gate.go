package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Mode says how a server identifies its callers.
type Mode string

// The modes.
const (
	Auto    Mode = "auto"  // by keys once the store has one; until then everybody on this machine may do everything
	Open    Mode = "none"  // everybody may do everything
	ByKeys  Mode = "keys"  // by keys
	ByProxy Mode = "proxy" // by the headers of a trusted proxy, or by keys
)

// ParseMode returns the mode with a name; "" is Auto.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(cmp.Or(name, string(Auto))); m {
	case Auto, Open, ByKeys, ByProxy:
		return m, nil
	}
	return "", errors.New(suggest.Unknown("mode", name, ModeNames()))
}

// ModeNames returns the names of all modes.
func ModeNames() []string {
	return []string{string(Auto), string(Open), string(ByKeys), string(ByProxy)}
}

// Options configure a Gate. The zero value of every field is its default.
type Options struct {
	Mode  Mode // default Auto
	Proxy Proxy
	// TLS means that browsers reach the server over TLS, so that cookies are sent over TLS only.
	// It is not needed for requests that come to the server itself over TLS.
	TLS    bool
	Logger *slog.Logger     // default slog.Default
	Now    func() time.Time // default the clock of the system
}

// Gate identifies the callers of a server. It is safe for concurrent use. Its method Identify fits
// server.Options.
type Gate struct {
	o      Options
	keys   *keys
	logins *logins
	tries  *rate
}

// New makes a gate on the keys of a store.
func New(s Store, o Options) *Gate {
	o.Mode = cmp.Or(o.Mode, Auto)
	o.Proxy.User, o.Proxy.Groups = cmp.Or(o.Proxy.User, "X-Forwarded-User"), cmp.Or(o.Proxy.Groups, "X-Forwarded-Groups")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = systemNow
	}
	return &Gate{o: o, keys: newKeys(s, o.Now, o.Logger), logins: &logins{store: s}, tries: newRate(LoginsPerMinute, time.Minute)}
}

// Mode returns how the gate identifies callers.
func (g *Gate) Mode() Mode { return g.o.Mode }

// Identify says who makes a request. The errors are those of this package, or of the store.
func (g *Gate) Identify(r *http.Request) (Caller, error) {
	c, err := g.identify(r)
	if err != nil {
		return Caller{}, err
	}
	if c, err = delegated(r, c); err != nil {
		return Caller{}, err
	}
	c.Via = g.via(r, c.Key)
	return c.Caller, nil
}

// caller is a Caller that may act for owners.
type caller struct {
	Caller
	delegate bool
}

func (g *Gate) identify(r *http.Request) (caller, error) {
	ctx := r.Context()
	authorization, err := single(r, "Authorization")
	if err != nil {
		return caller{}, err
	}
	if g.o.Mode == Open {
		return caller{Local(), true}, nil
	}
	if authorization != "" {
		scheme, text, _ := strings.Cut(authorization, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return caller{}, ErrUnauthenticated
		}
		key, _, err := g.keys.check(ctx, strings.TrimSpace(text))
		if err != nil {
			return caller{}, g.refused(ctx, err)
		}
		return callerOf(key), nil
	}
	all, err := g.keys.current(ctx)
	if err != nil {
		return caller{}, err
	}
	if g.o.Mode == Auto && len(all.byID) == 0 {
		if isLocal(r) {
			return caller{Local(), true}, nil
		}
		return caller{}, ErrUnauthenticated
	}
	if value := loginCookie(r); value != "" {
		key, err := g.logins.check(ctx, all, value, g.o.Now())
		if err == nil {
			g.keys.use(ctx, key.ID)
			return callerOf(key), nil
		}
		if !errors.Is(err, ErrUnauthenticated) { // an expired login is treated like a missing one
			return caller{}, err
		}
	}
	if g.o.Mode == ByProxy {
		if c, ok, err := g.o.Proxy.identify(r); ok || err != nil {
			return caller{c, false}, err
		}
	}
	return caller{}, ErrUnauthenticated
}

// forwarded are headers that proxies add.
var forwarded = [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

// isLocal reports whether a request comes from this machine. A request whose headers show that a
// proxy has forwarded it does not count as local.
func isLocal(r *http.Request) bool {
	for _, name := range forwarded {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	return overSocket(r) || peerOf(r).IsLoopback()
}

// loginCookie returns the value of the login cookie; "" if the request has no such cookie. If a
// request has the cookies of two logins, the cookie that was set over TLS counts.
func loginCookie(r *http.Request) string {
	for _, name := range [...]string{cookieNameTLS, cookieName} {
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
	}
	return ""
}

// refused logs why a key was refused, because the answer does not say why. It never logs the key.
func (g *Gate) refused(ctx context.Context, err error) error {
	if errors.Is(err, ErrUnauthenticated) {
		g.o.Logger.InfoContext(ctx, "a key was refused", "reason", err)
		return ErrUnauthenticated
	}
	return err
}

func callerOf(k *store.AccessKey) caller {
	return caller{Caller{Actor: k.Name, Roles: rolesOf(k.Roles), Owner: k.Owner, Kinds: k.Kinds, Queues: k.Queues, Key: k.ID, ExpiresAt: k.ExpiresAt}, k.Delegate}
}

// OwnerHeader is the header with which a caller that may act for owners names one.
const OwnerHeader = "Redrive-Owner"

// delegated makes the caller that of an owner if the request names one.
func delegated(r *http.Request, c caller) (caller, error) {
	owner, err := single(r, OwnerHeader)
	switch {
	case err != nil:
		return c, err
	case len(r.Header.Values(OwnerHeader)) == 0:
		return c, nil
	case owner == "" || len(owner) > job.TextMax:
		return c, &Header{OwnerHeader, fmt.Sprintf("an owner has 1 to %d bytes", job.TextMax)}
	case !c.delegate && c.Owner != owner:
		return c, ErrForbidden
	}
	c.Owner, c.Roles = owner, c.Roles.With()&Submit
	return c, nil
}

// via says for the audit log how a request reached the server.
func (g *Gate) via(r *http.Request, key string) string {
	from := "socket"
	if address := g.o.Proxy.client(r); address.IsValid() {
		from = address.String()
	}
	if key == "" {
		return "from " + from
	}
	return "key " + key + " from " + from
}

// Changed makes the gate read the keys again. A server calls it after it has changed a key, and at
// the event access.changed; without this call, a change takes effect within a second.
func (g *Gate) Changed() { g.keys.changed() }

// Still returns nil while a caller that was identified before may go on: its key exists, has not
// ended, and has the same rights. Long answers, such as streams, should call it every few seconds.
func (g *Gate) Still(ctx context.Context, c *Caller) error {
	all, err := g.keys.current(ctx)
	switch {
	case err != nil:
		return err
	case c.Key == "":
		if g.o.Mode == Auto && len(all.byID) > 0 {
			return ErrUnauthenticated
		}
		return nil
	}
	key, found := all.byID[c.Key]
	if !found || key.Ended(job.At(g.o.Now())) > 0 {
		return ErrUnauthenticated
	}
	now := callerOf(key)
	if c.Roles&^now.Roles.With() != 0 || now.Owner != "" && now.Owner != c.Owner || c.Owner != "" && now.Owner == "" && !now.delegate {
		return ErrUnauthenticated
	}
	return nil
}

// Login checks a key and sets the login cookie. The errors are those of Identify; an address that
// tries too often gets a *Limited.
func (g *Gate) Login(w http.ResponseWriter, r *http.Request, text string) (Caller, error) {
	if wait := g.tries.take(g.o.Proxy.client(r), g.o.Now()); wait > 0 {
		return Caller{}, &Limited{RetryAfter: int(wait.Seconds()) + 1}
	}
	key, hash, err := g.keys.check(r.Context(), strings.TrimSpace(text))
	if err != nil {
		return Caller{}, g.refused(r.Context(), err)
	}
	value, err := g.logins.value(r.Context(), key.ID, hash, g.o.Now())
	if err != nil {
		return Caller{}, err
	}
	http.SetCookie(w, cookie(value, g.overTLS(r)))
	c := callerOf(key).Caller
	c.Via = g.via(r, key.ID)
	return c, nil
}

// Logout makes the browser forget the login.
func (g *Gate) Logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie("", g.overTLS(r)))
}

func (g *Gate) overTLS(r *http.Request) bool { return g.o.TLS || r.TLS != nil }
