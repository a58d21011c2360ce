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

// ChecksVar is the name of the environment variable with the number of checks of a Differential.
// The variable is used if Match.Checks is 0.
const ChecksVar = "REDRIVE_DIFFERENTIAL_CHECKS"

const checksDefault = 200

// Match says which stores a Differential compares, and which differences it allows.
type Match struct {
	// Exact holds the stores whose dumps must be equal in everything, including the numbers of
	// commits. The first of them is the reference.
	Exact map[string]Open
	// Own holds the stores that may number commits differently and with gaps. They may also
	// commit the outcomes and the claims of an exchange separately, in any order, and the end of a
	// batch after that of its last member. All other data must be equal. Batches have no callbacks
	// then, because such a store may give their jobs other ids.
	Own map[string]Open
	// Checks is the number of random sequences. If it is 0, the number in the environment
	// variable ChecksVar is used, or else Default.
	Checks, Default int
}

// A run that has not covered everything yet makes more checks, each time a part of the wanted number, and
// at most this many times.
const (
	more = 12
	part = 4 // so together at most four times the wanted number
)

// Differential runs the same random operations on all the stores. After each operation the answers
// must be equal; errors are compared by their sentinel error. The dumps and the numbers of events
// must also be equal, except as Match allows. One check is one random sequence on new, empty
// stores. The run fails unless every operation has succeeded at least once and every legal
// transition of a job has happened. With -short, rapid runs fewer checks, and missing operations
// are not a failure.
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
		rounds = 0 // with a fixed seed, a second run would draw the same sequences
	}
	for round := 0; round == 0 || round <= rounds && len(seen.missing()) > 0 && !testing.Short() && !t.Failed(); round++ {
		var unseen []string
		if round > 0 {
			unseen = seen.unseen()
		}
		if round == 1 {
			setFlag(t, "rapid.checks", strconv.Itoa(max(1, m.Checks/part)))
		}
		rapid.Check(t, func(rt *rapid.T) {
			d := newDuel(rt, seen, func(clock *Clock) []contender { return m.open(t, clock) })
			defer d.close()
			rt.Repeat(d.operations(unseen))
			d.finish()
		})
	}
	t.Log(seen)
	if testing.Short() {
		return // with -short, there are too few checks to cover everything
	}
	for _, missing := range seen.missing() {
		t.Errorf("the differential run never saw %s, want every operation and transition at least once", missing)
	}
}

// open opens all the stores. The exact stores come first.
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
		t.Fatalf("environment variable %s is %q, want a whole number above zero", ChecksVar, text)
	}
	return n
}

// ours are the flags that a test has set, and not the command line.
var ours = map[string]bool{}

// setFlag sets a flag until the end of the test. It does nothing if the command line has
// set the flag.
func setFlag(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	before := f.Value.String()
	if before != f.DefValue && !ours[name] {
		return
	}
	ours[name] = true
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Value.Set(before); err != nil {
			t.Error(err)
		}
		ours[name] = before != f.DefValue
	})
}

// coverage counts the operations and transitions that a run has seen in all its checks.
type coverage struct {
	ops   map[string]int // number of times that each operation succeeded
	edges map[job.Transition]int
}

func newCoverage() *coverage {
	return &coverage{ops: map[string]int{}, edges: map[job.Transition]int{}}
}

// missing returns the operations and transitions that a run has not seen but must see.
func (c *coverage) missing() []string {
	var missing []string
	for _, op := range c.unseen() {
		missing = append(missing, "the operation "+op+" succeed")
	}
	for _, edge := range job.Transitions {
		if c.edges[edge] == 0 {
			missing = append(missing, fmt.Sprintf("a job go from %s to %s by %s", edge.From, edge.To, edge.Cause))
		}
	}
	return missing
}

// unseen returns the operations that have not succeeded yet.
func (c *coverage) unseen() []string {
	return slices.DeleteFunc(append(operationNames(), batchOperationNames()...), func(op string) bool { return c.ops[op] > 0 })
}

// String returns one line for each operation and transition, with its count.
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

// contender is one of the stores that a differential run compares.
type contender struct {
	name string
	store.Store
	numbers *numbers // not nil for a store that may number its commits differently
}
