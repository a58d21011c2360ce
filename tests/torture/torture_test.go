//go:build linux

package torture

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
)

var (
	cyclesFlag = flag.Int("torture.cycles", fullCycles, "cycles of faults")
	serverFlag = flag.Int("torture.postgres", 6, "cycles of faults on PostgreSQL")
	forFlag    = flag.Duration("torture.for", 0, "minimum time of faults of each test of the library; the cycles go on until it is over")
	seedFlag   = flag.Uint64("torture.seed", 0, "seed of the faults; 0 takes one from the clock")
	dirFlag    = flag.String("torture.dir", "", "directory of the databases and ledgers; default: a temporary directory")
)

// The minimum of work. A run that does less fails.
const (
	cyclesPerRound = 3
	ackedPerCycle  = 100
	// hitsWanted is how often each crash point must be hit in a run of fullCycles or more.
	hitsWanted = 3
	fullCycles = 9
	// extraRounds is how many more rounds a run may take to reach the minimum, because the hits
	// depend on chance and are rarer on a busy machine.
	extraRounds = 3
)

// torture is one run of the test.
type torture struct {
	*testing.T
	program program
	dir     string
	seed    uint64

	settling sync.WaitGroup // the previous round, which is settled and checked in the background

	mu        sync.Mutex // mu guards the fields below
	summary   summary
	workerBag *bag
	clientBag *bag
}

// program is the tested program together with the kind of its databases.
type program interface {
	site
	lease() time.Duration
	slots() int                          // the number of jobs that a worker runs at the same time
	holder(p *process, name string) bool // whether a run's holder of this name is the process
	worker(r *round, name string) (*exec.Cmd, error)
	drain(r *round, name string) (*exec.Cmd, error) // a worker that ends when no job is left
	client(r *round, name string, o intake) (*exec.Cmd, error)
	exits(code int) bool        // whether a process may end with the exit code
	ownTables() bool            // whether the program has its own tables in addition to the jobs
	points() []crashpoint.Point // the crash points that processes of the program reach
	clientFaults() []fault      // the faults of clients
	finish(r *round) error      // a function that is called before the check of a round
}

// intake describes the jobs that a client enqueues.
type intake struct {
	jobs   int // exact number of jobs; 0 means that the client decides
	poison int // number of jobs that kill their worker
	seed   uint64
}

// summary counts what a run of the test has done. The test prints the summary at its end.
type summary struct {
	Cycles int    `json:"cycles"`
	Rounds int    `json:"rounds"`
	Seed   uint64 `json:"seed"`
	check.Numbers
	LostRunWrites int            `json:"lost_run_writes"` // the number of late writes at the ends of rounds that the store refused
	Effects       int            `json:"effects"`         // the number of rows that handlers wrote in the transactions that ended their jobs
	Kills         map[string]int `json:"kills"`           // numbers of kills by crash point or signal
	Faults        map[string]int `json:"faults"`          // numbers of the faults that do not kill a process
	Seconds       float64        `json:"seconds"`
}

// proves: Q3, Q4, Q8, Q9, F1, I1
func TestQ3_Q4_I1_TortureOfTheLibrary(t *testing.T) {
	t.Parallel()
	tt := newTorture(t)
	tt.run(*cyclesFlag, newLibrary(tt, files{}))
}

// proves: Q3, Q4, Q8, Q9, F1, I1
func TestQ3_Q4_I1_TortureOfTheLibraryOnPostgres(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	tt := newTorture(t)
	tt.run(*serverFlag, newLibrary(tt, newPostgresSite(tt)))
}

// commandShare is the divisor for the number of cycles of the command. The command is slower than
// the library: its leases are at least three seconds long, and each job is a process.
const commandShare = 8

// proves: Q3, Q4, Q8, Q9, I1
func TestQ3_Q4_I1_TortureOfTheCommand(t *testing.T) {
	t.Parallel()
	tt := newTorture(t)
	tt.run(max(1, *cyclesFlag/commandShare), newCommand(tt))
}

func newTorture(t *testing.T) *torture {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this test kills processes for about a minute")
	}
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	base := *dirFlag
	if base == "" {
		base = os.TempDir()
	}
	//nolint:usetesting // what a failed run leaves must stay
	dir, err := os.MkdirTemp(base, fmt.Sprintf("redrive-torture-%d-", seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d, files in %s", seed, dir)
	tt := &torture{T: t, dir: dir, seed: seed}
	tt.summary = summary{Seed: seed, Kills: make(map[string]int), Faults: make(map[string]int)}
	return tt
}

// run tortures a program for the given number of cycles.
func (tt *torture) run(cycles int, p program) {
	tt.program = p
	defer tt.settling.Wait() // wait for the check of the previous round even when a round cannot begin
	tt.workerBag, tt.clientBag = newBag(tt.seed, p.workerFaults()...), newBag(tt.seed+1, p.clientFaults()...)
	begun := time.Now()
	for done := 0; (done < cycles || p.ownTables() && time.Since(begun) < *forFlag) && !tt.Failed(); done += cyclesPerRound {
		left := cycles - done
		if left < 1 {
			left = cyclesPerRound
		}
		tt.round(min(cyclesPerRound, left))
	}
	tt.settling.Wait()
	for extra := 0; len(tt.missing(cycles)) > 0 && extra < extraRounds && !tt.Failed(); extra++ {
		tt.Logf("another round, because so far %s", strings.Join(tt.missing(cycles), "; "))
		tt.round(min(cyclesPerRound, cycles))
		tt.settling.Wait()
	}
	tt.summary.Seconds = time.Since(begun).Round(time.Second / 10).Seconds()
	for _, less := range tt.missing(cycles) {
		tt.Error(less)
	}
	line, err := json.Marshal(tt.summary)
	if err != nil {
		tt.Fatal(err)
	}
	tt.Logf("torture: %s", line)
	tt.Log(tt.summary.text())
	if tt.Failed() {
		tt.Logf("kept: %s", tt.dir)
		tt.Logf("repeat: go test ./tests/torture -run '^%s$' -torture.cycles %d -torture.postgres %d -torture.seed %d -timeout 60m -v",
			tt.Name(), *cyclesFlag, *serverFlag, tt.seed)
		return
	}
	if err := os.RemoveAll(tt.dir); err != nil {
		tt.Error(err)
	}
}

// programs are the programs with crash points, each of which is built once.
var programs struct {
	mu    sync.Mutex
	dir   string
	built map[string]string // the file of a package
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir) // remove the temporary directory
	}
	os.Exit(code)
}

// build compiles a program with crash points, unless another test has done so.
func (tt *torture) build(into, pkg string) {
	tt.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "redrive-torture-programs-")
		if err != nil {
			tt.Fatal(err)
		}
		programs.dir, programs.built = dir, make(map[string]string)
	}
	if programs.built[pkg] == "" {
		file := filepath.Join(programs.dir, fmt.Sprint(len(programs.built)))
		cmd := exec.CommandContext(tt.Context(), "go", "build", "-tags", "crashpoint", "-o", file, pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			tt.Fatalf("run %s: %v\n%s", cmd, err, out)
		}
		programs.built[pkg] = file
	}
	if os.Link(programs.built[pkg], into) == nil {
		return
	}
	text, err := os.ReadFile(programs.built[pkg]) // the directory is on another file system
	if err == nil {
		err = os.WriteFile(into, text, 0o700)
	}
	if err != nil {
		tt.Fatal(err)
	}
}

// random returns a source of random numbers. The arguments number the users of random numbers,
// such as a slot in a cycle, so that each of them gets a separate source.
func (tt *torture) random(place ...int) *rand.Rand {
	mixed := tt.seed
	for _, p := range place {
		mixed = mixed*1_000_003 + uint64(p)
	}
	return rand.New(rand.NewPCG(tt.seed, mixed))
}

// count changes the summary.
func (tt *torture) count(change func(*summary)) {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	change(&tt.summary)
}

func (tt *torture) killed(by string) { tt.count(func(s *summary) { s.Kills[by]++ }) }

func (tt *torture) faulted(by string) { tt.count(func(s *summary) { s.Faults[by]++ }) }

// missing returns the minimums that a run with this number of cycles has not reached.
func (tt *torture) missing(cycles int) (less []string) {
	s := &tt.summary
	want := min(hitsWanted, cycles*hitsWanted/fullCycles)
	for _, p := range tt.program.points() {
		if n := s.Kills[string(p)]; n < want {
			less = append(less, fmt.Sprintf("crash point %s was hit %d times, want at least %d", p, n, want))
		}
	}
	if s.DoubleRuns == 0 || s.LostRunWrites == 0 {
		less = append(less, fmt.Sprintf("%d double runs and %d writes for lost runs, too few: no job was running when the faults came",
			s.DoubleRuns, s.LostRunWrites))
	}
	for _, name := range tt.program.wanted() {
		if cycles >= fullCycles && s.Faults[name] == 0 {
			less = append(less, fmt.Sprintf("fault %q did not happen", name))
		}
	}
	if tt.program.ownTables() && cycles >= fullCycles && (s.LateRefused == 0 || s.Effects == 0) {
		less = append(less, fmt.Sprintf("%d late writes of paused processes and %d effects in transactions, want some of each",
			s.LateRefused, s.Effects))
	}
	if tt.program.ownTables() && (s.Outcomes < cycles || s.Notices < cycles) {
		less = append(less, fmt.Sprintf("%d ends of batches and %d notices in %d cycles, want one of each a cycle", s.Outcomes, s.Notices, cycles))
	}
	return less
}

func (s *summary) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cycles in %d rounds, %.0f s\n", s.Cycles, s.Rounds, s.Seconds)
	fmt.Fprintf(&b, "acknowledged %d, executed %d, of these double runs %d, late writes refused %d\n",
		s.Acknowledged, s.Executed, s.DoubleRuns, s.LateRefused)
	fmt.Fprintf(&b, "lost %d, doubled %d; %d ends of batches, %d notices, of these sent again %d\n", s.Lost, s.Doubled, s.Outcomes, s.Notices, s.Repeats)
	for _, of := range []map[string]int{s.Kills, s.Faults} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			fmt.Fprintf(&b, "%7d %s\n", of[name], name)
		}
	}
	return b.String()
}
