package storetest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ChecksVar is the environment variable with the number of checks of a
// Differential that names none.
const ChecksVar = "REDRIVE_DIFFERENTIAL_CHECKS"

const checksDefault = 200

// Differential drives the same random operations on all the stores. After each
// one the answers must be equal (errors by their sentinel) and so must the
// dumps, event numbers included. A check is one sequence on fresh stores;
// checks of 0 takes the number from ChecksVar, or 200. The run fails as well
// when it has not seen every operation succeed and every legal transition,
// except under -short, where rapid cuts the number of checks.
//
// It sets the flags of package rapid, so it must not run in parallel with
// another test that uses them.
func Differential(t *testing.T, opens map[string]Open, checks int) {
	if checks == 0 {
		checks = checksOf(t, os.Getenv(ChecksVar))
	}
	setFlag(t, "rapid.checks", strconv.Itoa(checks))
	setFlag(t, "rapid.steps", "60")
	seen := newCoverage()
	rapid.Check(t, func(rt *rapid.T) {
		d := newDuel(rt, seen, func(clock *Clock) []contender {
			var stores []contender
			for _, name := range slices.Sorted(maps.Keys(opens)) {
				stores = append(stores, contender{name, opens[name](t, clock.Now)})
			}
			return stores
		})
		defer d.close()
		rt.Repeat(d.operations())
		d.finish()
	})
	t.Log(seen)
	if testing.Short() {
		return // rapid has made fewer checks than were asked for
	}
	for _, missing := range seen.missing() {
		t.Errorf("the run never saw %s: it proves too little", missing)
	}
}

func checksOf(t *testing.T, text string) int {
	if text == "" {
		return checksDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: must be a whole number above zero", ChecksVar, text)
	}
	return n
}

// setFlag sets a flag until the end of the test, unless the command line did.
func setFlag(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	before := f.Value.String()
	if before != f.DefValue {
		return
	}
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
}

// coverage is what a run has done, over all its checks.
type coverage struct {
	ops   map[string]int // operations that succeeded
	edges map[job.Transition]int
}

func newCoverage() *coverage {
	return &coverage{ops: map[string]int{}, edges: map[job.Transition]int{}}
}

// missing says what a run must have done and has not.
func (c *coverage) missing() []string {
	var missing []string
	for _, op := range operationNames() {
		if c.ops[op] == 0 {
			missing = append(missing, "the operation "+op+" succeed")
		}
	}
	for _, edge := range job.Transitions {
		if c.edges[edge] == 0 {
			missing = append(missing, fmt.Sprintf("a job go from %s to %s by %s", edge.From, edge.To, edge.Cause))
		}
	}
	return missing
}

// String is one line per operation and transition, with its number.
func (c *coverage) String() string {
	var b strings.Builder
	b.WriteString("operations that succeeded, and transitions:")
	for _, op := range slices.Sorted(maps.Keys(c.ops)) {
		fmt.Fprintf(&b, "\n%8d %s", c.ops[op], op)
	}
	for _, edge := range job.Transitions {
		fmt.Fprintf(&b, "\n%8d %s -> %s by %s", c.edges[edge], edge.From, edge.To, edge.Cause)
	}
	return b.String()
}

// contender is one of the stores that are compared.
type contender struct {
	name string
	store.Store
}
