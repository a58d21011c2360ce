package postgres

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A claim that may take from many lanes reads the payloads of what it takes, not of
// all that it could take.
//
// part of: Q2
func TestQ2_AClaimReadsThePayloadsThatItTakes(t *testing.T) {
	t.Parallel()
	s, p := proxied(t)
	const lanes, each, takes, size = 60, 5, 20, 20 << 10
	first, err := s.ReserveIDs(t.Context(), lanes*each)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []job.New
	var kinds []store.KindWant
	for lane := range lanes {
		kind := fmt.Sprint("kind", lane)
		kinds = append(kinds, store.KindWant{Kind: kind, Max: takes, CrashMax: 2})
		for range each {
			id := first + job.ID(len(jobs))
			payload := bytes.Repeat([]byte{byte(id)}, size)
			jobs = append(jobs, job.New{ID: id, Kind: kind, Queue: "default", Priority: 2, Payload: payload})
		}
	}
	if _, err := s.Enqueue(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	before := p.Stats().ToClient
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute,
		Want: []store.Want{{Queue: "default", Max: takes, Kinds: kinds}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Claims) != takes {
		t.Fatalf("%d claims, want %d", len(x.Claims), takes)
	}
	for _, c := range x.Claims {
		if !bytes.Equal(c.Payload, bytes.Repeat([]byte{byte(c.ID)}, size)) {
			t.Errorf("job %d has %d bytes of payload, which are not its own", c.ID, len(c.Payload))
		}
	}
	if read, most := p.Stats().ToClient-before, int64(takes*size*3/2); read > most {
		t.Errorf("%d bytes came from the server for %d jobs of %d bytes, want %d at most", read, takes, size, most)
	}
}
