package access_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
)

// login logs in with a key and returns the cookie.
func login(t *testing.T, g *access.Gate, text string) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	c, err := g.Login(w, request(remote), text)
	if err != nil || c.Key == "" || len(w.Result().Cookies()) != 1 {
		t.Fatalf("login: got %+v, error %v and the headers %v; want a cookie", c, err, w.Header())
	}
	return w.Result().Cookies()[0]
}

func withCookie(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

// part of: X2
func TestX2_ALoginLastsTwelveHoursOnEveryServer(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g, other, auto := h.gate(access.ByKeys), h.gate(access.ByKeys), h.gate(access.Auto)
	_, text := h.key("operate")
	c := login(t, g, " "+text+"\n")
	if c.Name != "redrive_login" || !c.HttpOnly || c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge != 12*3600 ||
		strings.Contains(c.Value, text[15:58]) {
		t.Errorf("got the cookie %+v, want an HttpOnly, SameSite cookie without the key", c)
	}
	for _, gate := range []*access.Gate{g, other, auto} {
		h.want(gate, "key of operate operate", remote, withCookie(c))
	}
	h.want(g, "unauthenticated", remote, "Authorization: Bearer wrong", withCookie(c)) // what the client sends itself counts
	h.pass(access.LoginFor - time.Second)
	h.want(other, "key of operate operate", remote, withCookie(c))
	h.pass(time.Second)
	h.want(g, "unauthenticated", remote, withCookie(c))
}

// part of: X2
func TestX2_ALoginOverTLSIsForThisHostOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys, func(o *access.Options) { o.TLS = true })
	_, text := h.key("view")
	c := login(t, g, text)
	if c.Name != "__Host-redrive_login" || !c.Secure || c.Path != "/" || c.Domain != "" {
		t.Errorf("got the cookie %+v, want a __Host- cookie", c)
	}
	h.want(g, "key of view view", remote, withCookie(c))
	w := httptest.NewRecorder()
	g.Logout(w, request(remote))
	if gone := w.Result().Cookies(); len(gone) != 1 || gone[0].Name != c.Name || gone[0].MaxAge >= 0 {
		t.Errorf("logout: got the cookies %v, want the login to be forgotten", gone)
	}
}

// part of: X2
func TestTrap20_ALoginEndsWithItsKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	k, text := h.key("view")
	rotate := func(keep time.Duration) string {
		hash, key, err := access.RotatedKey(k.ID)
		if err != nil {
			t.Fatal(err)
		}
		k.Hash, k.KeepOld = hash, keep
		k = h.put(k)
		g.Changed()
		return key.Reveal()
	}
	first := login(t, g, text)
	text = rotate(time.Hour)
	h.want(g, "key of view view", remote, withCookie(first))
	second := login(t, g, text)
	h.pass(time.Hour)
	h.want(g, "unauthenticated", remote, withCookie(first)) // the secret of this login is not accepted any more
	h.want(g, "key of view view", remote, withCookie(second))
	third := login(t, g, rotate(0))
	h.want(g, "unauthenticated", remote, withCookie(second))
	k.RevokedAt = 1
	h.put(k)
	h.pass(5 * time.Second)
	h.want(g, "unauthenticated", remote, withCookie(third))
}

// part of: X2
func TestTrap38_ForgedLoginsAreRefused(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	_, text := h.key("view")
	_, adminText := h.key("administer")
	view, admin := login(t, g, text).Value, strings.Split(login(t, g, adminText).Value, ".")
	parts := strings.Split(view, ".")
	forged := []string{
		"", ".", "..", "...", view + ".", view + "A", strings.Repeat("a", 10_000), admin[0] + "." + parts[1] + "." + parts[2],
		parts[0] + "." + parts[1] + "0." + parts[2], parts[0] + ".+" + parts[1] + "." + parts[2], parts[0] + ".0" + parts[1] + "." + parts[2],
		parts[0] + "." + parts[1] + ".", parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 32)), "aaaaaaaaaa." + parts[1] + "." + parts[2],
	}
	for i := range view {
		flipped := []byte(view)
		flipped[i] ^= 1
		forged = append(forged, string(flipped))
	}
	for _, value := range forged {
		h.want(g, "unauthenticated", remote, "Cookie: redrive_login="+value)
	}
	elsewhere := newHouse(t) // another installation has another secret
	id, _, _ := access.ParseKey(text)
	for _, k := range []string{id} {
		copied, err := h.store.AccessKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range copied {
			if c.ID == k {
				elsewhere.put(store.AccessKey{ID: c.ID, Name: c.Name, Hash: c.Hash, Roles: c.Roles})
			}
		}
	}
	elsewhere.want(elsewhere.gate(access.ByKeys), "key of view view", remote, "Authorization: Bearer "+text)
	elsewhere.want(elsewhere.gate(access.ByKeys), "unauthenticated", remote, "Cookie: redrive_login="+view)
}

// part of: X2, X3
func TestX3_LoginsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	_, text := h.key("view")
	try := func(from, key string) error {
		_, err := g.Login(httptest.NewRecorder(), request(from), key)
		return err
	}
	for i := range access.LoginsPerMinute {
		if err := try("[2001:db8::1]:1", "wrong"); !errors.Is(err, access.ErrUnauthenticated) {
			t.Fatalf("login %d: got error %v, want ErrUnauthenticated", i+1, err)
		}
	}
	err := try("[2001:db8::ffff]:1", text) // the same network
	limited, ok := errors.AsType[*access.Limited](err)
	if !ok || limited.RetryAfter < 1 || limited.RetryAfter > 7 {
		t.Fatalf("one login too many: got error %v, want a *Limited for some seconds", err)
	}
	if err := try("[2001:db8:0:1::1]:1", text); err != nil {
		t.Errorf("another address: got error %v, want none", err)
	}
	h.pass(time.Duration(limited.RetryAfter) * time.Second)
	if err := try("[2001:db8::1]:1", text); err != nil {
		t.Errorf("after the time: got error %v, want none", err)
	}
	if err := try("[2001:db8::1]:1", text); err == nil {
		t.Error("a second login at once after the time: got no error")
	}
}
