//go:build linux

package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/tests/processes/line"
)

// patience is the time limit of a wait. It is so long that only a wait that would never end reaches
// it.
const patience = 2 * time.Minute

// program is the worker program, which is built once.
var program struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if where := os.Getenv(endsEnv); where != "" {
		if err := endMembers(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := pgtest.Stopping(m).Run()
	if program.dir != "" {
		_ = os.RemoveAll(program.dir) // remove the temporary directory
	}
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "redrive-processes-"); program.err != nil { //nolint:usetesting // all tests share the directory
			return
		}
		out, err := exec.Command("go", "build", "-o", program.dir+"/", "./worker").CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, "worker")
}

// fleet is a group of processes on one database, together with the test that started them.
type fleet struct {
	*testing.T
	database string // the name of the database that package place opens

	// The following fields are only set for fleets on PostgreSQL.
	dsn, schema string
	store       *postgres.Store
	client      *redrive.Client

	mu    sync.Mutex
	lines []line.Line
	news  chan struct{} // a channel that is closed when the next line arrives
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this test starts processes")
	}
	dsn, schema := pgtest.Schema(t)
	return fleetAt(t, dsn, schema)
}

func fleetAt(t *testing.T, dsn, schema string) *fleet {
	t.Helper()
	f := &fleet{T: t, database: dsn + "#" + schema, dsn: dsn, schema: schema, news: make(chan struct{})}
	var err error
	if f.store, err = postgres.Open(t.Context(), f.dsn, &postgres.Options{Schema: f.schema, ReadLimit: patience}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if f.client, err = redrive.New(f.store, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Declare(t.Context(), []string{redrive.DefaultQueue}); err != nil {
		t.Fatal(err)
	}
	return f
}

// process is one process of the fleet.
type process struct {
	*fleet
	name  string
	cmd   *exec.Cmd
	log   string
	input io.WriteCloser
	ended chan struct{}
}

// start starts a process that is killed at the end of the test.
func (f *fleet) start(name string, args ...string) *process {
	f.Helper()
	args = append([]string{"-database", f.database, "-name", name}, args...)
	p := &process{fleet: f, name: name, cmd: exec.Command(built(f.T), args...),
		log: filepath.Join(f.TempDir(), name+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		f.Fatal(err)
	}
	defer log.Close()
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		f.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		f.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		p.read(out)
		_ = p.cmd.Wait() // no error check: the state of the process says how it ended
		close(p.ended)
	}()
	f.Cleanup(func() {
		p.kill()
		if f.Failed() {
			f.Logf("log of %s:\n%s", name, p.said())
		}
	})
	return p
}

// up starts n processes and waits until they work.
func (f *fleet) up(n int, args ...string) []*process {
	f.Helper()
	processes := make([]*process, n)
	for i := range processes {
		processes[i] = f.start(fmt.Sprintf("process-%d", i+1), args...)
	}
	for _, p := range processes {
		p.isUp()
	}
	return processes
}

func (p *process) isUp() {
	p.Helper()
	p.await(p.name+" works", func(lines []line.Line) bool { return count(lines, line.Up, p.name) > 0 })
}

func (p *process) read(out io.Reader) {
	for in := bufio.NewScanner(out); in.Scan(); {
		var l line.Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			p.Errorf("process %s printed %q, which is not a line in JSON: %v", p.name, in.Text(), err)
			continue
		}
		l.From = p.name
		p.mu.Lock()
		p.lines = append(p.lines, l)
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // no error check: the process may have ended already
	<-p.ended
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4<<10):])
}

// all returns the lines so far, and a channel that is closed when the next line arrives.
func (f *fleet) all() ([]line.Line, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.lines), f.news
}

// await waits until the condition holds for the lines so far, and returns them.
func (f *fleet) await(what string, holds func([]line.Line) bool) []line.Line {
	f.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		lines, news := f.all()
		if holds(lines) {
			return lines
		}
		select {
		case <-news:
		case <-limit.C:
			f.Fatalf("after %s the test is still waiting for this condition: %s", patience, what)
		}
	}
}

// stored waits until the condition holds for the data in the database, which it reads again and
// again.
func (f *fleet) stored(what string, holds func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			f.Fatalf("after %s the test is still waiting for this condition: %s", patience, what)
		case <-look.C:
		}
	}
}

// counts returns the number of jobs by state.
func (f *fleet) counts() map[job.State]int64 {
	f.Helper()
	counts, err := f.store.Counts(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	by := make(map[job.State]int64)
	for _, c := range counts {
		by[c.State] += c.N
	}
	return by
}

// enqueue enqueues n jobs of a kind.
func (f *fleet) enqueue(kind string, n int) {
	f.Helper()
	for n > 0 {
		specs := make([]redrive.Spec, min(n, job.EnqueueMax))
		for i := range specs {
			specs[i] = redrive.NewRaw(kind, nil, nil)
		}
		if _, err := f.client.EnqueueMany(f.Context(), specs); err != nil {
			f.Fatal(err)
		}
		n -= len(specs)
	}
}

// busy enqueues jobs until the condition holds for the lines so far, and returns their number. It
// keeps enough jobs waiting for all processes, however slow one of them is.
func (f *fleet) busy(kind, what string, holds func([]line.Line) bool) (brought int) {
	f.Helper()
	const some = 300
	f.stored(what, func() bool {
		if f.counts()[job.Waiting] < some {
			f.enqueue(kind, some)
			brought += some
		}
		lines, _ := f.all()
		return holds(lines)
	})
	return brought
}

// count counts the lines with the operation of one process, or of all processes if its name is "".
func count(lines []line.Line, op, from string) (n int) {
	for i := range lines {
		if lines[i].Op == op && (from == "" || lines[i].From == from) {
			n++
		}
	}
	return n
}

// since returns how long after a time a process reported the event in l.
func since(at time.Time, l *line.Line) time.Duration {
	return time.Duration(l.At-at.UnixMicro()) * time.Microsecond
}
