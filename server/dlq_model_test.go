package server_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// clientA is a client of system A's dead-letter routes, with the models that FastAPI makes of its answers. Each field
// of the documented answer must be there and have its type.
const clientA = `
import csv, io, json, sys, urllib.error, urllib.request
from datetime import datetime, timedelta, timezone
from typing import Any, Optional
from pydantic import BaseModel

class LastError(BaseModel):
    type: str
    message: str
    timestamp: datetime
    context: dict[str, Any]

class Metadata(BaseModel):
    created_at: datetime
    retry_count: int
    max_retry: Optional[int]
    last_error: Optional[LastError]
    last_retry_at: Optional[datetime]
    idempotency_key: Optional[str]

class Resolution(BaseModel):
    action: str
    notes: Optional[str]

class Entry(BaseModel):
    job_id: str
    task_type: str
    payload: dict[str, Any]
    metadata: Metadata
    dlq_reason: str
    dlq_timestamp: datetime
    status: str
    resolution: Optional[Resolution]
    resolved_at: Optional[datetime]
    resolved_by: Optional[str]

class Page(BaseModel):
    entries: list[Entry]
    page: int
    limit: int
    total: int

class Result(BaseModel):
    job_id: str
    status: str
    error: Optional[str] = None

class BulkRetry(BaseModel):
    results: list[Result]
    retried: int
    refused: int

class Purged(BaseModel):
    purged: int

class Stats(BaseModel):
    by_status: dict[str, int]
    by_reason: dict[str, int]
    by_class: dict[str, int]
    by_kind: dict[str, int]
    oldest_pending: Optional[datetime]
    additions_per_minute: dict[str, float]

base = sys.argv[1] + "/api/admin/dlq"

def call(method, path, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(base + path, data=data, method=method, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()

def entry(method, path, body=None):
    return Entry.model_validate_json(call(method, path, body))

outside = "7f3a0d7e-0d3c-4d55-9a2e-2a8b4f0f9b11"
page = Page.model_validate_json(call("GET", "?page=1&limit=20&task_type=k&status=pending"))
assert [e.job_id for e in page.entries] == ["5", "4", "3", "2", "1"] and page.total == 5, page
one = entry("GET", "/" + outside)
assert one.job_id == "1" and one.metadata.idempotency_key == "k1" and one.metadata.max_retry == 3, one
assert one.metadata.last_error.type == "InvalidInput" and not one.metadata.last_retry_at, one
assert entry("POST", "/" + outside + "/retry").status == "retried"
done = entry("POST", "/2/resolve", {"action": "refunded", "notes": "by hand"})
assert done.status == "resolved" and done.resolution.notes == "refunded: by hand" and done.resolved_by == "local", done
assert entry("POST", "/3/ignore?reason=a+test").status == "ignored"
bulk = BulkRetry.model_validate_json(call("POST", "/bulk-retry", ["4", "999"]))
assert [(r.job_id, r.status) for r in bulk.results] == [("4", "retried"), ("999", "refused")] and bulk.retried == bulk.refused == 1, bulk
stats = Stats.model_validate_json(call("GET", "/stats"))
assert stats.by_status["pending"] == 1 and stats.by_status["resolved"] == 1 and stats.by_kind["k"] == 5, stats
rows = [Entry.model_validate(e) for e in json.loads(call("GET", "/export?format=json"))]
assert sorted(e.job_id for e in rows) == ["1", "2", "3", "4", "5"] and all(e.payload and e.metadata.created_at for e in rows), rows
table = list(csv.DictReader(io.StringIO(call("GET", "/export?format=csv&status=pending"))))
assert [row["job_id"] for row in table] == ["5"], table
soon = (datetime.now(timezone.utc) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S")
assert Purged.model_validate_json(call("DELETE", "/purge?before_date=" + soon)).purged == 2
for path in ("/2", "/purge?before_date=" + soon + "&status=pending"):
    try:
        call("DELETE" if "purge" in path else "GET", path)
        raise AssertionError(path + " was accepted")
    except urllib.error.HTTPError as refused:
        assert refused.code == (400 if "purge" in path else 404), refused
print("all read")
`

// proves: D4
//
// System A's documented answers: each field is there to the letter.
func TestD4_AnAnswerOfSystemAHasItsFields(t *testing.T) {
	t.Parallel()
	s := newDeadSite(t, nil)
	ids := s.die(`{"kind":"k","payload":{"n":1},"key":"k1","correlation":"7f3a0d7e-0d3c-4d55-9a2e-2a8b4f0f9b11"}`, `{"kind":"other","payload":{"n":2}}`)
	s.ok("POST", dlq+"/"+ids[0]+"/resolve", `{"action":"refunded","notes":"by hand"}`, nil)
	page, one := s.ok("GET", dlq+"?page=1&limit=20", "", nil), s.ok("GET", dlq+"/"+ids[0], "", nil)
	for what, text := range map[string][]byte{"page": page.body, "entry": one.body} {
		if what == "page" {
			var all struct{ Entries []json.RawMessage }
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
			text = all.Entries[1]
		}
		for _, want := range []string{
			`"job_id":"` + ids[0] + `"`, `"task_type":"k"`, `"payload":{"n":1}`, `"dlq_reason":"non_retriable_error"`, `"dlq_timestamp":"20`, `"status":"resolved"`,
			`"resolution":{"action":"resolved","notes":"refunded: by hand"}`, `"resolved_at":"20`, `"resolved_by":"local"`, `"metadata":{"created_at":"20`,
			`"retry_count":0,"max_retry":3,"last_error":{"type":"InvalidInput","message":"`, `"last_retry_at":null,"idempotency_key":"k1"`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the %s has no %s:\n%s", what, want, text)
			}
		}
	}
}

// proves: D4
//
// A client of FastAPI's kind uses each dead-letter route of system A on a real server, and its models
// (pydantic) read every answer.
func TestD4_AClientOfSystemAUsesEachRoute(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import pydantic; assert int(pydantic.VERSION[0]) >= 2").Run()
	}
	if err != nil {
		t.Skip("python3 with pydantic 2 is not installed: " + err.Error())
	}
	s := newDeadSite(t, nil)
	s.die(`{"kind":"k","payload":{"n":1},"key":"k1","correlation":"7f3a0d7e-0d3c-4d55-9a2e-2a8b4f0f9b11"}`,
		`{"kind":"k","payload":{"n":2}}`, `{"kind":"k","payload":{"n":3}}`, `{"kind":"k","payload":{"n":4}}`, `{"kind":"k","payload":{"n":5}}`)
	out, err := exec.CommandContext(t.Context(), python, "-c", clientA, s.url).CombinedOutput()
	if err != nil || string(out) != "all read\n" {
		t.Errorf("the client: got %s and error %v, want all answers read", out, err)
	}
}
