package server_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
)

func (s *deadSite) entry(id string) (e deadEntry) {
	s.Helper()
	s.ok("GET", dlq+"/"+id, "", &e)
	return e
}

// proves: D2, D3
//
// The statuses of a dead letter over HTTP, each with who and why, and what each action refuses.
func TestD2_ADeadLetterIsResolvedIgnoredReopenedAndRetried(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":{"n":1}}`)
	var e deadEntry
	if p := s.refused("invalid-field", "POST", dlq+"/1/ignore", ""); len(p.Errors) != 1 || p.Errors[0].Pointer != "/reason" {
		t.Errorf("ignore without a reason: got %+v, want a mistake of the reason", p)
	}
	s.ok("POST", dlq+"/1/ignore?reason=a+test", "", &e)
	if e.Status != "ignored" || e.Resolution == nil || e.Resolution.Notes != "a test" || *e.ResolvedBy != "local" || e.ResolvedAt.IsZero() {
		t.Errorf("ignore: got %+v, want it ignored with the reason", e)
	}
	if p := s.refused("state-moved", "POST", dlq+"/1/ignore?reason=known", ""); p.DeadLetter != "ignored" || p.State != "dead" || p.Job != "1" {
		t.Errorf("ignore again: got %+v, want the states now", p)
	}
	s.ok("POST", dlq+"/1/reopen", `{"note":"not yet"}`, &e)
	if e.Status != "pending" {
		t.Errorf("reopen: got %+v, want it pending", e)
	}
	s.ok("POST", dlq+"/1/resolve", `{"action":"refunded","notes":"by hand"}`, &e)
	if e.Status != "resolved" || e.Resolution.Action != "resolved" || e.Resolution.Notes != "refunded: by hand" {
		t.Errorf("resolve: got %+v, want it resolved", e)
	}
	if p := s.refused("state-moved", "POST", dlq+"/1/ignore?reason=known", ""); !strings.Contains(p.Detail, "reopen it first") {
		t.Errorf("ignore of a resolved dead letter: got %q, want the cure", p.Detail)
	}
	s.ok("POST", dlq+"/1/retry", `{"payload":{"n":2},"note":"mended"}`, &e)
	if e.Status != "retried" || string(e.Payload) != `{"n":2}` || e.Metadata.State != "waiting" {
		t.Errorf("retry: got %+v, want it retried with its new payload", e)
	}
	if p := s.refused("not-dead", "POST", dlq+"/1/retry", ""); p.State != "waiting" || p.DeadLetter != "retried" {
		t.Errorf("a second retry: got %+v, want the states now", p)
	}
	s.broken.Store(false)
	s.run()
	if e = s.entry("1"); e.Status != "resolved" || e.Resolution.Action != "completed" {
		t.Errorf("after the new life has completed: got %+v, want it resolved", e)
	}
	for _, c := range []struct{ kind, path, body string }{
		{"unknown-field", "/1/resolve", `{"reason":"x"}`}, {"invalid-field", "/1/ignore?reason=a", `{"until":"2001-01-01"}`}, {"not-found", "/9/resolve", ""},
		{"invalid-field", "/1/ignore?reason=a", `{"reason":"b"}`}, {"too-large", "/1/resolve", `{"action":"` + strings.Repeat("a", 65) + `"}`},
		{"too-large", "/1/reopen", `{"note":"` + strings.Repeat("a", 4097) + `"}`}, {"too-large", "/1/ignore?reason=" + strings.Repeat("a", 4097), ""},
	} {
		s.refused(c.kind, "POST", dlq+c.path, c.body)
	}
}

// part of: D5
//
// Two clicks, and two operators: one life, one audit row; the second learns why not.
func TestTrap13_TwoClicksOpenOneLife(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":1}`)
	var answers [8]*answer
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.do("POST", dlq+"/1/retry", "") })
	}
	all.Wait()
	done := 0
	for _, a := range answers {
		if a.status == 200 {
			done++
		} else if a.status != 409 || !strings.Contains(string(a.body), `"state":"waiting"`) {
			t.Errorf("got %d %s, want 409 with the state", a.status, a.body)
		}
	}
	audit, err := s.client.Audit(t.Context(), redrive.AuditFilter{Actions: []string{"job.retry"}})
	j, jerr := s.client.Get(t.Context(), 1)
	if err != nil || jerr != nil || done != 1 || len(audit.Entries) != 1 || j.Life != 2 {
		t.Errorf("got %d successes, %d audit rows, life %d, errors %v and %v; want 1 success, 1 audit row and life 2", done, len(audit.Entries), j.Life, err, jerr)
	}
}

// part of: D5
//
// reasonOf returns the query with the reason that an action needs.
func reasonOf(act string) string {
	if act == "ignore" {
		return "?reason=known"
	}
	return ""
}

// A button of an old page: the action expects the state that the page has shown.
func TestTrap14_AnActionOnAnOldPageIsRefused(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":1}`)
	var e deadEntry
	old := s.ok("GET", dlq+"/1", "", &e).header.Get("Etag")
	death := e.Metadata.Death
	s.ok("POST", dlq+"/1/retry", fmt.Sprintf(`{"expect":{"life":1,"death":%d,"state":"dead"}}`, death), nil, "If-Match: "+old)
	s.run()
	for _, act := range []string{"retry", "resolve", "ignore", "reopen"} {
		for _, expect := range []string{`{"life":1}`, fmt.Sprintf(`{"death":%d}`, death), `{"state":"running"}`} {
			p := s.refused("state-moved", "POST", dlq+"/1/"+act+reasonOf(act), `{"expect":`+expect+`}`)
			if p.State != "dead" || p.DeadLetter != "pending" || p.Job != "1" {
				t.Errorf("%s that expects %s: got %+v, want the states now", act, expect, p)
			}
		}
		if p := s.refused("precondition-failed", "POST", dlq+"/1/"+act+reasonOf(act), "", "If-Match: "+old); p.State != "dead" || p.DeadLetter != "pending" {
			t.Errorf("%s of the old version: got %+v, want the states now", act, p)
		}
	}
	if e = s.entry("1"); e.Status != "pending" {
		t.Errorf("got the status %s, want it unchanged", e.Status)
	}
	s.ok("POST", dlq+"/1/resolve", "", nil, "If-Match: "+s.ok("GET", dlq+"/1", "", nil).header.Get("Etag"))
}

// proves: D4, D7
//
// A bulk retry by ids answers for each of them, in both of system A's forms.
func TestD4_ABulkRetryAnswersForEachID(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":1,"correlation":"7f3a0d7e"}`, `{"kind":"k","payload":2}`, `{"kind":"k","payload":3}`, `{"kind":"k","payload":4}`)
	s.ok("POST", dlq+"/2/retry", "", nil)
	for i, body := range []string{`["7f3a0d7e","2","99"]`, `{"job_ids":["3","2","99"],"note":"again"}`} {
		var got struct {
			Results []struct {
				JobID, ID, Status, Error string
				Code                     string `json:"error_code"`
			}
			Retried, Refused int
		}
		a := s.ok("POST", dlq+"/bulk-retry", body, &got)
		r := got.Results
		if got.Retried != 1 || got.Refused != 2 || len(r) != 3 || r[0].Status != "retried" || r[1].Status != "refused" || r[1].Code != "state-moved" ||
			r[1].Error == "" || r[2].Code != "not-found" || !strings.Contains(string(a.body), `"job_id":"99"`) {
			t.Errorf("form %d: got %s, want one retried, one that was not dead, one that does not exist", i, a.body)
		}
	}
	s.ok("POST", dlq+"/bulk-retry", `{"job_ids":["4","4"],"change":{"patch":[{"op":"replace","path":"","value":44}],"priority":3}}`, nil)
	if j, err := s.client.Get(t.Context(), 4); err != nil || j.Life != 2 || string(j.Payload) != "44" || j.Priority != 3 {
		t.Errorf("with a patch: got job %+v with the payload %s and error %v, want it retried once with 44", j, j.Payload, err)
	}
	many := `["` + strings.Repeat(`1","`, 1000) + `1"]`
	for _, c := range []struct{ kind, body string }{
		{"invalid-field", `[]`}, {"invalid-field", `[1]`}, {"invalid-field", `{}`}, {"too-large", many}, {"unknown-field", `{"ids":["1"]}`},
		{"invalid-field", `{"job_ids":["1"],"filter":{"all":true}}`}, {"invalid-field", `{"job_ids":["1"],"change":{"payload":1}}`},
		{"invalid-field", `{"job_ids":["1"],"change":{"patch":[{"op":"set"}]}}`}, {"invalid-field", `{"job_ids":["1"],"change":{"priority":9}}`},
		{"invalid-field", `{"job_ids":["1"],"through":3}`}, {"invalid-json", `["1"`}, {"invalid-field", `{"filter":{"task_type":"k"}}`},
		{"invalid-field", `{"filter":{},"through":3}`}, {"invalid-field", `{"filter":{"all":true,"task_type":"k"},"through":3}`},
	} {
		s.refused(c.kind, "POST", dlq+"/bulk-retry", c.body)
	}
}

// part of: D7, D4
//
// An action by a filter changes what the preview has counted, and nothing that has died since.
func TestTrap15_AnActionChangesWhatItsPreviewHasCounted(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":{"n":1},"owner":"ann"}`, `{"kind":"k","payload":{"n":2}}`, `{"kind":"other","payload":{"n":3}}`)
	var seen struct {
		Count, Through int64
		ByKind         map[string]int64 `json:"by_kind"`
		Owners         int
		Oldest         time.Time
		Skipped        int64
	}
	const filter = `"filter":{"status":["pending"],"task_type":"k"}`
	s.ok("POST", dlq+"/preview", `{"do":"resolve",`+filter+`}`, &seen)
	if seen.Count != 2 || seen.ByKind["k"] != 2 || seen.Owners != 2 || seen.Oldest.IsZero() || seen.Through < 1 {
		t.Fatalf("the preview: got %+v, want both jobs of the kind", seen)
	}
	s.die(`{"kind":"k","payload":{"n":4}}`)
	var done struct {
		Done, Through, Retried, Refused, Redrive int64
		More                                     bool
	}
	act := func(do string) string {
		return fmt.Sprintf(`{"do":"%s",%s,"through":%d,"note":"done"}`, do, filter, seen.Through)
	}
	s.ok("POST", dlq+"/act", act("resolve"), &done)
	if done.Done != 2 || done.More || s.entry("4").Status != "pending" || s.entry("1").Status != "resolved" {
		t.Errorf("the action: got %+v, want the 2 of the preview", done)
	}
	s.ok("POST", dlq+"/act", act("resolve"), &done)
	if done.Done != 0 {
		t.Errorf("the action again: got %+v, want nothing left", done)
	}
	s.refused("invalid-field", "POST", dlq+"/act", `{"do":"resolve",`+filter+`}`)
	for _, do := range []string{"ignore", "purge"} {
		if p := s.refused("invalid-field", "POST", dlq+"/act", `{"do":"`+do+`",`+filter+`,"through":1,"note":" "}`); len(p.Errors) != 1 || p.Errors[0].Pointer != "/note" {
			t.Errorf("%s without a reason: got %+v, want a mistake of the note", do, p)
		}
	}
	s.refused("invalid-field", "POST", dlq+"/act", `{"do":"close",`+filter+`,"through":1}`)
	s.refused("invalid-field", "POST", dlq+"/act", `{"do":"resolve",`+filter+`,"through":1,"change":{"queue":"q"}}`)
	s.refused("invalid-field", "POST", dlq+"/act", `{"do":"resolve","through":1}`)
	s.refused("invalid-field", "POST", dlq+"/preview", `{"do":"retry","filter":{"status":["dead"],"from_date":"soon"}}`)

	s.ok("POST", dlq+"/bulk-retry", fmt.Sprintf(`{"filter":{"status":["resolved"],"task_type":"k"},"through":%d,"change":{"patch":[{"op":"add","path":"/n","value":9}]}}`, seen.Through), &done)
	if j, err := s.client.Get(t.Context(), 1); err != nil || done.Retried != 2 || done.Redrive != 1 || string(j.Payload) != `{"n":9}` {
		t.Errorf("the retry with a patch: got %+v, the payload %s and error %v, want both with n 9", done, j.Payload, err)
	}
	s.ok("POST", dlq+"/bulk-retry", fmt.Sprintf(`{"filter":{"all":true},"through":%d}`, seen.Through+1), &done)
	if done.Retried != 2 {
		t.Errorf("the retry of all: got %+v, want jobs 3 and 4", done)
	}
}

// proves: D4, D3
//
// A purge removes resolved and ignored dead letters before a date, never a pending one.
func TestD4_APurgeKeepsWhatIsPending(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, func(c *redrive.Config, o *server.Options) { as(c, o) })
	const admin, ops = "X-Test-Caller: administer", "X-Test-Caller: operate"
	for range 4 {
		s.ok("POST", "/api/jobs", `{"kind":"k","payload":1}`, nil, ops)
		s.run()
	}
	s.ok("POST", dlq+"/1/resolve", "", nil, ops)
	s.ok("POST", dlq+"/2/ignore?reason=old", "", nil, ops)
	s.ok("POST", dlq+"/3/ignore?reason=old", "", nil, ops)
	later := "before_date=" + time.Now().UTC().Add(time.Hour).Format("2006-01-02T15:04:05")
	s.refused("forbidden", "DELETE", dlq+"/purge?"+later, "", ops)
	for query, want := range map[string]string{"": "before_date", "before_date=soon": "before_date", later + "&status=pending": "status", later + "&status=resolved,retried": "status"} {
		if p := s.refused("invalid-field", "DELETE", dlq+"/purge?"+query, "", admin); p.Errors[0].Parameter != want {
			t.Errorf("purge by %q: got %+v, want a mistake of %s", query, p.Errors, want)
		}
	}
	var got struct {
		Count, Purged int64
		More          bool
	}
	s.ok("DELETE", dlq+"/purge?preview=true&"+later, "", &got, admin)
	if got.Count != 3 {
		t.Errorf("the preview: got %+v, want 3", got)
	}
	s.ok("DELETE", dlq+"/purge?before_date=1d", "", &got, admin)
	if got.Purged != 0 {
		t.Errorf("purge of dead letters that are a day old: got %+v, want nothing", got)
	}
	s.ok("DELETE", dlq+"/purge?"+later+"&status=resolved&note=cleanup", "", &got, admin)
	if got.Purged != 1 {
		t.Errorf("purge of resolved dead letters: got %+v, want 1", got)
	}
	body, err := json.Marshal(map[string]any{"before_date": strings.TrimPrefix(later, "before_date="), "status": []string{"resolved", "ignored"}})
	if err != nil {
		t.Fatal(err)
	}
	s.ok("DELETE", dlq+"/purge", string(body), &got, admin, "Content-Type: application/json")
	page, err := s.client.DeadLetters(t.Context(), redrive.DeadFilter{}, redrive.DeadPaging{})
	if err != nil || got.Purged != 2 || len(page.Entries) != 1 || page.Entries[0].DeadLetter.Job != job.ID(4) {
		t.Errorf("purge by a body: got %+v, %d dead letters and error %v, want only the pending job 4", got, len(page.Entries), err)
	}
}

// part of: D3, F11
//
// An export in each format: it says that it is whole, it has no secrets, and payloads keep their digits.
func TestTrap31_AnExportSaysThatItIsWhole(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, as)
	const admin, ops = "X-Test-Caller: administer", "X-Test-Caller: operate"
	const n = 250
	var jobs []string
	for i := range n {
		jobs = append(jobs, fmt.Sprintf(`{"kind":"k","payload":{"password":"hunter2","b":9223372036854775808,"a":1e400,"i":%d}}`, i))
	}
	s.ok("POST", "/api/jobs", "["+strings.Join(jobs, ",")+"]", nil, ops)
	s.run()
	for format, whole := range map[string]func(text string) int{
		"json": func(text string) int {
			var list []deadEntry
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Errorf("the export is not an array: %v", err)
			}
			return len(list)
		},
		"ndjson": func(text string) int {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			if last := lines[len(lines)-1]; last != fmt.Sprintf(`{"complete":true,"count":%d}`, n) {
				t.Errorf("the last line is %s, want that it is complete", last)
			}
			return len(lines) - 1
		},
		"csv": func(text string) int {
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil || strings.Join(rows[0][:3], " ") != "job_id task_type payload" {
				t.Errorf("the export is not a table: %v", err)
			}
			return len(rows) - 1
		},
	} {
		a := s.ok("GET", dlq+"/export?format="+format, "", nil, ops)
		if got := whole(string(a.body)); got != n || a.trailer.Get("X-Export-Complete") != fmt.Sprint(n) || a.header.Get("Content-Length") != "" {
			t.Errorf("%s: got %d entries, the trailer %v and the header %v, want %d, the trailer and no length", format, got, a.trailer, a.header, n)
		}
		if strings.Contains(string(a.body), "hunter2") {
			t.Errorf("%s: the export has the password", format)
		}
		raw := s.ok("GET", dlq+"/export?raw=true&format="+format, "", nil, admin)
		if text := strings.ReplaceAll(string(raw.body), `""`, `"`); !strings.Contains(text, `{"password":"hunter2","b":9223372036854775808,"a":1e400,"i":7}`) {
			t.Errorf("%s: the raw export does not have the payload as it is", format)
		}
	}
	s.refused("forbidden", "GET", dlq+"/export?raw=true", "", ops)
	s.refused("invalid-field", "GET", dlq+"/export?format=xml", "", ops)
	if a := s.ok("GET", dlq+"/export?task_type=none", "", nil, ops); strings.TrimSpace(string(a.body)) != "[]" || a.trailer.Get("X-Export-Complete") != "0" {
		t.Errorf("an empty export: got %s and the trailer %v, want an empty array that is whole", a.body, a.trailer)
	}
}

// part of: D3
//
// No cell of an export is a formula.
func TestTrap32_NoCellOfAnExportIsAFormula(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":"=HYPERLINK(\"http://x\")","owner":"@acme"}`, `{"kind":"k","payload":-5,"owner":"+1"}`)
	s.ok("POST", dlq+"/1/resolve", `{"notes":"=1+1"}`, nil)
	a := s.ok("GET", dlq+"/export?format=csv", "", nil)
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("got %d rows and error %v, want 3", len(rows), err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && cell != "-5" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("the cell %q begins a formula", cell)
			}
		}
	}
}
