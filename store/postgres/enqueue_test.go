package postgres

import (
	"testing"

	"github.com/redrive/redrive/job"
)

// A lane that is made while a process only enqueues is known to it afterwards:
// otherwise each of its calls would get a transaction of its own for ever.
func TestAProducerKnowsTheLanesItMakes(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	for _, kind := range []string{"mail", "mail", "thumbnail", "thumbnail"} {
		id, err := s.ReserveIDs(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		n := job.New{ID: id, Kind: kind, Queue: "default", Priority: 2, Payload: []byte(`{}`)}
		if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
			t.Fatal(err)
		}
	}
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mail", "thumbnail"} {
		if known.catalog.LaneOf("default", kind, "") == 0 {
			t.Errorf("the lane of %s is not known after two jobs of it", kind)
		}
	}
}
