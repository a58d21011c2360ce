package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// open are the routes that need no credentials.
var open = []string{
	"GET /api/docs", "GET /api/openapi.yaml", "GET /healthz", "GET /problems", "GET /readyz", "POST /api/login", "POST /api/logout",
}

// pathOf returns a path of a route, with values for its parameters.
func pathOf(r *api.Route) string {
	return strings.NewReplacer("{id}", "1", "{name}", "default", "{kind}", "k", "{hash}", strings.Repeat("0", 64), "{fp}", "0011223344556677",
		"{n}", "1", "{job_id}", "1", "{key}", "m1").Replace(r.Path)
}

// part of: X2
//
// Each route of the table is refused for every caller without its role, and each has a rule.
func TestTrap7_EachRouteHasARuleOfAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		o.Doors = map[string]server.Door{"render": {Path: "/jobs", Kind: "render"}}
	})
	doors := api.DoorRoutes([]api.Door{{Name: "render", Path: "/jobs", Kind: "render"}})
	for _, r := range slices.Concat(api.Routes(), doors) {
		s.checked = !r.Bare // the document has no paths of doors
		path := pathOf(&r)
		if strings.Contains(path, "{") {
			t.Errorf("%s %s: the test does not know a value of a parameter of the path", r.Method, r.Path)
		}
		if r.Roles == 0 && !r.AnyCaller {
			if !slices.Contains(open, r.Method+" "+r.Path) {
				t.Errorf("%s %s is open to everybody, want a role", r.Method, r.Path)
			}
			if a := s.do(r.Method, path, ""); a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
				t.Errorf("%s %s: got %d without credentials, want an answer", r.Method, r.Path, a.status)
			}
			continue
		}
		if r.Bare {
			s.mistaken(http.StatusUnauthorized, "The request needs valid credentials.", r.Method, path, "")
		} else {
			s.refused("unauthenticated", r.Method, path, "")
		}
		if r.AnyCaller {
			continue
		}
		for _, name := range access.RoleNames() {
			role, _ := access.ParseRole(name)
			for _, owner := range []string{"", "/ann"} {
				a := s.do(r.Method, path, "", "X-Test-Caller: "+name+owner)
				want := !role.Any(r.Roles)
				if owner != "" {
					want = r.Owner == api.NoOwner || !role.Any(r.Roles|access.Submit)
				}
				if got := a.status == http.StatusForbidden; got != want {
					t.Errorf("%s %s by %s%s: got %d %s, want refused %t", r.Method, r.Path, name, owner, a.status, a.body, want)
				}
			}
		}
	}
}

// part of: D4
//
// The document and the table have the same routes, and the names of the operations are unique.
func TestTrap43_EachRouteIsAnOperation(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, r := range api.Routes() {
		if names[r.Name] || r.Name == "" || r.Doc == "" || r.Group == "" || len(r.Out) == 0 {
			t.Errorf("%s %s: want a name of its own, a text, a group and answers; got %q", r.Method, r.Path, r.Name)
		}
		names[r.Name] = true
		for part := range strings.SplitSeq(r.Path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok && !slices.ContainsFunc(r.Params, func(p api.Param) bool { return p.In == "path" && "{"+p.Name+"}" == part }) {
				t.Errorf("%s %s: the parameter %s is not in the table", r.Method, r.Path, name)
			}
		}
		if text := string(api.OpenAPI()); !strings.Contains(text, "  operationId: "+r.Name+"\n") || !strings.Contains(text, "\n  "+r.Path+":\n") {
			t.Errorf("%s %s is not in openapi.yaml", r.Method, r.Path)
		}
	}
	if got := strings.Count(string(api.OpenAPI()), "      operationId: "); got != len(names) {
		t.Errorf("openapi.yaml has %d operations, want %d", got, len(names))
	}
}

// part of: X2
//
// A GET changes nothing: the dumps before and after are equal.
func TestTrap6_AGetChangesNothing(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Options{})
	s := newSiteOn(t, st, nil)
	s.ok("POST", "/api/jobs", `[{"kind":"k","payload":1,"owner":"ann"},{"kind":"k","payload":2,"delay_ms":1000000}]`, nil)
	before := dump(t, st)
	for _, r := range api.Routes() {
		if r.Method != "GET" || r.Stream {
			continue
		}
		for range 2 {
			if a := s.do("GET", pathOf(&r), ""); a.status >= 500 {
				t.Errorf("GET %s: got %d %s", r.Path, a.status, a.body)
			}
		}
	}
	if diff := cmp.Diff(before, dump(t, st)); diff != "" {
		t.Errorf("the GETs have changed the store (-before +after):\n%s", diff)
	}
}

func dump(t *testing.T, st store.Store) *store.Dump {
	t.Helper()
	d, err := st.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.Now = 0
	return d
}

// part of: X2
//
// The server can be mounted below a path of a program, beside its own routes; links have the path.
func TestServer_IsMountable(t *testing.T) {
	t.Parallel()
	client, err := redrive.New(memory.New(memory.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.New(client, server.Options{Base: "/redrive"})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/redrive/", http.StripPrefix("/redrive", h))
	mux.HandleFunc("/own", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s := serveHandler(t, mux)
	if a := s.do("POST", "/redrive/api/jobs", `{"kind":"k","payload":1}`); a.status != 201 || a.header.Get("Location") != "/redrive/api/jobs/1" {
		t.Errorf("submit: got %d and Location %q, want 201 and the path below /redrive", a.status, a.header.Get("Location"))
	}
	if a := s.do("GET", "/own", ""); a.status != http.StatusTeapot {
		t.Errorf("the program's own route: got %d, want %d", a.status, http.StatusTeapot)
	}
}
