package server_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
)

// A server whose clock shows another time answers exports, held reads and JSON lines: the deadlines of
// its connections follow the clock of the system.
func TestServer_AnotherClockEndsNoConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(_ *redrive.Config, o *server.Options) {
		o.Now = func() time.Time { return time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) }
	})
	id := s.submit(`{"kind":"k","payload":1}`)
	s.fail()
	if a := s.ok("GET", "/api/admin/dlq/export?format=csv", "", nil); a.trailer.Get("X-Export-Complete") != "1" {
		t.Errorf("export: got the trailer %v, want one row", a.trailer)
	}
	s.ok("GET", "/api/jobs/"+id+"?wait=1s", "", nil)
	s.ok("POST", "/api/jobs", `{"kind":"k","payload":2}`+"\n", nil, "Content-Type: application/x-ndjson")
}
