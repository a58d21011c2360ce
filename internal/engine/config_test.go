package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/store"
)

func TestNewNamesEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := engine.New(engine.Config{
		Lease: time.Millisecond, Poll: -1, RescueInterval: -1,
		Queues: []engine.Queue{{Name: "a b", Workers: 1}, {Name: "q"}, {Name: "q", Workers: 1, Limit: -1, Rate: store.Rate{N: 10}}},
		Kinds:  []engine.Kind{{Name: "", Workers: -1}, {Name: "k", MaxCrashes: 6, Timeout: -1, KillGrace: -1}, {Name: "k", Limit: -1, Rate: store.Rate{Per: 1}}},
	})
	if err == nil {
		t.Fatal("New accepted an invalid configuration, want an error")
	}
	got := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		"a store is required", "a decide function is required", "holder of 0 bytes", "lease 1ms", "rescue every -1ns", "poll every -1ns",
		`queue "a b"`, `queue "q": 0 workers`, `queue "q" is given twice`, `queue "q": limit -1`,
		"kind of 0 bytes", "has no handler", "-1 workers", "crash maximum 6", "time limit -1ns", "kill grace -1ns",
		`kind "k" is given twice`, `kind "k": limit -1`,
		`queue "q": rate 10 per 0s: both must be positive`, `kind "k": rate 0 per 1ns: both must be positive`,
	} {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("want an error that contains %q, got:\n%s", want, err)
		}
	}
}
