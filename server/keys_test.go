package server_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
)

// made is the answer with a new key.
type made struct {
	Key struct {
		ID, Name, State, Owner string
		Roles                  []string
		Version                int64
		OldUntil               string `json:"old_until"`
	}
	Secret string
}

// newKey makes a key over HTTP and returns its id and the header with it.
func (s *site) newKey(body string, headers ...string) (id, header string) {
	s.Helper()
	var m made
	s.ok("POST", "/api/keys", body, &m, headers...)
	if m.Secret == "" || m.Key.State != "active" || !strings.Contains(m.Secret, m.Key.ID) {
		s.Fatalf("got the key %+v, want an active key with its secret", m)
	}
	return m.Key.ID, "Authorization: Bearer " + m.Secret
}

// proves: X2
//
// Keys have roles; from the first key on, every request needs one; owners see their own jobs; the
// audit log names the actor, the key and the address.
func TestX2_KeysOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.ok("GET", "/api/jobs", "", nil)
	rootID, root := s.newKey(`{"name":"root","roles":["administer"],"note":"set up"}`)
	s.refused("unauthenticated", "GET", "/api/jobs", "")
	s.refused("unauthenticated", "POST", "/api/keys", `{"name":"x","roles":["administer"]}`)
	viewID, view := s.newKey(`{"name":"dash","roles":["view"],"expires_at":"1h"}`, root)
	_, ann := s.newKey(`{"name":"ann's","roles":["submit"],"owner":"ann"}`, root)
	_, shop := s.newKey(`{"name":"shop","roles":["submit"],"delegate":true,"kinds":["k"],"queues":["default"]}`, root)

	s.ok("GET", "/api/jobs", "", nil, view)
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"k","payload":1}`, view)
	s.refused("forbidden", "GET", "/api/keys", "", view)
	var j receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, &j, shop, "Redrive-Owner: bob")
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"other","payload":1}`, shop)
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"k","queue":"q","payload":1}`, shop)
	s.refused("not-found", "GET", "/api/jobs/"+j.ID, "", ann)
	s.ok("GET", "/api/jobs/"+j.ID, "", nil, shop, "Redrive-Owner: bob")
	s.refused("not-found", "GET", "/api/jobs/"+j.ID, "", shop, "Redrive-Owner: ann")

	var who struct {
		Actor, Owner, Key string
		Roles             []string
		ExpiresAt         time.Time `json:"expires_at"`
	}
	s.ok("GET", "/api/whoami", "", &who, view)
	if who.Actor != "dash" || who.Key != viewID || len(who.Roles) != 1 || time.Until(who.ExpiresAt) < 50*time.Minute {
		t.Errorf("whoami: got %+v, want the key dash with its expiry", who)
	}
	var list struct{ Items []struct{ Name string } }
	text := s.ok("GET", "/api/keys", "", &list, root).body
	if len(list.Items) != 4 || bytes.Contains(text, []byte("hash")) {
		t.Errorf("got the keys %s, want four without hashes", text)
	}
	page, err := s.client.Audit(t.Context(), redrive.AuditFilter{Actions: []string{"access.create"}})
	if err != nil || len(page.Entries) != 4 {
		t.Fatalf("audit: got %d entries and error %v, want 4", len(page.Entries), err)
	}
	first, last := page.Entries[3], page.Entries[0]
	if first.Actor != "local" || first.Reason != "set up" || last.Actor != "root" || !strings.HasPrefix(last.Via, "key "+rootID+" from 127.0.0.1, request ") {
		t.Errorf("audit: got %+v and %+v, want local first, and then root with key, address and request", first, last)
	}
}

// part of: X2
func TestX2_RotateAndRevokeOverHTTP(t *testing.T) {
	t.Parallel()
	clock := &turned{}
	s := newSite(t, func(_ *redrive.Config, o *server.Options) { o.Now = clock.now })
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	id, old := s.newKey(`{"name":"ci","roles":["view"]}`, root)
	var m made
	s.ok("POST", "/api/keys/"+id+"/rotate", `{"keep_old_ms":3600000,"note":"monthly"}`, &m, root)
	fresh := "Authorization: Bearer " + m.Secret
	s.ok("GET", "/api/jobs", "", nil, old)
	s.ok("GET", "/api/jobs", "", nil, fresh)
	clock.pass(time.Hour + time.Minute)
	s.refused("unauthenticated", "GET", "/api/jobs", "", old)
	s.ok("GET", "/api/jobs", "", nil, fresh)
	s.refused("invalid-field", "POST", "/api/keys/"+id+"/rotate", `{"keep_old_ms":-1}`, root)
	s.ok("POST", "/api/keys/"+id+"/rotate", "", &m, root)
	if m.Key.Version != 3 || m.Key.OldUntil == "" {
		t.Errorf("rotated again: got %+v, want version 3 and the end of the old secret", m.Key)
	}
	s.ok("DELETE", "/api/keys/"+id, "", &m.Key, root)
	if m.Key.State != "revoked" {
		t.Errorf("revoked: got %+v", m.Key)
	}
	s.refused("unauthenticated", "GET", "/api/jobs", "", fresh)
	s.ok("DELETE", "/api/keys/"+id, "", nil, root) // again
	s.refused("state-moved", "POST", "/api/keys/"+id+"/rotate", "", root)
	s.refused("not-found", "DELETE", "/api/keys/aaaaaaaaaa", "", root)
}

// part of: X2, X3
func TestX2_MistakesOfAKeyAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for body, want := range map[string]string{
		`{"roles":["view"]}`:                                           "/name",
		`{"name":"x"}`:                                                 "/roles",
		`{"name":"x","roles":["root"]}`:                                "/roles",
		`{"name":"x","roles":["view"],"owner":"ann"}`:                  "/owner",
		`{"name":"x","roles":["view"],"kinds":["k"]}`:                  "/kinds",
		`{"name":"x","roles":["view"],"expires_at":"yesterday"}`:       "/expires_at",
		`{"name":"x","roles":["view"],"expires_at":"2020-01-01"}`:      "/expires_at",
		`{"name":"` + strings.Repeat("n", 257) + `","roles":["view"]}`: "/name",
	} {
		p := s.refused("invalid-field", "POST", "/api/keys", body)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("%.100s: got the mistakes %+v, want one at %s", body, p.Errors, want)
		}
	}
	s.refused("unknown-field", "POST", "/api/keys", `{"name":"x","roles":["view"],"hash":"abc"}`)
	s.ok("GET", "/api/jobs", "", nil) // no key was made
}

// part of: X2
func TestTrap20_ALoginIsOverWhenItsKeyIsRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	id, view := s.newKey(`{"name":"dash","roles":["view"]}`, root)
	a := s.ok("POST", "/api/login", `{"key":"`+strings.TrimPrefix(view, "Authorization: Bearer ")+`"}`, nil)
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	s.ok("GET", "/api/jobs", "", nil, "Cookie: "+cookie)
	s.refused("forbidden", "POST", "/api/jobs", `{"kind":"k","payload":1}`, "Cookie: "+cookie)
	if out := s.ok("POST", "/api/logout", "", nil); !strings.Contains(out.header.Get("Set-Cookie"), "redrive_login=; ") {
		t.Errorf("logout: got the cookie %q, want an empty one", out.header.Get("Set-Cookie"))
	}
	s.ok("DELETE", "/api/keys/"+id, "", nil, root)
	s.refused("unauthenticated", "GET", "/api/jobs", "", "Cookie: "+cookie)
	for range access.LoginsPerMinute - 1 {
		s.refused("unauthenticated", "POST", "/api/login", `{"key":"wrong"}`)
	}
	if limited := s.do("POST", "/api/login", `{"key":"wrong"}`); limited.status != http.StatusTooManyRequests || limited.header.Get("Retry-After") == "" {
		t.Errorf("one login too many: got %d with %v, want 429 and Retry-After", limited.status, limited.header)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// part of: X2
//
// Each route by keys of each role, with and without an owner: what the table says is what the
// server does.
func TestTrap7_EachRouteByEachKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	keys := map[string]string{}
	for _, name := range access.RoleNames() {
		_, keys[name] = s.newKey(`{"name":"`+name+`","roles":["`+name+`"]}`, root)
	}
	_, owned := s.newKey(`{"name":"ann's","roles":["submit"],"owner":"ann"}`, root)
	for _, r := range api.Routes() {
		if r.Roles == 0 || r.Path == "/api/keys/{id}" {
			continue
		}
		path := pathOf(&r)
		for name, header := range keys {
			role, _ := access.ParseRole(name)
			a := s.do(r.Method, path, "", header)
			if refused := a.status == http.StatusForbidden; refused == role.Any(r.Roles) || a.status == http.StatusUnauthorized {
				t.Errorf("%s %s by a key with the role %s: got %d %s, want refused %t", r.Method, r.Path, name, a.status, a.body, !role.Any(r.Roles))
			}
		}
		a := s.do(r.Method, path, "", owned)
		if allowed := r.Owner == api.Own; (a.status == http.StatusForbidden) == allowed {
			t.Errorf("%s %s by the key of an owner: got %d %s, want allowed %t", r.Method, r.Path, a.status, a.body, allowed)
		}
	}
	for _, path := range []string{"/api", "/api/", "/api/key", "/api/keys/", "/debug/pprof/", "/api/jobs/1/", "/.env", "/metrics2", "/api/keys/a/b/c"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			s.refused("not-found", method, path, "", root)
		}
	}
}

// part of: X2, M5, F11
//
// No log line, answer, event and audit row has a key or a cookie; only the answer that makes the
// key has it.
func TestTrap40_KeysAreInNoLogAndNoDump(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	key := strings.TrimPrefix(root, "Authorization: Bearer ")
	a := s.ok("POST", "/api/login", `{"key":"`+key+`"}`, nil)
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	_, value, _ := strings.Cut(cookie, "=")
	_, signature, _ := strings.Cut(value, ".")
	var answers bytes.Buffer
	for _, headers := range [][]string{{root}, {"Cookie: " + cookie}, {"Authorization: Bearer " + key[:60]}, {"Authorization: Basic " + key}, {root, root}} {
		for _, path := range []string{"/api/jobs", "/api/jobs?key=" + key, "/api/keys", "/api/whoami", "/api/" + key, "/api/jobs/" + key} {
			answers.Write(s.do("GET", path, "", headers...).body)
		}
	}
	answers.Write(s.do("POST", "/api/login", `{"key":"`+key[:63]+`x"}`).body)
	secret := key[15:50]
	for name, text := range map[string]string{"log": log.String(), "dump": encoded(t, dump(t, s.store))} {
		if strings.Contains(text, secret) || strings.Contains(text, signature) {
			t.Errorf("the %s has a secret:\n%s", name, text)
		}
	}
	if !strings.Contains(log.String(), "/api/whoami") || strings.Contains(log.String(), "?key") {
		t.Errorf("the log has no routes, or it has queries:\n%s", log.String())
	}
	if strings.Contains(answers.String(), signature) {
		t.Error("an answer repeats the cookie")
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// turned is a clock that can be turned forward.
type turned struct {
	mu sync.Mutex
	by time.Duration
}

func (c *turned) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *turned) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += d
}

// part of: X2
//
// The time of an answer does not give away a job of another owner: it overlaps with the time for a
// job that does not exist.
func TestTrap8_TheTimeTellsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer","submit"]}`)
	_, ann := s.newKey(`{"name":"ann's","roles":["submit"],"owner":"ann"}`, root)
	var bob receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1,"owner":"bob"}`, &bob, root)
	name, key, _ := strings.Cut(ann, ": ")
	paths := [2]string{"/api/jobs/" + bob.ID, "/api/jobs/999999"}
	const rounds, of = 300, 10
	faster := [2]int{}
	for range rounds { // in turns, so that both see the same load
		var took [2]time.Duration
		for i, path := range paths {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = "127.0.0.1"
			r.Header.Set(name, key)
			began := time.Now()
			for range of {
				w := httptest.NewRecorder()
				if s.server.ServeHTTP(w, r); w.Code != http.StatusNotFound {
					t.Fatalf("%s: got %d %s, want 404", path, w.Code, w.Body)
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
		t.Errorf("of %d rounds, %d were faster for the job of another and %d for no job; want no one to be faster nearly always", rounds, faster[0], faster[1])
	}
}

// part of: X2
//
// A request that waits for a job gets no answer if its key was revoked meanwhile.
func TestTrap20_AHeldAnswerEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer","submit"]}`)
	id, view := s.newKey(`{"name":"dash","roles":["view"]}`, root)
	var j receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, &j, root)
	held := make(chan int, 1)
	go func() { held <- s.do("GET", "/api/jobs/"+j.ID+"?wait=30s", "", view).status }()
	for used := false; !used; { // the key was accepted
		list, err := s.client.AccessKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			used = used || k.ID == id && k.UsedAt > 0
		}
	}
	s.ok("DELETE", "/api/keys/"+id, "", nil, root)
	began := time.Now()
	if status := <-held; status != http.StatusUnauthorized || time.Since(began) > 10*time.Second {
		t.Errorf("got %d after %s, want 401 within five seconds", status, time.Since(began))
	}
}
