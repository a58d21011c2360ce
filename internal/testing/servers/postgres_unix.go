//go:build unix

package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Postgres is a private cluster with one superuser and the database postgres. If PostgreSQL was
// built with ICU, texts are sorted as in an English dictionary and not by bytes. Most users'
// servers do the same. Its methods may be called concurrently.
type Postgres struct {
	home     *home
	bin      string
	data     string
	port     int
	password string
	settings map[string]string

	mu     sync.Mutex
	daemon *daemon // the running process of the server; nil while the server is stopped
	last   *daemon // the newest server process, whose log is still needed after its end
	paused []int   // the processes that Pause has stopped
}

// StartPostgres makes a cluster and starts it. The error is [ErrMissing] where
// PostgreSQL is not installed.
func StartPostgres(ctx context.Context, o *PostgresOptions) (p *Postgres, err error) {
	bin := o.Bin
	if bin == "" {
		if bin, err = FindPostgres(ctx); err != nil {
			return nil, err
		}
	}
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	p = &Postgres{home: h, bin: bin, data: filepath.Join(h.dir, "data"), password: rand.Text()}
	if err = p.create(ctx, o); err == nil {
		err = p.first(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a private PostgreSQL with the programs in %s: %w", bin, err), p.Close())
	}
	return p, nil
}

// create makes the cluster.
func (p *Postgres) create(ctx context.Context, o *PostgresOptions) error {
	if o.Disk != "" {
		disk := filepath.Join(p.home.dir, "disk")
		if err := os.Mkdir(disk, 0o700); err != nil {
			return err
		}
		if err := mountDisk(disk, o.Disk); err != nil {
			return err
		}
		if err := p.home.own(disk); err != nil {
			return err
		}
		p.data = filepath.Join(disk, "data")
	}
	p.settings = map[string]string{
		"max_connections":         "300",
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": p.home.dir,
		"logging_collector":       "off",
		"log_destination":         "stderr",
		"fsync":                   "on",
	}
	if o.NoSync {
		p.settings["fsync"] = "off"
	}
	maps.Copy(p.settings, o.Settings)
	password, err := p.home.write("password", p.password)
	if err != nil {
		return err
	}
	args := []string{
		"-D", p.data, "-U", postgresUser, "--pwfile", password, "--encoding", "UTF8", "--locale", "C",
		// Connections over the socket need no password, because only the server's user can open the
		// socket's directory. Connections over TCP send the password in plain text, because a
		// hashed check would take time in measurements.
		"--auth-local", "trust", "--auth-host", "password",
		"--no-sync", // an empty cluster need not be synced to the disk
	}
	if o.Disk != "" {
		args = append(args, "--wal-segsize", "1") // the default size of a WAL file is 16 MB; a few such files could fill a small disk
	}
	icu := append(slices.Clone(args), "--locale-provider", "icu", "--icu-locale", "en")
	if err := p.home.run(filepath.Join(p.bin, "initdb"), icu...); err != nil {
		// Try again without ICU: PostgreSQL was built without ICU, or is older than version 15.
		// initdb has removed the incomplete cluster.
		if p.home.run(filepath.Join(p.bin, "initdb"), args...) != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// first starts the cluster for the first time and chooses a free port.
func (p *Postgres) first(ctx context.Context) error {
	for tries := 1; ; tries++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		p.port = port
		if err = p.Start(ctx); err == nil || tries == 3 || !strings.Contains(err.Error(), "could not bind") {
			return err
		}
	}
}

// Start starts the server after a stop, on the same port. It returns when the server accepts
// connections. It does nothing when the server is running.
func (p *Postgres) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.daemon != nil && p.daemon.alive() {
		return nil
	}
	args := []string{"-D", p.data, "-p", strconv.Itoa(p.port)}
	for _, name := range slices.Sorted(maps.Keys(p.settings)) {
		args = append(args, "-c", name+"="+p.settings[name])
	}
	d, err := p.home.start(ctx, &program{
		path: filepath.Join(p.bin, "postgres"), args: args, death: syscall.SIGQUIT,
		ready: "database system is ready to accept", // this text begins two messages: that the server accepts all connections, or only those that read
	})
	if err != nil {
		return err
	}
	p.daemon, p.last, p.paused = d, d, nil
	return nil
}

// Stop stops the server and waits until it has ended. A paused server is resumed first.
func (p *Postgres) Stop(mode Mode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop(mode)
}

func (p *Postgres) stop(mode Mode) error {
	if p.daemon == nil {
		return nil
	}
	p.resume()
	d := p.daemon
	p.daemon = nil
	return d.stop(map[Mode]syscall.Signal{Fast: syscall.SIGINT, Immediate: syscall.SIGQUIT, Smart: syscall.SIGTERM}[mode])
}

// Restart stops the server in a mode and starts it again.
func (p *Postgres) Restart(ctx context.Context, mode Mode) error {
	if err := p.Stop(mode); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Kill kills all processes of the server with SIGKILL and waits until they are gone. Clients get no
// message about the end of their connections. At the next Start, the server recovers its data.
func (p *Postgres) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.daemon == nil {
		return nil
	}
	d := p.daemon
	p.daemon, p.paused = nil, nil
	pids, err := d.freeze()
	if err != nil {
		return errors.Join(err, d.stop(syscall.SIGKILL))
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // no error check: the process may have ended already
	}
	d.signal(syscall.SIGKILL)
	<-d.ended
	return awaitAll(pids, dead)
}

// freeze pauses the first process of a server and returns the server's other processes. While the
// first process is paused, it starts no further process.
func (d *daemon) freeze() (children []int, err error) {
	d.signal(syscall.SIGSTOP)
	if err := awaitAll([]int{d.pid}, stopped); err != nil {
		return nil, err
	}
	return childrenOf(d.pid)
}

// awaitAll waits until processes that got a signal are dead or stopped. It polls, because they are
// not children of this process.
func awaitAll(pids []int, done func(pid int) bool) error {
	pids = slices.Clone(pids)
	limit := time.NewTimer(patience)
	defer limit.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		if pids = slices.DeleteFunc(pids, done); len(pids) == 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-limit.C:
			return fmt.Errorf("processes %v have not reacted to a signal for %v", pids, patience)
		}
	}
}

// Pause pauses all processes of the server with SIGSTOP and returns when they are paused.
// Connections stay open, but get no answer. It does nothing when the server is paused.
func (p *Postgres) Pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.daemon == nil || !p.daemon.alive() {
		return errors.New("the server cannot be paused, because it is not running")
	}
	if len(p.paused) > 0 {
		return nil
	}
	pids, err := p.daemon.freeze()
	p.paused = append(pids, p.daemon.pid)
	if err != nil {
		p.resume()
		return err
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // no error check: the process may have ended already
	}
	return awaitAll(pids, stopped)
}

// Resume resumes the processes of a paused server.
func (p *Postgres) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume()
}

// resume resumes the paused processes. It resumes their parent last, because no process id can be
// reused before that.
func (p *Postgres) resume() {
	for _, pid := range p.paused {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	p.paused = nil
}

// Close stops the server and removes its files.
func (p *Postgres) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.stop(Immediate)
	if id, ok := p.segment(); ok {
		removeSegment(id)
	}
	unmountDisk(filepath.Join(p.home.dir, "disk"))
	return errors.Join(err, p.home.remove())
}

// segment returns the id of the shared memory segment that a killed server has left. A server that
// stops normally removes its segment.
func (p *Postgres) segment() (id int, ok bool) {
	text, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		return 0, false
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 {
		return 0, false
	}
	var key int
	n, _ := fmt.Sscan(lines[6], &key, &id)
	return id, n == 2
}

// URL returns a new copy of the address over TCP.
func (p *Postgres) URL() *url.URL { return postgresURL(p.password, p.port) }

// DSN returns the address over TCP as a URL.
func (p *Postgres) DSN() string { return p.URL().String() }

// SocketDSN returns the address over the unix socket, which is faster. Only root and the user of
// the server have access to it.
func (p *Postgres) SocketDSN() string {
	u := p.URL()
	u.Host, u.User = "", url.User(postgresUser)
	u.RawQuery = url.Values{"host": {p.home.dir}, "port": {strconv.Itoa(p.port)}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// Port returns the TCP port at 127.0.0.1.
func (p *Postgres) Port() int { return p.port }

// Dir returns the data directory.
func (p *Postgres) Dir() string { return p.data }

// PID returns the process id of the postmaster, or 0 while the server is stopped.
func (p *Postgres) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.daemon == nil {
		return 0
	}
	return p.daemon.pid
}

// Running reports whether the server's first process is still running.
func (p *Postgres) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.daemon != nil && p.daemon.alive()
}

// Log returns the last lines that the server wrote since its start.
func (p *Postgres) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		return ""
	}
	return p.last.said()
}

// FillDisk fills the private file system of the server completely.
func (p *Postgres) FillDisk() error {
	f, err := os.Create(p.filler())
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10} {
		for chunk := make([]byte, size); err == nil; {
			_, err = f.Write(chunk)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return nil
}

// FreeDisk frees the space that FillDisk took.
func (p *Postgres) FreeDisk() error { return os.Remove(p.filler()) }

func (p *Postgres) filler() string { return filepath.Join(p.home.dir, "disk", "filler") }
