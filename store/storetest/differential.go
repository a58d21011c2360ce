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

// ChecksVar is the environment variable with the number of checks of a Differential whose Match has
// none.
const ChecksVar = "REDRIVE_DIFFERENTIAL_CHECKS"

const checksDefault = 200

// Match says which stores a Differential compares.
type Match struct {
	// Exact has the stores whose dumps must be equal in everything, commit numbers included.
	Exact map[string]Open
	// Own has the stores that may number commits differently, with gaps, and may commit the two
	// halves of an exchange separately, in any order. Everything else must be equal.
	Own map[string]Open
	// Checks is the number of random sequences. 0 means the number in ChecksVar, or Default without
	// it.
	Checks, Default int
}

// more limits the extra checks: up to this many times the wanted number are run to cover what was
// not seen.
const more = 4

// Differential runs the same random operations on all the stores. After each operation the answers
// must be equal (errors by their sentinel), and so must the dumps, event numbers included, except
// as Match allows. A check is one random sequence on new, empty stores. The run fails if it has not
// seen every operation succeed and every legal transition, except with -short, where rapid runs
// fewer checks.
//
// It sets the flags of package rapid, so it must not run in parallel with another test that uses
// them.
func Differential(t *testing.T, m Match) {
	if m.Checks == 0 {
		m.Checks = checksOf(t, os.Getenv(ChecksVar), m.Default)
	}
	setFlag(t, "rapid.checks", strconv.Itoa(m.Checks))
	setFlag(t, "rapid.steps", "40")
	seen, rounds := newCoverage(), more
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() != seed.DefValue {
		rounds = 1 // a second round would draw the same sequences
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
		return // -short: rapid has run fewer checks than were asked for
	}
	for _, missing := range seen.missing() {
		t.Errorf("the differential run covered too little: it never saw %s", missing)
	}
}

// open opens every store, the exact ones first.
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
		t.Fatalf("%s=%q, want a whole number above zero", ChecksVar, text)
	}
	return n
}

// setFlag sets a flag until the end of the test, unless the command line has set it.
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

// coverage counts the operations and transitions of a run, over all its checks.
type coverage struct {
	ops   map[string]int // how often each operation succeeded
	edges map[job.Transition]int
}

func newCoverage() *coverage {
	return &coverage{ops: map[string]int{}, edges: map[job.Transition]int{}}
}

// missing returns the operations and transitions that a run should have seen and has not.
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

// String has one line per operation and transition, with its count.
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
	numbers *numbers // of a store that numbers commits differently
}
