package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redrive/redrive"
)

// proves: R5
//
// A job that a rule holds never runs until an operator decides over HTTP: a retry releases it, resolve
// refuses it for good. Its owner hears why, and cannot release it.
func TestR5_AHeldJobIsReleasedOrRefusedByAnOperator(t *testing.T) {
	t.Parallel()
	s := newSite(t, withPreset(t, "transcribe"))
	const ann, ops, view = "X-Test-Caller: submit/ann", "X-Test-Caller: operate", "X-Test-Caller: view"
	var released, refused, short receipt
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":1,"attrs":{"duration_seconds":28800}}`, &released, ann)
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":2,"attrs":{"duration_seconds":30000}}`, &refused, ann)
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":3,"attrs":{"duration_seconds":21599}}`, &short, ann)
	ran := make(map[string]int)
	redrive.HandleRaw(s.client, "k", func(_ context.Context, j *redrive.Job[[]byte]) error {
		ran[j.ID.String()]++
		return nil
	}, nil)
	run := func() {
		t.Helper()
		if err := s.client.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if len(ran) != 1 || ran[short.ID] != 1 {
		t.Fatalf("got the runs %v, want only that of the short video", ran)
	}
	var seen struct {
		Status, Message string
		Can             []string
	}
	s.ok("GET", "/api/jobs/"+released.ID, "", &seen, ann)
	if seen.Status != "MANUAL_REVIEW" || seen.Message != "Please contact support for videos over 8 hours" || strings.Join(seen.Can, ",") != "feedback" {
		t.Errorf("its owner sees %+v, want that it is in manual review, and no retry", seen)
	}
	var why struct{ Standing, Next string }
	s.ok("GET", "/api/jobs/"+released.ID+"/explain", "", &why, view)
	if !strings.Contains(why.Standing, "a rule holds it until a person decides") || why.Next != "nothing until a person decides: POST /api/jobs/"+released.ID+"/retry releases it, POST /api/admin/dlq/"+released.ID+"/resolve refuses it" {
		t.Errorf("explain: got %+v, want the rule and both routes", why)
	}
	for _, path := range []string{"/api/jobs/" + released.ID + "/retry", dlq + "/" + released.ID + "/retry"} {
		s.refused("owner-may-not", "POST", path, "", ann)
		s.refused("forbidden", "POST", path, "", view)
	}
	s.refused("forbidden", "POST", dlq+"/"+refused.ID+"/resolve", "", ann)
	s.ok("POST", "/api/jobs/"+released.ID+"/retry", `{"note":"paid for it"}`, nil, ops)
	s.ok("POST", dlq+"/"+refused.ID+"/resolve", `{"action":"refused","notes":"too long"}`, nil, ops)
	run()
	if len(ran) != 2 || ran[released.ID] != 1 {
		t.Errorf("got the runs %v, want one of the released job and none of the refused one", ran)
	}
	if j := s.job(released.ID, ops); j.Job.State != "completed" || j.Job.Life != 2 {
		t.Errorf("the released job: got %+v, want it completed in life 2", j.Job)
	}
	var entry deadEntry
	s.ok("GET", dlq+"/"+refused.ID, "", &entry, ops)
	if entry.Status != "resolved" || entry.Reason != "manual_review" || entry.Resolution == nil || entry.Resolution.Notes != "refused: too long" || *entry.ResolvedBy != "test operate" {
		t.Errorf("the refused job: got %+v, want it resolved by the operator with the reason", entry)
	}
}
