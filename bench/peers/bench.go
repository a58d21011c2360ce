package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/bench/systems"
	"github.com/redrive/redrive/internal/testing/servers"
)

// bench holds what all runs of the comparison use: a directory, the programs of the agents and one
// PostgreSQL server. Each run gets a new database, Redis server or directory.
type bench struct {
	options
	log      io.Writer
	dir      string
	programs map[string][]string // the command line of an agent, by the way of starting the agent
	missing  map[string]string   // for each system that cannot be measured: the reason
	settings map[server]string   // settings that were read from the running servers
	pg       *servers.Postgres
	runs     int
}

func newBench(ctx context.Context, o options, log io.Writer) (_ *bench, err error) {
	b := &bench{
		options: o, log: log, programs: make(map[string][]string),
		missing: make(map[string]string), settings: make(map[server]string),
	}
	if b.dir, err = os.MkdirTemp("", "redrive-peers-"); err != nil {
		return nil, err
	}
	prepared := make(map[string]error) // for each agent program and each server: the error of its preparation, or nil
	for _, s := range b.systems {
		if err := b.prepare(ctx, s, prepared); err != nil {
			b.missing[s.key()] = err.Error()
			fmt.Fprintf(log, "MISSING: %s: %s\n", s.key(), err)
		}
	}
	b.systems = slices.DeleteFunc(b.systems, func(s system) bool { return b.missing[s.key()] != "" })
	return b, context.Cause(ctx)
}

// prepare prepares the agent and the server of a system, each only once, and returns the first
// reason why the system cannot be measured.
func (b *bench) prepare(ctx context.Context, s system, prepared map[string]error) error {
	if err := b.offered(s); err != nil {
		return err
	}
	for _, need := range []struct {
		name string
		make func() error
	}{
		{s.runs, func() error { return b.prepareAgent(ctx, s.runs) }},
		{string(s.server), func() error { return b.prepareServer(ctx, s.server) }},
	} {
		err, known := prepared[need.name]
		if !known {
			err = need.make()
			prepared[need.name] = err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// offered reports an error if this program has no agent for the system.
func (b *bench) offered(s system) error {
	if _, ok := systems.Programs()[s.name]; s.runs == inGo && !ok {
		return errors.New("this program was built without the system")
	}
	return nil
}

// prepareAgent finds or builds the program of an agent.
func (b *bench) prepareAgent(ctx context.Context, runs string) error {
	switch runs {
	case inGo:
		self, err := os.Executable()
		b.programs[inGo] = []string{self, agentArg}
		return err
	case inRiverPG:
		out := filepath.Join(b.dir, "riverpg")
		build := exec.CommandContext(ctx, "go", "build", "-C", b.riverpg, "-o", out, ".")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the agent of River: %w: %s", err, lastLine(text))
		}
		b.programs[inRiverPG] = []string{out}
		return nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return errors.New("node is not installed (on Debian: apt-get install nodejs npm)")
	}
	b.programs[inNode] = []string{node}
	return b.install(ctx)
}

// install installs the packages of the Node programs, unless the packages in the lock file are
// installed already.
func (b *bench) install(ctx context.Context) error {
	lock, err := os.Stat(filepath.Join(b.node, "package-lock.json"))
	if err != nil {
		return err
	}
	done, err := os.Stat(filepath.Join(b.node, "node_modules", ".package-lock.json"))
	if err == nil && !done.ModTime().Before(lock.ModTime()) {
		return nil
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = b.node
	if text, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, lastLine(text))
	}
	return nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// prepareServer starts PostgreSQL, or checks that Redis can be started.
func (b *bench) prepareServer(ctx context.Context, s server) (err error) {
	switch s {
	case noServer:
	case postgres:
		if b.pg, err = servers.StartPostgres(ctx, &servers.PostgresOptions{Settings: postgresSettings()}); err != nil {
			return err
		}
		b.settings[s], err = readPostgres(ctx, b.pg.DSN())
	case redisEverySec, redisAlways:
		r, err := startRedis(ctx, s)
		if err != nil {
			return err
		}
		b.settings[s], err = readRedis(ctx, r.URL())
		return errors.Join(err, r.Close())
	}
	return err
}

func startRedis(ctx context.Context, s server) (*servers.Redis, error) {
	return servers.StartRedis(ctx, &servers.RedisOptions{AlwaysSync: s == redisAlways})
}

func (b *bench) close() error {
	var err error
	if b.pg != nil {
		err = b.pg.Close()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// place is the database, the Redis server or the directory in which one run keeps its data.
type place struct {
	dir     string
	address string
	redis   *servers.Redis
	close   func() error
	pid     int  // process id of the server; 0 without a server
	forks   bool // whether the processor time of the server's child processes is counted, too
}

func (b *bench) place(ctx context.Context, s system) (p *place, err error) {
	b.runs++
	p = &place{dir: filepath.Join(b.dir, fmt.Sprint(b.runs))}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	p.close = func() error { return os.RemoveAll(p.dir) }
	switch s.server {
	case noServer:
	case postgres:
		name := fmt.Sprintf("bench_%d", b.runs)
		if err := b.sql(ctx, "CREATE DATABASE "+name); err != nil {
			return nil, err
		}
		address := b.pg.URL()
		address.Path = "/" + name
		p.address, p.pid, p.forks = address.String(), b.pg.PID(), true
		p.close = func() error {
			return errors.Join(b.sql(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)"), os.RemoveAll(p.dir))
		}
	case redisEverySec, redisAlways:
		if p.redis, err = startRedis(ctx, s.server); err != nil {
			return nil, errors.Join(err, os.RemoveAll(p.dir))
		}
		p.address, p.pid = p.redis.URL(), p.redis.PID()
		p.close = func() error { return errors.Join(p.redis.Close(), os.RemoveAll(p.dir)) }
	}
	return p, nil
}

// sql runs statements in the server's default database, which no run uses for its jobs.
func (b *bench) sql(ctx context.Context, text string) error { return execute(ctx, b.pg.DSN(), text) }

func execute(ctx context.Context, dsn string, texts ...string) (err error) {
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	for _, text := range texts {
		if _, err := c.Exec(ctx, text); err != nil {
			return fmt.Errorf("run the statement %.40s: %w", text, err)
		}
	}
	return nil
}

// launch starts the agents of a run.
func (b *bench) launch(ctx context.Context, s system, w workload, p *place, c agent.Config) (group []*agent.Process, err error) {
	command := b.programs[s.runs]
	if s.runs == inNode {
		script := map[string]string{"graphile-worker": "graphile.mjs"}[s.name]
		if script == "" {
			script = s.name + ".mjs"
		}
		path, err := filepath.Abs(filepath.Join(b.node, script))
		if err != nil {
			return nil, err
		}
		command = append(slices.Clone(command), path)
	}
	c.System, c.Tuned, c.Workers = s.name, s.tuned, s.workers
	c.Address, c.Producers, c.Payload, c.Failing = p.address, b.producers, b.payload, w.failing
	for i := range w.procs {
		// All agents of a run have the same directory, because the database is in it.
		c.Dir, c.Create = p.dir, c.Create && i == 0
		a, err := agent.Launch(ctx, exec.Command(command[0], command[1:]...), c) //nolint:noctx // the agent is closed or killed later
		if err != nil {
			return nil, errors.Join(err, closeAll(group))
		}
		group = append(group, a)
	}
	return group, nil
}

func closeAll(group []*agent.Process) (err error) {
	for _, a := range group {
		err = errors.Join(err, a.Close())
	}
	return err
}

// measureAll runs all rounds. In each round it runs all workloads, and for each workload it
// measures all systems. So figures that are compared are measured soon after each other.
func (b *bench) measureAll(ctx context.Context) (results []result) {
	for round := 1; round <= b.rounds; round++ {
		for _, w := range b.workloads {
			for _, s := range b.systems {
				if !s.does(w) || round > 1 && w.mode == killMode {
					continue
				}
				r := b.once(ctx, s, w)
				if ctx.Err() != nil {
					return results
				}
				r.Round = round
				fmt.Fprintln(b.log, r.line())
				results = append(results, r)
			}
		}
	}
	return results
}

// once does one run and returns its result. If the run failed, the result has an error and no
// measured values.
func (b *bench) once(ctx context.Context, s system, w workload) result {
	r := result{System: s.name, Setting: s.setting, Workload: w.name, Jobs: s.jobs(w.mode, b.jobs), Workers: s.workers}
	ctx, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("the run did not end within %v", b.limit))
	defer cancel()
	p, err := b.place(ctx, s)
	if err == nil {
		switch {
		case s.floor:
			err = b.floor(ctx, s, w, p, &r)
		case w.mode == pickupMode:
			err = b.pickup(ctx, s, w, p, &r)
		case w.mode == killMode:
			err = b.kill(ctx, s, w, p, &r)
		default:
			err = b.rate(ctx, s, w, p, &r)
		}
		err = errors.Join(err, p.close())
	}
	if err != nil {
		r.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
		r.PerSecond = 0
	}
	return r
}

// hello stores what agents answered to their configuration.
func (r *result) hello(group []*agent.Process) {
	h := group[0].Hello()
	r.Durability = h.Durability
	r.Versions = maps.Clone(h.Versions)
}

// pause waits for the time d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
