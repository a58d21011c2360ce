package selfbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

const (
	takeoverMost    = 15 * time.Second // highest accepted time until the jobs of a killed worker run again, p99
	takeoverWorkers = 8                // number of worker processes at the start
	takeoverKills   = 6                // number of workers that are killed, one after the other
	takeoverJobs    = 40               // number of jobs that begin before each kill; the workers were idle before
	takeoverRun     = 3 * time.Second  // duration of a run
	takeoverIdle    = 1700 * time.Millisecond
	takeoverLimit   = 10 * time.Minute
	takeoverKind    = "hold"
	takeoverEnv     = "REDRIVE_BENCH_TAKEOVER_DSN" // an environment variable, because other users can read arguments
)

// takeoverFigures prints how long the jobs of killed workers wait until they run again, with the
// default settings: on SQLite and, unless the DSN is empty, on PostgreSQL.
func (b *bencher) takeoverFigures(ctx context.Context, p *printer, dsn string) error {
	places := []takeover{{name: "SQLite", path: filepath.Join(b.dir, "takeover.db")}}
	if dsn != "" {
		places = append(places, takeover{name: "PostgreSQL", dsn: dsn})
	}
	for i := range places {
		found, err := places[i].measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", places[i].name, err)
		}
		fmt.Fprintf(b.log, "%s: %d jobs of %d killed workers ran again after %s (median), %s (p99) and %s (longest)\n", places[i].name,
			len(found), takeoverKills, found.at(0.5), found.at(0.99), found[len(found)-1])
		p99 := found.at(0.99)
		err = p.print(Figure{fmt.Sprintf("jobs of a killed worker run again, by defaults, %s, p99", places[i].name),
			fmt.Sprintf("<= %g s", takeoverMost.Seconds()), round(p99.Seconds()), "s", 0, p99 <= takeoverMost})
		if err != nil {
			return err
		}
	}
	return nil
}

// takeover is one measurement. Worker processes run jobs, and some of them are killed.
type takeover struct {
	name, path, dsn string

	workers []*takeoverWorker
	news    chan takeoverRunBegan
}

// takeoverWorker is a worker process. It has begun the runs of the jobs in the map, and has not
// reported their ends.
type takeoverWorker struct {
	cmd     *exec.Cmd
	running map[redrive.JobID]bool
	killed  time.Time     // zero while the process lives
	ended   chan struct{} // closed when all output of the process has been read
}

// takeoverRunBegan is one line of output of a worker.
type takeoverRunBegan struct {
	worker *takeoverWorker
	job    redrive.JobID
	at     time.Time
	end    bool // whether the run has ended; otherwise it has begun
	closed bool // whether this is the end of the output
}

// measure returns how long the killed jobs waited, in ascending order.
func (m *takeover) measure(ctx context.Context) (found latencies, err error) {
	ctx, cancel := context.WithTimeout(ctx, takeoverLimit)
	defer cancel()
	place := (&Soak{DSN: m.dsn, File: m.path}).place("")
	s, err := place.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(), place.remove(context.WithoutCancel(ctx))) }()
	schema := ""
	if made, ok := place.(*soakSchema); ok {
		schema = made.name
	}
	client, err := redrive.New(s, nil)
	if err != nil {
		return nil, err
	}
	m.news = make(chan takeoverRunBegan)
	defer m.end()
	for range takeoverWorkers {
		if err := m.start(ctx, schema); err != nil {
			return nil, err
		}
	}
	return m.observe(ctx, client)
}

// start starts a worker process.
func (m *takeover) start(ctx context.Context, schema string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := &takeoverWorker{running: make(map[redrive.JobID]bool), ended: make(chan struct{})}
	w.cmd = exec.CommandContext(ctx, self, "bench", "child", "takeover", m.path+schema)
	w.cmd.Stderr = os.Stderr
	w.cmd.Env = append(os.Environ(), takeoverEnv+"="+m.dsn)
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	m.workers = append(m.workers, w)
	go func() {
		defer close(w.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var op string
			var id, nanos int64
			if _, err := fmt.Sscan(lines.Text(), &op, &id, &nanos); err != nil {
				continue // the line of a killed process is incomplete
			}
			m.news <- takeoverRunBegan{worker: w, job: redrive.JobID(id), at: time.Unix(0, nanos), end: op == "end"}
		}
		m.news <- takeoverRunBegan{worker: w, closed: true}
	}()
	return nil
}

// end kills all processes and reads the rest of their output.
func (m *takeover) end() {
	for _, w := range m.workers {
		_ = w.cmd.Process.Kill() // no error check: the process may have ended
	}
	for _, w := range m.workers {
		for over := false; !over; {
			select {
			case <-m.news:
			case <-w.ended:
				over = true
			}
		}
		_ = w.cmd.Wait() // no error check: it was killed
	}
}

// observe kills workers, one after the other, and collects how long their jobs waited. Before
// each kill all workers are idle for a while, and then jobs begin: this is the worst case, because
// the other workers have not searched for leases since.
func (m *takeover) observe(ctx context.Context, client *redrive.Client) (found latencies, err error) {
	jobs := make([]redrive.Spec, takeoverJobs)
	for i := range jobs {
		jobs[i] = redrive.NewRaw(takeoverKind, nil, nil)
	}
	for kill := range takeoverKills {
		pause(ctx, time.Duration(kill)*takeoverIdle)
		if _, err := client.EnqueueMany(ctx, jobs); err != nil {
			return nil, err
		}
		r := takeoverRound{m: m}
		for err == nil && (r.begun < takeoverJobs || r.victim != nil && !r.read || len(r.waiting) > 0 || r.running() > 0) {
			if r.begun == takeoverJobs && r.victim == nil {
				err = r.kill()
				continue
			}
			select {
			case e := <-m.news:
				err = r.note(e)
			case <-ctx.Done():
				err = fmt.Errorf("%d jobs of killed workers have not run again: %w", len(r.waiting), ctx.Err())
			}
		}
		if err != nil {
			return nil, err
		}
		found = append(found, r.found...)
	}
	if len(found) == 0 {
		return nil, errors.New("no killed worker had a job")
	}
	slices.Sort(found)
	return found, nil
}

// takeoverRound is the kill of one worker.
type takeoverRound struct {
	m       *takeover
	begun   int // number of jobs that have begun
	victim  *takeoverWorker
	read    bool                   // whether all output of the victim has been read
	waiting map[redrive.JobID]bool // jobs of the victim that have not run again
	found   latencies
}

// running returns the number of runs of the living workers.
func (r *takeoverRound) running() (n int) {
	for _, w := range r.m.workers {
		if w.killed.IsZero() {
			n += len(w.running)
		}
	}
	return n
}

// kill kills the worker that has the most runs.
func (r *takeoverRound) kill() error {
	for _, w := range r.m.workers {
		if w.killed.IsZero() && (r.victim == nil || len(w.running) > len(r.victim.running)) {
			r.victim = w
		}
	}
	r.victim.killed = time.Now()
	return r.victim.cmd.Process.Kill()
}

// note records a line of output.
func (r *takeoverRound) note(e takeoverRunBegan) error {
	switch w := e.worker; {
	case e.closed && w.killed.IsZero():
		return errors.New("a worker process has ended before it was killed")
	case e.closed:
		r.read, r.waiting = true, w.running
	case e.end:
		delete(w.running, e.job)
	default:
		w.running[e.job] = true
		if r.begun++; r.waiting[e.job] {
			r.found = append(r.found, e.at.Sub(r.victim.killed))
			delete(r.waiting, e.job)
		}
	}
	return nil
}

// childTakeover is a worker process. It prints when its runs begin and end. The place is a schema
// if there is a DSN, and a file otherwise.
func childTakeover(ctx context.Context, out io.Writer, place, dsn string) (err error) {
	var s store.Store
	if dsn != "" {
		s, err = postgres.Open(ctx, dsn, &postgres.Options{Schema: place})
	} else {
		s, err = sqlite.Open(ctx, place, nil)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	temp, err := os.MkdirTemp("", "redrive-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	client, err := redrive.New(s, &redrive.Config{TempDir: temp, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	redrive.HandleRaw(client, takeoverKind, func(ctx context.Context, j *redrive.Job[[]byte]) error {
		fmt.Fprintf(out, "begin %d %d\n", j.ID, time.Now().UnixNano())
		pause(ctx, takeoverRun)
		fmt.Fprintf(out, "end %d %d\n", j.ID, time.Now().UnixNano())
		return ctx.Err()
	}, nil)
	return client.Run(ctx)
}
