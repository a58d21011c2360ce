//go:build unix

// Command command is the program that a command kind of the torture test runs. It does what the
// job's plan says and records it in its own ledger, because the worker that started it may be
// killed while it runs.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/plan"
)

func main() {
	if len(os.Args) > 2 { // a child of the program
		time.Sleep(hangs)
		return
	}
	code, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run does one job and returns the exit code.
func run(path string) (code int, err error) {
	lock, err := os.Open(path) //nolint:gosec // the test that starts this program names the file
	if err == nil {
		// The process holds this lock until it ends. The check at the end of a round waits for the
		// lock.
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return 1, fmt.Errorf("ledger: %w", err)
	}
	book, err := ledger.Open(path)
	if err != nil {
		return 1, err
	}
	payload, err := readSlowly(os.Stdin)
	if err != nil {
		return 1, err
	}
	j, err := parse(payload)
	if err != nil {
		return plan.ExitBad, err
	}
	line := ledger.Line{Op: ledger.Begin, At: time.Now().UnixMicro(), Holder: "command", ID: j.id, Life: j.life, Token: j.token,
		Digest: check.Digest(payload)}
	if err := book.Note(line); err != nil {
		return 1, err
	}
	code, err = j.do()
	end := ledger.Line{Op: ledger.Finish, At: time.Now().UnixMicro(), ID: j.id, Token: j.token}
	if err != nil {
		end.Error = err.Error()
	} else {
		result := fmt.Sprintf("run %d of job %d", j.token, j.id)
		end.Result = check.Digest(strconv.AppendQuote(nil, result)) // the digest is of the JSON form, because a text result is stored as JSON
		fmt.Println(result)
	}
	if nerr := book.Note(end); nerr != nil {
		return 1, nerr
	}
	return code, err
}

// readSlowly reads the payload. Every second program takes its time, up to 200 ms: its worker may be
// killed meanwhile.
func readSlowly(in io.Reader) ([]byte, error) {
	pause := time.Duration(0)
	if os.Getpid()%2 == 0 {
		pause = 10 * time.Millisecond
	}
	var payload []byte
	for part := make([]byte, plan.PadMax/20); ; {
		time.Sleep(pause)
		n, err := in.Read(part)
		payload = append(payload, part[:n]...)
		if errors.Is(err, io.EOF) {
			return payload, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// execution is the run of a job that this process performs: the arguments in the payload, and
// what the environment variables say about the job.
type execution struct {
	plan.Args
	id      job.ID
	life    int32
	token   job.Token
	attempt int
}

func parse(payload []byte) (*execution, error) {
	r := &execution{}
	if err := json.Unmarshal(payload, &r.Args); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	var numbers [4]int64
	for i, name := range []string{"REDRIVE_JOB_ID", "REDRIVE_LIFE", "REDRIVE_RUN", "REDRIVE_ATTEMPT"} {
		n, err := strconv.ParseInt(os.Getenv(name), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		numbers[i] = n
	}
	r.id, r.life, r.token, r.attempt = job.ID(numbers[0]), int32(numbers[1]), job.Token(numbers[2]), int(numbers[3])
	return r, nil
}

// leaveChild starts a process that lives for some seconds, unless it is killed with the worker or at the
// end of the run. While the file of the program is moved away, no process is started.
func leaveChild() {
	if program, err := os.Executable(); err == nil {
		_ = exec.CommandContext(context.Background(), program, "of the program", "child").Start() // no error check: see above
	}
}

// killWorker kills the worker that started this process. If the worker is dead already, the parent
// is an unrelated process, which must not be killed.
func killWorker(parent int) error {
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent))
	if err != nil || filepath.Base(program) != "redrive" {
		return fmt.Errorf("the parent process %d is not the worker: the worker has already died", parent)
	}
	return syscall.Kill(parent, syscall.SIGKILL)
}

// hangs is the longest duration of a run that waits for its time limit. It only matters if the
// worker was killed.
const hangs = 3 * time.Second

func (r *execution) do() (code int, err error) {
	broken := plan.Broken(int64(r.token), r.Name)
	switch {
	case r.Plan == plan.Slow:
		leaveChild()
		time.Sleep(time.Duration(100+int64(r.id)*37%400) * time.Millisecond)
	case r.attempt == 1 && (r.Plan == plan.Flaky || r.Plan == plan.Panics), r.Plan == plan.Fails:
		return 1, broken
	case r.Plan == plan.Bad:
		return plan.ExitBad, broken
	case r.Plan == plan.Hangs:
		time.Sleep(hangs)
		return 1, broken
	case r.Plan == plan.Poison:
		return 1, killWorker(os.Getppid())
	}
	return 0, nil
}
