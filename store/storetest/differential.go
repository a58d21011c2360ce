package storetest

import (
	"cmp"
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

// Match says which stores a Differential compares.
type Match struct {
	// Exact are stores whose dumps are equal to the last number.
	Exact map[string]Open
	// Own are stores that number commits in their own way, with gaps, and may
	// commit the two halves of an exchange apart, in any order. All else is equal.
	Own map[string]Open
	// Checks is the number of sequences; 0 takes it from ChecksVar, or Default.
	Checks, Default int
}

// more is how many times as many checks are made to see what was not seen yet.
const more = 4

// Differential drives the same random operations on all the stores. After each
// one the answers must be equal (errors by their sentinel) and so must the
// dumps, event numbers included, but see Match. A check is one sequence on fresh
// stores. The run goes on, and fails in the end, when it has not seen every
// operation succeed and every legal transition, except under -short, where rapid
// cuts the number of checks.
//
// It sets the flags of package rapid, so it must not run in parallel with
// another test that uses them.
func Differential(t *testing.T, m Match) {
	if m.Checks == 0 {
		m.Checks = checksOf(t, os.Getenv(ChecksVar), m.Default)
	}
	setFlag(t, "rapid.checks", strconv.Itoa(m.Checks))
	setFlag(t, "rapid.steps", "40")
	seen, rounds := newCoverage(), more
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() != seed.DefValue {
		rounds = 1 // the others would be the same
	}
	for round := 0; round == 0 || round < rounds && len(seen.missing()) > 0 && !testing.Short() && !t.Failed(); round++ {
		rapid.Check(t, func(rt *rapid.T) {
			d := newDuel(rt, seen, func(clock *Clock) []contender { return m.open(t, clock) })
			defer d.close()
			rt.Repeat(d.operations())
			d.finish()
		})
	}
	t.Log(seen)
	if testing.Short() {
		return // rapid has made fewer checks than were asked for
	}
	for _, missing := range seen.missing() {
		t.Errorf("the run never saw %s: it proves too little", missing)
	}
}

// open opens a store of each, the exact ones first.
func (m *Match) open(t *testing.T, clock *Clock) (stores []contender) {
	for _, name := range slices.Sorted(maps.Keys(m.Exact)) {
		stores = append(stores, contender{name: name, Store: m.Exact[name](t, clock.Now)})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Own)) {
		stores = append(stores, contender{name: name, Store: m.Own[name](t, clock.Now), numbers: newNumbers()})
	}
	return stores
}

func checksOf(t *testing.T, text string, otherwise int) int {
	if text == "" {
		return cmp.Or(otherwise, checksDefault)
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
	numbers *numbers // of a store that numbers commits in its own way
}
