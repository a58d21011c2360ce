package access_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
)

const (
	loopback = "127.0.0.1:5000"
	remote   = "10.1.2.3:5000"
)

// part of: X2
func TestX2_WithoutKeysOnlyThisMachineMayEnter(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.Auto)
	for _, from := range []string{loopback, "[::1]:9", "[::ffff:127.0.0.1]:9", "127.8.8.8:1", "@", ""} {
		h.want(g, local, from)
	}
}

// part of: X2
func TestX2_TheDoorClosesWithTheFirstKey(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g, keyed, open := h.gate(access.Auto), h.gate(access.ByKeys), h.gate(access.Open)
	h.want(g, local, loopback)
	h.want(g, "unauthenticated", remote)
	for _, header := range []string{"X-Forwarded-For: 1.2.3.4", "Forwarded: for=1.2.3.4", "X-Real-Ip: 1.2.3.4", "X-Forwarded-Host: a", "X-Forwarded-Proto: http"} {
		h.want(g, "unauthenticated", loopback, header) // a proxy on this machine passes on what came from elsewhere
	}
	h.want(keyed, "unauthenticated", loopback)
	h.want(open, local, remote)
	k, text := h.key("view")
	h.pass(5 * time.Second)
	h.want(g, "unauthenticated", loopback)
	h.want(g, "key of view view", remote, "Authorization: Bearer "+text)
	h.want(g, "key of view view", loopback, "Authorization: bearer "+text)
	h.want(open, local, remote)
	k.RevokedAt = 1
	h.put(k)
	g.Changed()
	h.want(g, "unauthenticated", loopback) // the last key was revoked: requests still need a key
	h.want(g, "unauthenticated", loopback, "Authorization: Bearer "+text)
}

// part of: X2
//
// Every sort of key that is not accepted gives the same error; only the log says why.
func TestX2_AllRefusedKeysLookAlike(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	good, text := h.key("view")
	expired, expiredText := h.key("view", func(k *store.AccessKey) { k.ExpiresAt = job.At(h.now().Add(time.Minute)) })
	revoked, revokedText := h.key("view")
	revoked.RevokedAt = 1
	h.put(revoked)
	_, _, unknown := access.NewKey()
	_, wrong, err := access.RotatedKey(good.ID)
	if err != nil {
		t.Fatal(err)
	}
	h.want(g, "key of view view", remote, "Authorization: Bearer "+expiredText)
	h.pass(time.Minute)
	for name, authorization := range map[string]string{
		"unknown": "Bearer " + unknown.Reveal(), "wrong": "Bearer " + wrong.Reveal(), "expired": "Bearer " + expiredText, "revoked": "Bearer " + revokedText,
		"cut": "Bearer " + text[:40], "no key": "Bearer", "basic": "Basic " + text, "bare": text,
	} {
		_, err := g.Identify(request(remote, "Authorization: "+authorization))
		if err == nil || err.Error() != access.ErrUnauthenticated.Error() {
			t.Errorf("%s: got error %v, want exactly %v", name, err, access.ErrUnauthenticated)
		}
	}
	h.want(g, "key of view view", remote, "Authorization: Bearer "+text)
	log := h.log.String()
	for _, id := range []string{expired.ID, revoked.ID, good.ID} {
		if !strings.Contains(log, id) {
			t.Errorf("the log does not name the refused key %s:\n%s", id, log)
		}
	}
	for _, secret := range []string{text, expiredText, revokedText, unknown.Reveal(), wrong.Reveal()} {
		if strings.Contains(log, secret[15:58]) {
			t.Errorf("the log has the secret of a key:\n%s", log)
		}
	}
}

// part of: X2
func TestTrap20_ARevokedKeyIsRefusedWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	k, text := h.key("operate")
	c, err := g.Identify(request(remote, "Authorization: Bearer "+text))
	if err != nil || g.Still(t.Context(), &c) != nil {
		t.Fatalf("got error %v, want the key to be accepted", err)
	}
	k.Roles = []string{"view"}
	k = h.put(k)
	h.pass(5 * time.Second)
	if err := g.Still(t.Context(), &c); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("a listener whose key has lost its role: got error %v, want ErrUnauthenticated", err)
	}
	h.want(g, "key of operate view", remote, "Authorization: Bearer "+text)
	if c, err = g.Identify(request(remote, "Authorization: Bearer "+text)); err != nil || g.Still(t.Context(), &c) != nil {
		t.Fatalf("got error %v, want the key to be accepted", err)
	}
	k.RevokedAt = 1
	h.put(k)
	h.pass(5 * time.Second)
	h.want(g, "unauthenticated", remote, "Authorization: Bearer "+text)
	if err := g.Still(t.Context(), &c); !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("a listener whose key was revoked: got error %v, want ErrUnauthenticated", err)
	}
}

// part of: X2
func TestX2_RotationKeepsTheOldSecretForADay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	k, old := h.key("work")
	hash, key, err := access.RotatedKey(k.ID)
	if err != nil {
		t.Fatal(err)
	}
	k.Hash, k.KeepOld = hash, 24*time.Hour
	h.put(k)
	g.Changed()
	for _, text := range []string{old, key.Reveal()} {
		h.want(g, "key of work work", remote, "Authorization: Bearer "+text)
	}
	h.pass(24*time.Hour - time.Microsecond)
	h.want(g, "key of work work", remote, "Authorization: Bearer "+old)
	h.pass(time.Microsecond)
	h.want(g, "unauthenticated", remote, "Authorization: Bearer "+old)
	h.want(g, "key of work work", remote, "Authorization: Bearer "+key.Reveal())
}

// part of: X2
func TestX2_OwnersAndDelegates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByKeys)
	_, ann := h.key("submit", func(k *store.AccessKey) { k.Name, k.Owner = "ann's", "ann" })
	_, shop := h.key("submit,view", func(k *store.AccessKey) { k.Name, k.Delegate = "shop", true })
	_, plain := h.key("administer", func(k *store.AccessKey) { k.Name = "root" })
	h.want(g, "ann's submit of ann", remote, "Authorization: Bearer "+ann)
	h.want(g, "ann's submit of ann", remote, "Authorization: Bearer "+ann, "Redrive-Owner: ann")
	h.want(g, "forbidden", remote, "Authorization: Bearer "+ann, "Redrive-Owner: bob")
	h.want(g, "shop submit,view", remote, "Authorization: Bearer "+shop)
	h.want(g, "shop submit of bob", remote, "Authorization: Bearer "+shop, "Redrive-Owner: bob")
	h.want(g, "header Redrive-Owner", remote, "Authorization: Bearer "+shop, "Redrive-Owner: bob", "Redrive-Owner: eve")
	h.want(g, "header Redrive-Owner", remote, "Authorization: Bearer "+shop, "Redrive-Owner: ")
	h.want(g, "header Redrive-Owner", remote, "Authorization: Bearer "+shop, "Redrive-Owner: "+strings.Repeat("o", job.TextMax+1))
	h.want(g, "forbidden", remote, "Authorization: Bearer "+plain, "Redrive-Owner: bob")
	h.want(g, "header Authorization", remote, "Authorization: Bearer "+ann, "Authorization: Bearer "+plain)
	h.want(h.gate(access.Open), "local submit of bob", remote, "Redrive-Owner: bob")
	c, err := g.Identify(request(remote, "Authorization: Bearer "+shop, "Redrive-Owner: bob"))
	if err != nil || g.Still(t.Context(), &c) != nil || !strings.HasPrefix(c.Via, "key ") || !strings.HasSuffix(c.Via, " from 10.1.2.3") {
		t.Errorf("got %+v and error %v, want a caller that may go on, and its way", c, err)
	}
}

// part of: X2
//
// Headers of users count only when a trusted proxy has sent them, and only once.
func TestTrap3_UserHeadersCountFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.gate(access.ByProxy, func(o *access.Options) {
		o.Proxy = access.Proxy{
			Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
			Roles:   map[string]access.Roles{"sre": access.Administer, "*": access.View, "dev": access.Submit},
		}
	})
	_, key := h.key("work")
	const user, groups = "X-Forwarded-User: ann", "X-Forwarded-Groups: dev, sre"
	for _, c := range []struct {
		from    string
		headers []string
		want    string
	}{
		{remote, []string{user}, "ann view"},
		{remote, []string{user, groups}, "ann submit,view,administer"},
		{remote, []string{user, "X-Forwarded-Groups: *,none"}, "ann view"},
		{"[fd00::1]:1", []string{user}, "ann view"},
		{"[::ffff:10.0.0.1]:1", []string{user}, "ann view"},
		{"@", []string{user, groups}, "ann submit,view,administer"},
		{"11.0.0.1:1", []string{user, groups}, "unauthenticated"},
		{loopback, []string{user, groups}, "unauthenticated"},
		{"[fe80::1%eth0]:1", []string{user, groups}, "unauthenticated"},
		{"strange", []string{user, groups}, "unauthenticated"},
		{remote, []string{groups}, "unauthenticated"},
		{remote, []string{"X-Forwarded-User: "}, "unauthenticated"},
		{remote, []string{user, user}, "header X-Forwarded-User"},
		{remote, []string{user, "X-Forwarded-User: eve"}, "header X-Forwarded-User"},
		{remote, []string{user, groups, "X-Forwarded-Groups: sre"}, "header X-Forwarded-Groups"},
		{remote, []string{"X-Forwarded-User: " + strings.Repeat("u", job.TextMax+1)}, "header X-Forwarded-User"},
		{remote, []string{"X-Forwarded-User: redrive"}, "header X-Forwarded-User"},
		{remote, []string{"X-Forwarded-User: \xff"}, "header X-Forwarded-User"},
		{remote, []string{user, "Authorization: Bearer " + key}, "key of work work"},
		{"11.0.0.1:1", []string{user, groups, "Authorization: Bearer " + key}, "key of work work"},
		{remote, []string{user, "Authorization: Bearer rdk_wrong"}, "unauthenticated"},
		{remote, []string{user, "Redrive-Owner: bob"}, "forbidden"},
	} {
		h.want(g, c.want, c.from, c.headers...)
	}
	h.want(h.gate(access.ByKeys), "unauthenticated", remote, user, groups) // other modes do not know the headers
	h.want(h.gate(access.ByKeys), "unauthenticated", "@", user, groups)
}

// part of: X2
func TestTrap3_TheAddressIsTheLastOneThatNoProxyWrote(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, key := h.key("view")
	g := h.gate(access.ByKeys, func(o *access.Options) { o.Proxy.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	for _, c := range []struct {
		from, want string
		hops       []string
	}{
		{remote, "10.1.2.3", nil},
		{remote, "192.0.2.7", []string{"192.0.2.7"}},
		{remote, "192.0.2.7", []string{"1.1.1.1, 192.0.2.7, 10.9.9.9"}},
		{remote, "192.0.2.7", []string{"1.1.1.1", "192.0.2.7"}},
		{remote, "2001:db8::1", []string{"2001:db8::1"}},
		{remote, "10.1.2.3", []string{"192.0.2.7, evil"}},
		{remote, "10.0.0.5", []string{"10.0.0.5, 10.0.0.6"}},
		{"192.0.2.1:1", "192.0.2.1", []string{"10.0.0.5"}},
		{"@", "socket", nil},
	} {
		headers := []string{"Authorization: Bearer " + key}
		for _, hop := range c.hops {
			headers = append(headers, "X-Forwarded-For: "+hop)
		}
		caller, err := g.Identify(request(c.from, headers...))
		if err != nil || !strings.HasSuffix(caller.Via, " from "+c.want) {
			t.Errorf("from %s with %q: got %q and error %v, want the address %s", c.from, c.hops, caller.Via, err, c.want)
		}
	}
}

// The server goes on for a moment when the store does not answer, and then says so.
//
// part of: X2
func TestX2_AStoreThatIsAway(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, text := h.key("view")
	h.store = faultstore.New(h.store, func(c faultstore.Call) faultstore.Fault {
		if c.Method == "AccessKeys" && c.N > 1 || c.Method == "UsedKeys" {
			return faultstore.Fault{Before: store.ErrUnavailable}
		}
		return faultstore.Fault{}
	})
	g := h.gate(access.ByKeys)
	h.want(g, "key of view view", remote, "Authorization: Bearer "+text)
	h.pass(4 * time.Second)
	h.want(g, "key of view view", remote, "Authorization: Bearer "+text)
	h.pass(time.Second)
	if _, err := g.Identify(request(remote, "Authorization: Bearer "+text)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("after 5 s: got error %v, want ErrUnavailable", err)
	}
}

// part of: X2
func TestX2_UsesAreRecordedAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, text := h.key("view")
	writes := 0
	h.store = faultstore.New(h.store, func(c faultstore.Call) faultstore.Fault {
		if c.Method == "UsedKeys" {
			writes = c.N
		}
		return faultstore.Fault{}
	})
	g := h.gate(access.ByKeys)
	for range 180 { // three minutes
		h.want(g, "key of view view", remote, "Authorization: Bearer "+text)
		h.pass(time.Second)
	}
	list, err := h.store.AccessKeys(context.Background())
	if err != nil || len(list) != 1 || list[0].ID != k.ID || h.now().Sub(list[0].UsedAt.Time()) > 2*time.Minute {
		t.Errorf("got %+v and error %v, want a use in the last two minutes", list, err)
	}
	if writes < 2 || writes > 4 {
		t.Errorf("got %d writes in three minutes, want 2 to 4", writes)
	}
}

// part of: X2
//
// An unknown id and a wrong secret take the same time: the distributions overlap.
func TestTrap8_UnknownAndWrongKeysTakeTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	k, _ := h.key("view")
	g := h.gate(access.ByKeys, func(o *access.Options) { o.Logger = slog.New(slog.DiscardHandler) })
	_, wrong, err := access.RotatedKey(k.ID)
	if err != nil {
		t.Fatal(err)
	}
	_, _, unknown := access.NewKey()
	requests := [2]*http.Request{request(remote, "Authorization: Bearer "+wrong.Reveal()), request(remote, "Authorization: Bearer "+unknown.Reveal())}
	const rounds, of = 400, 20
	var faster [2]int
	for range rounds { // in turns, so that both see the same load
		var took [2]time.Duration
		for i, r := range requests {
			began := time.Now()
			for range of {
				if _, err := g.Identify(r); err == nil {
					t.Fatal("a wrong key was accepted")
				}
			}
			took[i] = time.Since(began)
		}
		if took[0] < took[1] {
			faster[0]++
		} else {
			faster[1]++
		}
	}
	if min(faster[0], faster[1]) < rounds/20 {
		t.Errorf("of %d rounds, %d were faster with a wrong secret and %d with an unknown id; want no one to be faster nearly always", rounds, faster[0], faster[1])
	}
}

// part of: X2
func TestX2_ModesHaveNames(t *testing.T) {
	t.Parallel()
	for _, name := range append(access.ModeNames(), "") {
		if m, err := access.ParseMode(name); err != nil || name != "" && string(m) != name {
			t.Errorf("mode %q: got %q and error %v", name, m, err)
		}
	}
	if _, err := access.ParseMode("proxi"); err == nil || !strings.Contains(err.Error(), `did you mean "proxy"?`) {
		t.Errorf("got error %v, want it to ask for proxy", fmt.Sprint(err))
	}
}
