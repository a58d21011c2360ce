package selfbench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A listener counts how long ago an event happened, and resets; other lines it passes over.
func TestHearing_NotesDelaysAndResets(t *testing.T) {
	t.Parallel()
	var h hearing
	for _, line := range []string{
		"id: 12.1", "event: job.enqueued", fmt.Sprintf(`data: {"id":"12.1","at":%q,"type":"job.enqueued"}`, time.Now().Add(-time.Second).UTC().Format(time.RFC3339Nano)),
		"", "event: reset", `data: {"cursor":"13.0"}`, `data: {"at":"no time"}`,
	} {
		h.hear([]byte(line))
	}
	found := h.delays.read()
	if n, p99 := found.n(), found.at(0.99); n != 1 || p99 < time.Second || p99 > time.Minute {
		t.Errorf("got %d delays, p99 %s; want one of a second", n, p99)
	}
	if got := h.resets.Load(); got != 1 {
		t.Errorf("got %d resets, want 1", got)
	}
}

// Each placeholder of a path is filled.
func TestHTTPReader_FillsPaths(t *testing.T) {
	t.Parallel()
	r := httpReader{shape: Seeded{Over: 1000}.shape()}
	for _, path := range []string{"{id}", "{kind}", "{queue}", "{owner}", "{large}", "{group}", "{class}", "{correlation}", "{before}"} {
		if got := r.fill(path, 3); got == "" || strings.ContainsAny(got, "{}") {
			t.Errorf("%s: got %q, want a value", path, got)
		}
	}
}
