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

// patience is how long nothing may happen; it only ends what would never end.
const patience = 2 * time.Minute

// program is the worker, built once.
var program struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := pgtest.Stopping(m).Run()
	if program.dir != "" {
		_ = os.RemoveAll(program.dir) // a temporary directory
	}
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "redrive-processes-"); program.err != nil { //nolint:usetesting // all tests share it
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

// fleet is some processes on one schema, and the test beside them.
type fleet struct {
	*testing.T
	dsn, schema string
	store       *postgres.Store
	client      *redrive.Client

	mu    sync.Mutex
	lines []line.Line
	news  chan struct{} // closed with the next line
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dsn, schema := pgtest.Schema(t)
	return fleetAt(t, dsn, schema)
}

func fleetAt(t *testing.T, dsn, schema string) *fleet {
	t.Helper()
	f := &fleet{T: t, dsn: dsn, schema: schema, news: make(chan struct{})}
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

// process is one of the fleet.
type process struct {
	*fleet
	name  string
	cmd   *exec.Cmd
	log   string
	input io.WriteCloser
	ended chan struct{}
}

// start starts a process, which is killed at the end of the test.
func (f *fleet) start(name string, args ...string) *process {
	f.Helper()
	args = append([]string{"-database", f.dsn + "#" + f.schema, "-name", name}, args...)
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
		_ = p.cmd.Wait() // how it ended is read from its state
		close(p.ended)
	}()
	f.Cleanup(func() {
		p.kill()
		if f.Failed() {
			f.Logf("%s said:\n%s", name, p.said())
		}
	})
	return p
}

// up starts processes and waits until they work.
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
			p.Errorf("%s said %q: %v", p.name, in.Text(), err)
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
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4<<10):])
}

// all returns what was said until now, and what is closed with the next line.
func (f *fleet) all() ([]line.Line, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clip(f.lines), f.news
}

// await waits until what was said has something in it, and returns it.
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
			f.Fatalf("waited %s until %s", patience, what)
		}
	}
}

// stored waits until what is stored has something in it. Nobody tells of that, so
// it looks.
func (f *fleet) stored(what string, holds func() bool) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			f.Fatalf("waited %s until %s", patience, what)
		case <-look.C:
		}
	}
}

// counts returns how many jobs there are by state.
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

// enqueue brings jobs of a kind.
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

// busy keeps jobs waiting until what was said has something in it, and returns how many
// it has brought: however slow one process is, the others do not run out of work.
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

// count counts the lines of something, of one process or, with "", of all.
func count(lines []line.Line, op, from string) (n int) {
	for i := range lines {
		if lines[i].Op == op && (from == "" || lines[i].From == from) {
			n++
		}
	}
	return n
}

// since returns the time from an instant to a line.
func since(at time.Time, l *line.Line) time.Duration {
	return time.Duration(l.At-at.UnixMicro()) * time.Microsecond
}
