package server_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
)

// proves: Q13
//
// "Run now" enqueues the job of a schedule once for each Idempotency-Key, also when the button is
// pressed twice at the same moment and while the schedule is paused.
func TestQ13_AScheduleIsRunNow(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, _ *server.Options) {
		c.Cron = []redrive.Cron{
			{Name: "nightly", Expression: "0 3 * * *", Spec: redrive.NewRaw("report", []byte(`{"a":1}`), nil)},
			{Name: "made", Expression: "@hourly", Make: func(at time.Time) redrive.Spec {
				return redrive.NewRaw("report", []byte(`"`+at.Format(time.RFC3339Nano)+`"`), nil)
			}},
		}
	})
	s.ok("POST", "/api/schedules/nightly/pause", "", nil)
	const people = 5
	var wg sync.WaitGroup
	var receipts [people]receipt
	for i := range people {
		wg.Go(func() {
			s.ok("POST", "/api/schedules/nightly/run", `{"note":"the report is missing"}`, &receipts[i], "Idempotency-Key: press-1")
		})
	}
	wg.Wait()
	made := 0
	for _, r := range receipts {
		if r.ID != receipts[0].ID {
			t.Errorf("two presses with one key: got the jobs %s and %s, want one", r.ID, receipts[0].ID)
		}
		if !r.Existing {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d of %d presses made a job, want 1", made, people)
	}
	var again receipt
	if a := s.ok("POST", "/api/schedules/nightly/run", "", &again, "Idempotency-Key: press-2"); a.status != 201 || again.ID == receipts[0].ID {
		t.Errorf("another key: got %d and job %s, want another job", a.status, again.ID)
	}
	for range 2 { // the job of Make differs at each call
		s.ok("POST", "/api/schedules/made/run", "", nil, "Idempotency-Key: press-1")
	}
	s.ok("POST", "/api/schedules/made/run", "", nil)
	s.ok("POST", "/api/schedules/made/run", "", nil)
	page, err := s.client.List(t.Context(), redrive.JobFilter{})
	if err != nil || len(page.Jobs) != 5 {
		t.Fatalf("got %d jobs and error %v, want 5", len(page.Jobs), err)
	}
	for _, j := range page.Jobs {
		if !strings.HasPrefix(j.Correlation, "cron:") {
			t.Errorf("job %d: got the correlation id %q, want the one of a slot", j.ID, j.Correlation)
		}
	}
	var audit struct {
		Items []struct{ Action, Target, Reason, After string }
	}
	s.ok("GET", "/api/audit?action=schedule.run", "", &audit)
	if n := len(audit.Items); n != 5 || audit.Items[n-1].Reason != "the report is missing" || audit.Items[n-1].After != "job "+receipts[0].ID {
		t.Errorf("audit: got %+v, want a row for each job", audit.Items)
	}
	s.refused("not-found", "POST", "/api/schedules/weekly/run", "")
	s.refused("too-large", "POST", "/api/schedules/nightly/run", "", "Idempotency-Key: "+strings.Repeat("k", 257))
}

// proves: Q13
func TestQ13_NextTimesOfASchedule(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *redrive.Config, _ *server.Options) {
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		c.Cron = []redrive.Cron{{Name: "nightly", Expression: "30 2 * * *", Location: berlin, Spec: redrive.NewRaw("k", []byte("{}"), nil)}}
	})
	type times struct{ Items []time.Time }
	var got times
	// On 2026-03-29 the clocks of Berlin go from 02:00 to 03:00.
	s.ok("GET", "/api/schedules/nightly/next?n=3&after=2026-03-28T00:00:00Z", "", &got)
	var list []string
	for _, at := range got.Items {
		list = append(list, at.UTC().Format(time.RFC3339))
	}
	const want = "2026-03-28T01:30:00Z 2026-03-29T01:00:00Z 2026-03-30T00:30:00Z"
	if strings.Join(list, " ") != want {
		t.Errorf("got %v, want %s", list, want)
	}
	var same times
	s.ok("GET", "/api/schedules/next?expression=30+2+*+*+*&timezone=Europe/Berlin&n=3&after=2026-03-28T00:00:00Z", "", &same)
	if len(same.Items) != 3 || !same.Items[2].Equal(got.Items[2]) {
		t.Errorf("the expression alone: got %v, want %v", same.Items, got.Items)
	}
	s.ok("GET", "/api/schedules/nightly/next", "", &got)
	if len(got.Items) != 5 || !got.Items[0].After(time.Now()) {
		t.Errorf("got %v, want the next five times", got.Items)
	}
	s.ok("GET", "/api/schedules/nightly/next?n=100", "", nil)
	s.refused("invalid-field", "GET", "/api/schedules/nightly/next?n=101", "")
	s.refused("invalid-field", "GET", "/api/schedules/nightly/next?n=0", "")
	s.refused("not-found", "GET", "/api/schedules/weekly/next", "")
	s.refused("invalid-field", "GET", "/api/schedules/next?expression=61+*+*+*+*&timezone=Mars", "")
	s.refused("invalid-field", "GET", "/api/schedules/next?expression=0+0+30+2+*", "") // it never comes
	s.refused("invalid-field", "GET", "/api/schedules/next", "")
}

// proves: X1
func TestX1_TheSchemaOfAKindIsShown(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object", "required":["image"]}`
	render, err := schema.Compile("render.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *redrive.Config, _ *server.Options) {
		c.PayloadChecks = map[string]redrive.PayloadCheck{"render": render}
	})
	a := s.ok("GET", "/api/kinds/render/schema", "", nil)
	if string(a.body) != text || a.header.Get("Content-Type") != "application/schema+json" {
		t.Errorf("got %q as %s, want the text of the schema", a.body, a.header.Get("Content-Type"))
	}
	if a = s.do("GET", "/api/kinds/render/schema", "", "If-None-Match: "+a.header.Get("Etag")); a.status != 304 {
		t.Errorf("the same version: got %d, want 304", a.status)
	}
	s.refused("not-found", "GET", "/api/kinds/other/schema", "")
}
