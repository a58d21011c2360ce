package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/testing/apicheck"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/memory"
)

// presetOf returns the spec of a preset.
func presetOf(t *testing.T, name string) *policy.Spec {
	t.Helper()
	text, ok := preset.Text(name)
	if !ok {
		t.Fatalf("there is no preset %s", name)
	}
	f, err := policyfile.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return &f.Spec
}

// newDoorSite starts a site with the door /jobs of system V: its schema, its words, callers by name.
func newDoorSite(t *testing.T) *site {
	t.Helper()
	text, err := os.ReadFile("testdata/timeline.json")
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := schema.Compile("timeline.json", text)
	if err != nil {
		t.Fatal(err)
	}
	words := presetOf(t, "render").Words
	s := newSite(t, func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.PayloadChecks = map[string]redrive.PayloadCheck{"render": timeline}
		o.Hosts = []string{"127.0.0.1"}
		o.Kinds = map[string]server.KindOptions{"render": {}, "mail": {}}
		o.Doors = map[string]server.Door{"render": {Path: "/jobs", Kind: "render", Words: &words}}
	})
	if s.doc, err = apicheck.New(s.ok("GET", "/api/openapi.yaml", "", nil).body); err != nil {
		t.Fatal(err)
	}
	return s
}

const shop = "X-Test-Caller: submit"

// mistaken sends a request to a door that must be answered with this object and nothing else.
func (s *site) mistaken(status int, message, method, path, body string, headers ...string) {
	s.Helper()
	a := s.do(method, path, body, headers...)
	want := fmt.Sprintf(`{"statusCode":%d,"message":%q,"error":%q}`+"\n", status, message, http.StatusText(status))
	if a.status != status || string(a.body) != want || a.header.Get("Content-Type") != "application/json" {
		s.Errorf("%s %s %.200s: got %d %s of the type %s, want %s", method, path, body, a.status, a.body, a.header.Get("Content-Type"), want)
	}
}

// clips returns a body of V's POST /jobs with this many clips.
func clips(n int, clip string) string {
	return `{"timeline":{"clips":[` + strings.TrimSuffix(strings.Repeat(clip+",", n), ",") + `]}}`
}

func clip(image, duration string) string {
	return fmt.Sprintf(`{"image":%q,"text":"hello","duration":%s}`, image, duration)
}

// proves: X1, D1
//
// POST /jobs of system V: each mistake is answered with V's object and nothing else, one below, on and
// above each bound, and leaves no job.
func TestX1_MistakesAtTheDoorOfSystemV(t *testing.T) {
	t.Parallel()
	s := newDoorSite(t)
	const image = "https://cdn.example/a.png"
	good := clip(image, "5")
	longest := "https://cdn.example/" + strings.Repeat("a", 2048-len("https://cdn.example/"))
	for _, tt := range []struct{ body, message string }{
		{clips(1, clip(image, "0.999")), "Duration must be at least 1 second"},
		{clips(1, clip(image, "1")), ""},
		{clips(1, clip(image, "1.001")), ""},
		{clips(1, clip(image, "59.999")), ""},
		{clips(1, clip(image, "60")), ""},
		{clips(1, clip(image, "60.001")), "Duration must be at most 60 seconds"},
		{clips(1, clip(image, `"5"`)), "Duration must be a number, found a string"},
		{clips(0, good), "Timeline must have at least 1 clip"},
		{clips(1, good), ""},
		{clips(2, good), ""},
		{clips(19, good), ""},
		{clips(20, good), ""},
		{clips(21, good), "Timeline must have at most 20 clips"},
		{clips(1, clip("not a url", "5")), "Image must be a valid URL"},
		{clips(1, clip("ftp://cdn.example/a.png", "5")), "Image must be a valid URL"},
		{clips(1, clip("http:///a.png", "5")), "Image must be a valid URL"},
		{clips(1, clip("", "5")), "Image must be a valid URL"},
		{clips(1, clip(longest[:2047], "5")), ""},
		{clips(1, clip(longest, "5")), ""},
		{clips(1, clip(longest+"a", "5")), "Image must have at most 2048 characters"},
		{clips(1, strings.Replace(good, "hello", strings.Repeat("é", 199), 1)), ""},
		{clips(1, strings.Replace(good, "hello", strings.Repeat("é", 200), 1)), ""},
		{clips(1, strings.Replace(good, "hello", strings.Repeat("é", 201), 1)), "Text must have at most 200 characters"},
		{`{}`, "Timeline is required"},
		{`{"timeline":{}}`, "Clips are required"},
		{clips(1, `{"text":"hello","duration":5}`), "Image is required"},
		{clips(1, `{"image":"https://a.example/b","duration":5}`), "Text is required"},
		{clips(1, `{"image":"https://a.example/b","text":"hello"}`), "Duration is required"},
		{clips(1, strings.Replace(good, "}", `,"durration":1}`, 1)), `Item 1 of clips must not have the field "durration", did you mean "duration"?`},
		{`[]`, "The payload must be an object, found an array"},
	} {
		if tt.message != "" {
			s.mistaken(400, tt.message, "POST", "/jobs", tt.body, shop)
			continue
		}
		if a := s.do("POST", "/jobs", tt.body, shop); a.status != http.StatusCreated {
			t.Errorf("%.200s: got %d %s, want 201", tt.body, a.status, a.body)
		}
	}
	page, err := s.client.List(t.Context(), redrive.JobFilter{Limit: 500})
	if err != nil || len(page.Jobs) != 12 {
		t.Errorf("got %d jobs and error %v, want the 12 that were accepted and no trace of the others", len(page.Jobs), err)
	}
}

// part of: X1, X2
//
// Every other refusal of a door has V's object, too: syntax, size, media type, method, access, path.
func TestX1_EveryRefusalOfADoorHasTheSameForm(t *testing.T) {
	t.Parallel()
	s := newDoorSite(t)
	good := clips(1, clip("https://cdn.example/a.png", "5"))
	s.mistaken(401, "The request needs valid credentials.", "POST", "/jobs", good)
	s.mistaken(403, `The caller has the roles "view"; this needs one of "submit,operate".`, "POST", "/jobs", good, "X-Test-Caller: view")
	s.mistaken(405, `This path does not have the method "PUT".`, "PUT", "/jobs", good, shop)
	s.mistaken(405, `This path does not have the method "DELETE".`, "DELETE", "/jobs/1", "", shop)
	s.mistaken(415, `The body has the media type "text/plain"; this path takes application/json.`, "POST", "/jobs", good, shop, "Content-Type: text/plain")
	s.mistaken(404, "Job 7: there is no such job", "GET", "/jobs/7", "", shop)
	s.mistaken(421, `The server does not answer to the host "evil.example". Use its address, or add the name to server.hosts.`, "GET", "/jobs/1", "", shop, "Host: evil.example")
	if a := s.do("GET", "/jobs/1", "", shop, "X-Fill: "+strings.Repeat("x", api.HeaderMax)); a.status != 431 || !strings.HasPrefix(string(a.body), `{"statusCode":431,"message":"The header has `) {
		t.Errorf("a large header: got %d %s, want V's object with 431", a.status, a.body)
	}
	s.mistaken(414, fmt.Sprintf("The URL has %d bytes; at most %d are allowed.", api.URLMax+1, api.URLMax), "GET", "/jobs/1?"+strings.Repeat("x", api.URLMax+1-len("/jobs/1?")), "", shop)
	s.mistaken(404, "There is no such path. GET /api/docs lists all paths.", "GET", "/jobs/1/2", "", shop)
	s.mistaken(404, `Job "x": there is no such job`, "GET", "/jobs/x", "", shop)
	for body, status := range map[string]int{good[:20]: 400, "": 400, good + "{}": 400, strings.Repeat("[", 100): 400, clips(1, clip("https://a.example/"+strings.Repeat("x", 300_000), "1")): 413} {
		a := s.do("POST", "/jobs", body, shop)
		if !strings.HasPrefix(string(a.body), fmt.Sprintf(`{"statusCode":%d,"message":"`, status)) || !strings.HasSuffix(string(a.body), fmt.Sprintf(`","error":%q}`+"\n", http.StatusText(status))) || a.status != status {
			t.Errorf("%.50q: got %d %s, want V's object with %d", body, a.status, a.body, status)
		}
	}
	if page, err := s.client.List(t.Context(), redrive.JobFilter{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("got %d jobs and error %v, want none", len(page.Jobs), err)
	}
}

// proves: D1
//
// A payload comes in through the door and its job is followed in V's words: queued, processing while it
// is retried, failed for good with its error object, which is a dead letter then.
func TestD1_AJobOfTheDoorInTheWordsOfSystemV(t *testing.T) {
	t.Parallel()
	s := newDoorSite(t)
	const ann, bob = "X-Test-Caller: submit/ann", "X-Test-Caller: submit/bob"
	body := clips(1, clip("https://cdn.example/a.png", "5"))
	var made struct{ ID, Status string }
	a := s.ok("POST", "/jobs", body+"\n", &made, ann, `Idempotency-Key: "order-7"`, "X-Correlation-Id: order-7")
	if want := `{"id":"1","status":"QUEUED"}` + "\n"; a.status != 201 || string(a.body) != want || a.header.Get("Location") != "/jobs/1" {
		t.Fatalf("got %d %s and Location %q, want 201 %s and /jobs/1", a.status, a.body, a.header.Get("Location"), want)
	}
	j, err := s.client.Get(t.Context(), 1)
	if err != nil || string(j.Payload) != body || j.Owner != "ann" || j.Key != "order-7" || j.Correlation != "order-7" {
		t.Errorf("got %+v and error %v, want the bytes of the body, and owner, key and correlation of the request", j, err)
	}
	if a := s.do("POST", "/jobs", body, ann, `Idempotency-Key: "order-7"`); a.status != 200 || string(a.body) != `{"id":"1","status":"QUEUED"}`+"\n" {
		t.Errorf("the repeat: got %d %s, want 200 and the same job", a.status, a.body)
	}
	other := clips(2, clip("https://cdn.example/a.png", "5"))
	if a := s.do("POST", "/jobs", other, ann, `Idempotency-Key: "order-7"`); a.status != 422 || !strings.HasPrefix(string(a.body), `{"statusCode":422,"message":"`) {
		t.Errorf("another payload with the key: got %d %s, want 422 in V's form", a.status, a.body)
	}
	s.mistaken(404, "Job 1: there is no such job", "GET", "/jobs/1", "", bob)
	runs := 0
	redrive.HandleRaw(s.client, "render", func(ctx context.Context, _ *redrive.Job[[]byte]) error {
		if runs++; runs == 1 {
			if a := s.do("GET", "/jobs/1", "", ann); !strings.Contains(string(a.body), `"status":"PROCESSING"`) {
				t.Errorf("while it runs: got %s, want PROCESSING", a.body)
			}
		}
		return failure.Code("FFMPEG_BROKEN", failure.Permanent(errors.New("the file /srv/secret/a.mp4 is broken")))
	}, nil)
	if err := s.client.RunUntilEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	var v struct {
		ID, Status string
		Error      map[string]any
	}
	a = s.ok("GET", "/jobs/1", "", &v, ann)
	if v.ID != "1" || v.Status != "FAILED" || v.Error["code"] != "FFMPEG_BROKEN" || v.Error["message"] == "" || strings.Contains(string(a.body), "secret") {
		t.Errorf("got %s, want FAILED and V's error object without paths", a.body)
	}
	for name := range v.Error {
		if !slices.Contains([]string{"code", "message", "details", "stack"}, name) {
			t.Errorf("the error object has the field %s, which V does not know: %s", name, a.body)
		}
	}
	if l, err := s.client.DeadLetter(t.Context(), 1); err != nil || l.Reason != "non_retriable_error" {
		t.Errorf("got the dead letter %+v and error %v, want one", l, err)
	}
	if a := s.do("GET", "/api/docs", "", ann); !strings.Contains(string(a.body), "/jobs/{id}") {
		t.Error("the page of the routes does not have the door")
	}
	s.submitMail(ann)
}

// submitMail checks that a door does not show jobs of other kinds.
func (s *site) submitMail(caller string) {
	s.Helper()
	var r receipt
	s.ok("POST", "/api/jobs", `{"kind":"mail","payload":{}}`, &r, caller)
	s.mistaken(404, "Job "+r.ID+": there is no such job", "GET", "/jobs/"+r.ID, "", caller)
}

// part of: X1
func TestX1_DoorsThatCannotBe(t *testing.T) {
	t.Parallel()
	kinds := map[string]server.KindOptions{"render": {}, "text": {Text: true}}
	for name, tt := range map[string]struct {
		doors map[string]server.Door
		want  string
	}{
		"no path":    {map[string]server.Door{"a": {Kind: "render"}}, `door "a": the path "" must be words`},
		"no slash":   {map[string]server.Door{"a": {Path: "jobs", Kind: "render"}}, `the path "jobs" must be words`},
		"a wildcard": {map[string]server.Door{"a": {Path: "/{x}", Kind: "render"}}, "must be words"},
		"dots":       {map[string]server.Door{"a": {Path: "/x/..", Kind: "render"}}, "must be words"},
		"an end":     {map[string]server.Door{"a": {Path: "/x/", Kind: "render"}}, "must be words"},
		"own":        {map[string]server.Door{"a": {Path: "/api/jobs", Kind: "render"}}, "begins with /api, which belongs to the server itself"},
		"too long":   {map[string]server.Door{"a": {Path: "/" + strings.Repeat("x", 200), Kind: "render"}}, "has 201 bytes; at most 200 are allowed"},
		"no kind":    {map[string]server.Door{"a": {Path: "/jobs"}}, "it has no kind"},
		"unknown":    {map[string]server.Door{"a": {Path: "/jobs", Kind: "rendr"}}, `unknown kind "rendr"`},
		"texts":      {map[string]server.Door{"a": {Path: "/jobs", Kind: "text"}}, "takes texts; a door takes JSON"},
		"twice":      {map[string]server.Door{"a": {Path: "/jobs", Kind: "render"}, "b": {Path: "/Jobs", Kind: "render"}}, `the door "a" has the path /Jobs, too`},
	} {
		client, err := redrive.New(memory.New(memory.Options{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.New(client, server.Options{Kinds: kinds, Doors: tt.doors}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got the error %v, want one with %q", name, err, tt.want)
		}
	}
}
