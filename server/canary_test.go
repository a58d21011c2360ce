package server_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/testing/canary"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/memory"
)

// leak is the error of a job whose program has written a text everywhere.
type leak struct{ text string }

func (l leak) Error() string      { return "the program failed: " + l.text }
func (l leak) StderrTail() []byte { return []byte("first line\n" + l.text + "\nlast line\n") }
func (l leak) StdoutTail() []byte { return []byte(l.text) }

// leakSite is a site whose jobs of the kind "leak" report their text everywhere and die, and those of
// the kind "done" have it as their result. All jobs are ann's.
type leakSite struct {
	*site
	log   lockedBuffer
	texts []string
	ids   []string // two jobs a text: the dead one, and the completed one
	said  *listener
	heard *listener // by ann
}

func newLeakSite(t *testing.T, texts []string) *leakSite {
	t.Helper()
	l := &leakSite{texts: texts}
	l.site = newSiteOn(t, memory.New(memory.Options{}), func(c *redrive.Config, o *server.Options) {
		as(c, o)
		c.HideEmails, o.HideEmails = true, true
		o.Logger = slog.New(slog.NewJSONHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Logger = o.Logger
	})
	redrive.HandleRaw(l.client, "leak", func(ctx context.Context, j *redrive.Job[[]byte]) error {
		var text string
		if err := json.Unmarshal(j.Args, &text); err != nil {
			return err
		}
		j.Progress(1, 2, text)
		return errors.Join(j.Feedback(ctx, text), failure.Permanent(failure.Code("X", leak{text}, "said", text)))
	}, nil)
	redrive.HandleRaw(l.client, "done", func(_ context.Context, j *redrive.Job[[]byte]) error {
		var text string
		if err := json.Unmarshal(j.Args, &text); err != nil {
			return err
		}
		return j.SetResult(map[string]string{"text": text})
	}, nil)
	l.said, l.heard = l.listen("?topic=all", "X-Test-Caller: operate"), l.listen("?topic=all", "X-Test-Caller: submit/ann")
	for _, text := range texts {
		for _, kind := range []string{"leak", "done"} {
			payload, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.client.Enqueue(t.Context(), redrive.NewRaw(kind, payload, &redrive.Options{Owner: "ann", Attrs: map[string]any{"text": text}}))
			if err != nil {
				t.Fatal(err)
			}
			l.ids = append(l.ids, r.ID.String())
		}
	}
	if err := l.client.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// frames returns what a stream has brought up to the end of the last job.
func (l *leakSite) frames(from *listener) string {
	l.Helper()
	var b strings.Builder
	for ended := 0; ended < len(l.ids); {
		f := from.next()
		if slices.Contains([]string{"job.failed", "job.succeeded", "dead", "completed"}, f.name) {
			ended++
		}
		b.WriteString(f.name + " " + f.data + "\n")
	}
	return b.String()
}

// exits calls every GET route as a caller, and each route of a job for each job, and returns the
// answers by path. It leaves out the routes whose purpose is to show a payload.
func (l *leakSite) exits(caller string) map[string]string {
	l.Helper()
	answers := make(map[string]string)
	var groups struct{ Items []struct{ Group string } }
	l.ok("GET", "/api/groups?limit=500", "", &groups, "X-Test-Caller: operate")
	get := func(path string) {
		answers[path] = string(l.do("GET", path, "", "X-Test-Caller: "+caller).body)
	}
	for _, r := range api.Routes() {
		switch {
		case r.Method != http.MethodGet || r.Name == "getPayload" || r.Name == "getOriginal":
		case r.Name == "exportDeadLetters":
			for _, format := range []string{"json", "ndjson", "csv"} {
				get(r.Path + "?format=" + format)
			}
		case strings.HasPrefix(r.Path, "/api/jobs/{id}"), strings.Contains(r.Path, "{job_id}"):
			for _, id := range l.ids {
				get(strings.NewReplacer("{id}", id, "{job_id}", id).Replace(r.Path))
			}
		case strings.Contains(r.Path, "{fp}"):
			for _, g := range groups.Items {
				get(strings.Replace(r.Path, "{fp}", url.PathEscape(g.Group), 1))
			}
		case r.Name == "listJobs" || r.Name == "listGroups" || r.Name == "listDeadLetters" || r.Name == "events":
			get(r.Path + "?limit=500")
		default:
			get(pathOf(&r))
		}
	}
	return answers
}

// sure returns a text without the parts that may be in an answer by chance.
func sure(c *canary.Text) *canary.Text {
	kept := *c
	kept.Parts = slices.DeleteFunc(slices.Clone(c.Parts), func(part string) bool {
		return len(part) < 12 && (len(part) < 8 || !strings.ContainsFunc(part, func(r rune) bool { return r > '9' }))
	})
	return &kept
}

// Jobs fail and complete with texts that have planted secrets, paths and addresses. No route, no
// event, no export and no line of the log shows a secret; callers with an owner see no path and no
// address either. Only the routes of payloads show a payload as it is.
//
// part of: F11, M5, D8
func TestF11_NoRouteShowsAPlantedSecret(t *testing.T) {
	t.Parallel()
	var texts []canary.Text
	for i, c := range canary.Secrets(11) {
		if i%12 == 0 {
			texts = append(texts, c)
		}
	}
	secrets := len(texts)
	for i, c := range append(canary.Private(11), canary.Emails(11)...) {
		if i%8 == 0 {
			texts = append(texts, c)
		}
	}
	var plain []string
	for _, c := range texts {
		plain = append(plain, c.Text)
	}
	l := newLeakSite(t, plain)
	inside, outside := map[string]string{"events": l.frames(l.said), "log": l.log.String()}, map[string]string{"events of ann": l.frames(l.heard)}
	maps.Copy(inside, l.exits("operate"))
	for path, answer := range l.exits("view") {
		inside[path+" by view"] = answer
	}
	for path, answer := range l.exits("submit/ann") {
		outside[path+" by ann"] = answer
	}
	hidden(t, inside, texts[:secrets])
	hidden(t, outside, texts[:secrets])
	for _, id := range l.ids {
		delete(outside, "/api/jobs/"+id+" by ann") // a result is for its owner, also with paths and addresses
	}
	hidden(t, outside, texts)
	if got, want := inside["/api/jobs/"+l.ids[2*secrets]], sure(&texts[secrets]).Parts[0]; !strings.Contains(got, want) {
		t.Errorf("an operator does not see %q in %s", want, got)
	}
}

// hidden checks that no answer shows a planted part.
func hidden(t *testing.T, exits map[string]string, texts []canary.Text) {
	t.Helper()
	for i := range texts {
		c := sure(&texts[i])
		for path, answer := range exits {
			if part := c.Leaked(answer); part != "" {
				at := strings.Index(answer, part)
				t.Errorf("%s: %s shows %q of %q: …%s…", c.Row, path, part, c.Text, answer[max(0, at-100):min(len(answer), at+60)])
			}
		}
	}
}

// hostile are texts that break out of a form that does not quote them: HTML, JSON, the frames of a
// stream, the lines of a log, the cells of CSV.
var hostile = []string{
	`</script><script src="//canary.example/x.js"></script>`, `"><img src=x onerror=alert(1)>`, `javascript:alert(1)//`,
	"\n\nid: 9.9\nevent: forged\ndata: {}\n\n", "a\r\nX-Forged: 1\r\n\r\n", `","state":"completed","x":"`, "{\"level\":\"forged\"}\n{\"forged\":1}",
	"=HYPERLINK(\"//canary.example\")", "\x1b[2Jcleared\x07", "\u202egnp.exe", "\u2028forged\u2029", strings.Repeat("W", 3000),
}

// Texts that try to break out of their form stay texts: every answer is of the form that its type
// says, no stream has a forged frame, and no log a forged line.
//
// part of: M5
func TestServer_HostileTextsStayTexts(t *testing.T) {
	t.Parallel()
	l := newLeakSite(t, hostile)
	for _, text := range hostile {
		body, err := json.Marshal(map[string]string{"text": text[:min(len(text), 1000)]})
		if err != nil {
			t.Fatal(err)
		}
		l.ok("POST", "/api/jobs/"+l.ids[0]+"/notes", string(body), nil, "X-Test-Caller: operate")
		l.do("GET", "/api/jobs?owner="+url.QueryEscape(text), "", "X-Test-Caller: operate")
		l.do("GET", "/api/"+url.PathEscape(text), "", "X-Test-Caller: operate")
	}
	for _, caller := range []string{"operate", "submit/ann"} {
		for path, answer := range l.exits(caller) {
			switch {
			case strings.HasSuffix(path, "csv"):
				records, err := csv.NewReader(strings.NewReader(answer)).ReadAll()
				for _, record := range records {
					if err == nil && slices.ContainsFunc(record, func(cell string) bool { return cell != "" && strings.ContainsRune("=+@", rune(cell[0])) }) {
						t.Errorf("%s has a formula: %q", path, record)
					}
				}
				if err != nil && !json.Valid([]byte(answer)) { // a refusal is JSON
					t.Errorf("%s is no CSV: %v", path, err)
				}
			case strings.HasPrefix(answer, "{") || strings.HasPrefix(answer, "["):
				for line := range strings.Lines(answer) {
					if !json.Valid([]byte(line)) && !json.Valid([]byte(answer)) {
						t.Errorf("%s by %s is no JSON: %.300s", path, caller, answer)
						break
					}
				}
			case strings.Contains(answer, "canary.example"), strings.Contains(answer, "onerror="):
				t.Errorf("%s by %s has a hostile text outside JSON", path, caller)
			}
		}
	}
	for frame := range strings.Lines(l.frames(l.said)) {
		if name, data, _ := strings.Cut(frame, " "); name == "forged" || !json.Valid([]byte(data)) {
			t.Errorf("the stream has the frame %q", frame)
		}
	}
	for line := range strings.Lines(l.log.String()) {
		var record struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Level == "" || record.Level == "forged" {
			t.Errorf("the log has the line %q", line)
		}
	}
}
