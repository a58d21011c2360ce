//go:build linux

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/plan"
)

// command is the redrive command as the tested program. Its worker starts one process for each job,
// and its client is one call of the command.
type command struct {
	files
	redrive, job string
	away         sync.Mutex // held while the programs or the free space are taken from all workers
}

func newCommand(tt *torture) *command {
	c := &command{redrive: filepath.Join(tt.dir, "redrive"), job: filepath.Join(tt.dir, "job")}
	tt.build(c.redrive, "../../cmd/redrive")
	tt.build(c.job, "./command")
	return c
}

// lease is the shortest lease that a configuration may have.
func (*command) lease() time.Duration { return 3 * time.Second }

// slots is the number in the configuration.
func (*command) slots() int { return 8 }

// holder compares the name that a worker gives itself: its host, its process id and a random part.
func (*command) holder(p *process, name string) bool {
	parts := strings.Split(name, "-")
	return p.cmd.Process != nil && len(parts) > 2 && parts[len(parts)-2] == strconv.Itoa(p.cmd.Process.Pid)
}

// returned is the exit code of a worker that has handed back unfinished jobs when it was stopped.
const returned = 3

func (*command) exits(code int) bool { return code == 0 || code == returned }

func (*command) ownTables() bool { return false }

// points are the crash points of the command. MidHandler is a point in the programs that the command
// runs for jobs.
func (*command) points() (points []crashpoint.Point) {
	for _, p := range crashpoint.Points {
		if p != crashpoint.MidHandler {
			points = append(points, p)
		}
	}
	return points
}

const configuration = `database: %[1]s
temp_dir: %[2]s
lease: 3s
rescue_interval: 1s
shutdown_grace: 100ms
policy: policy.yaml
queues:
  default: {workers: 8}
kinds:
  work:
    command: [%[3]s, %[4]s]
    permanent_exit_codes: [64]
    retry: {waits: [20ms], max_retries: %[5]d}
  brief:
    command: [%[3]s, %[4]s]
    timeout: 1s
    kill_grace: 50ms
    retry: {waits: [20ms], max_retries: %[6]d}
  toxic:
    command: [%[3]s, %[4]s]
    max_crashes: %[7]d
    retry: {waits: [20ms], max_retries: %[5]d}
`

// policyFile is the policy of the configuration. The words of a job's name, which its program prints,
// must not decide how the job ends.
const policyFile = `version: 1
name: torture
classify:
  exit_codes: [{exit: 1, class: UnknownError}]
`

// config returns the path of the round's configuration, and creates the file at the first call.
func (c *command) config(r *round) (path string, err error) {
	path = filepath.Join(r.dir, "redrive.yaml")
	if size(path) > 0 {
		return path, nil
	}
	text := fmt.Sprintf(configuration, r.database, c.temp(r), c.program(r), c.witness(r),
		plan.Retries, plan.BriefRetries, plan.ToxicCrashes)
	if err := os.WriteFile(c.witness(r), nil, 0o600); err != nil {
		return "", err
	}
	if err := os.Link(c.job, c.program(r)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "policy.yaml"), []byte(policyFile), 0o600); err != nil {
		return "", err
	}
	c.mountTemp(r)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// program returns the path of the program of all jobs of a round.
func (*command) program(r *round) string { return filepath.Join(r.dir, "job") }

// temp returns the base of the temporary directories of runs.
func (*command) temp(r *round) string { return filepath.Join(r.dir, "temp") }

// witness returns the path of the ledger in which the programs of all jobs record their runs.
func (*command) witness(r *round) string { return r.ledger("commands") }

func (c *command) worker(r *round, _ string) (*exec.Cmd, error) { return c.call(r, "work") }

func (c *command) drain(r *round, _ string) (*exec.Cmd, error) {
	return c.call(r, "work", "--until-idle")
}

// call makes a call of the command with the configuration of a round.
func (c *command) call(r *round, name string, args ...string) (*exec.Cmd, error) {
	config, err := c.config(r)
	return exec.Command(c.redrive, append([]string{name, "--config", config}, args...)...), err
}

// jobsPerCall is the largest number of jobs that a client enqueues. It is small enough that the workers keep up.
const jobsPerCall = 12

// client is a call of `redrive enqueue`. The test process keeps the ledger for it: it records each
// job before the call and each receipt when it is printed.
func (c *command) client(r *round, name string, o intake) (*exec.Cmd, error) {
	random := rand.New(rand.NewPCG(o.seed, 1))
	book, err := ledger.Open(r.ledger(name))
	if err != nil {
		return nil, err
	}
	n := o.jobs
	if n == 0 {
		n = 1 + random.IntN(jobsPerCall)
	}
	receipts := &receipts{round: r, book: book}
	for i := range n {
		l := ledger.Line{Op: ledger.Submit, At: time.Now().UnixMicro(), Name: fmt.Sprintf("%s-%d", name, i),
			Plan: plan.Pick(random.IntN(100)), Pad: random.IntN(2) * random.IntN(2<<10)}
		if random.IntN(8) == 0 {
			l.Pad = random.IntN(plan.PadMax)
		}
		if i < o.poison {
			l.Plan = plan.Poison
		}
		if l.Plan == plan.Hasty {
			l.Deadline = time.Now().Add(plan.DeadlineMin + time.Duration(random.Int64N(int64(plan.DeadlineMax-plan.DeadlineMin)))).UnixMicro()
		}
		l.Digest = check.Digest(plan.Payload(l.Name, l.Plan, l.Pad))
		if random.IntN(2) == 0 {
			l.Key = "key of " + l.Name
		}
		receipts.lines = append(receipts.lines, l)
	}
	receipts.lines = append(receipts.lines, r.takeUnanswered()...)
	if err := book.Note(receipts.lines...); err != nil {
		return nil, err
	}
	cmd, err := c.call(r, "enqueue", "--json", "--file", "-")
	if err != nil {
		return nil, err
	}
	if cmd.Stdin, err = receipts.input(); err != nil {
		return nil, err
	}
	cmd.Stdout = receipts
	receipts.ask()
	return cmd, nil
}

// receipts reads the answers of a call.
type receipts struct {
	*round
	book  *ledger.Book
	lines []ledger.Line
	rest  []byte
}

// input returns the standard input of the call.
func (rs *receipts) input() (io.Reader, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range rs.lines {
		l := &rs.lines[i]
		err := enc.Encode(struct {
			Kind        string          `json:"kind"`
			Key         string          `json:"key,omitempty"`
			Correlation string          `json:"correlation"`
			Payload     json.RawMessage `json:"payload"`
			Deadline    string          `json:"deadline,omitempty"`
		}{l.Plan.Kind(), l.Key, l.Name, plan.Payload(l.Name, l.Plan, l.Pad), deadline(l)})
		if err != nil {
			return nil, err
		}
	}
	return &b, nil
}

// deadline returns the deadline of a submission as a file of jobs has it.
func deadline(l *ledger.Line) string {
	if l.Deadline == 0 {
		return ""
	}
	return time.UnixMicro(l.Deadline).UTC().Format(time.RFC3339Nano)
}

// Write reads the output of the call.
func (rs *receipts) Write(b []byte) (int, error) {
	rs.rest = append(rs.rest, b...)
	for {
		text, rest, ok := bytes.Cut(rs.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		rs.rest = rest
		if err := rs.receipt(text); err != nil {
			rs.Errorf("a call printed the receipt %s, which cannot be used: %v", text, err)
		}
	}
}

func (rs *receipts) receipt(text []byte) error {
	var receipt struct {
		Line     int    `json:"line"`
		ID       job.ID `json:"id"`
		Existing bool   `json:"existing"`
	}
	if err := json.Unmarshal(text, &receipt); err != nil {
		return err
	}
	if receipt.Line < 1 || receipt.Line > len(rs.lines) {
		return fmt.Errorf("the receipt is for line %d of the input, but the input has %d lines", receipt.Line, len(rs.lines))
	}
	l := rs.lines[receipt.Line-1]
	rs.answered(l.Name)
	l.Op, l.At, l.ID, l.Existing = ledger.Taken, time.Now().UnixMicro(), receipt.ID, receipt.Existing
	return rs.book.Note(l)
}

// ask records that these submissions have a key and no answer yet.
func (rs *receipts) ask() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, l := range rs.lines {
		if l.Key != "" {
			rs.unanswered[l.Name] = l
		}
	}
}

func (r *round) answered(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unanswered, name)
}

// takeUnanswered returns the submissions with a key whose call has ended without an answer, to
// enqueue them again.
func (r *round) takeUnanswered() (lines []ledger.Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, l := range r.unanswered {
		lines = append(lines, l)
		delete(r.unanswered, name)
	}
	return lines
}

// finish waits for commands whose workers were killed, counts the last chances that had a process of
// their own, and runs `redrive doctor`.
func (c *command) finish(r *round) error {
	for _, p := range r.processes {
		log, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		for range bytes.Count(log, []byte("the last chance of a job runs in a process of its own")) {
			r.faulted("last chance in a process of its own")
		}
	}
	f, err := os.Open(c.witness(r))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { // a command holds the lock only for a limited time
		return err
	}
	doctor := exec.Command(c.redrive, "doctor", "--json", "--db", r.database)
	if out, err := doctor.CombinedOutput(); err != nil && doctor.ProcessState.ExitCode() != wire.Warned.ExitCode() {
		r.Errorf("round %d: redrive doctor failed: %v\n%s", r.n, err, out)
	}
	return nil
}

func (c *command) workerFaults() []fault {
	return []fault{
		crashAt(crashpoint.BeforeClaimCommit, 3, 0),
		crashAt(crashpoint.AfterClaimCommit, 3, 0),
		crashAt(crashpoint.HandlerStart, 10, 0),
		crashAt(crashpoint.BeforeSettleCommit, 3, 0),
		crashAt(crashpoint.AfterSettleCommit, 3, 0),
		crashAt(crashpoint.InCommit, 10, time.Millisecond),
		kill(), standStill(), goodbye(), noFiles(), c.noPrograms(), c.noSpace(),
	}
}

func (*command) clientFaults() []fault {
	return []fault{
		crashAt(crashpoint.BeforeEnqueueCommit, 1, 0),
		crashAt(crashpoint.AfterEnqueueCommit, 1, 0),
		crashAt(crashpoint.InCommit, 2, time.Millisecond),
		untouched(), untouched(), untouched(),
	}
}
