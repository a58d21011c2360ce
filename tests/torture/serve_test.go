//go:build linux

package torture

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/httpproxy"
	"github.com/redrive/redrive/tests/torture/place"
)

var servedFlag = flag.Int("torture.served", 2, "cycles of faults of HTTP servers, on each store")

// serve is the role of a server.
const serve = "serve"

// One server on a SQLite file, behind a proxy.
//
// proves: Q3, I1, N1
func TestQ3_I1_N1_TortureOfTheServer(t *testing.T) {
	t.Parallel()
	tt := newTorture(t)
	tt.serve(newServed(tt, files{}, 1))
}

// Two servers on one PostgreSQL database, each behind a proxy.
//
// proves: Q3, I1, N1
func TestQ3_I1_N1_TortureOfTheServersOnPostgres(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	tt := newTorture(t)
	tt.serve(newServed(tt, newPostgresSite(tt), 2))
}

// served is a number of `redrive serve` processes beside workers of the library. Clients in the test
// process use the servers over HTTP.
type served struct {
	*library
	redrive string
	servers int
	bag     *bag // the faults of servers
	idle    *bag // the faults of workers

	mu     sync.Mutex
	rounds map[*round]*web
}

func newServed(tt *torture, on site, servers int) *served {
	s := &served{library: newLibrary(tt, on), redrive: filepath.Join(tt.dir, "redrive"), servers: servers, rounds: make(map[*round]*web)}
	tt.build(s.redrive, "../../cmd/redrive")
	// A server finds an expired lease at once, while a worker that has just started waits for a while. So
	// a lease must be longer than the pauses of a busy machine.
	s.leases = 1500 * time.Millisecond
	s.bag = newBag(tt.seed+3,
		crashAt(crashpoint.BeforeEnqueueCommit, 8, 0),
		crashAt(crashpoint.AfterEnqueueCommit, 8, 0),
		crashAt(crashpoint.InCommit, 20, time.Millisecond),
		crashAt(crashpoint.AfterRequestRow, 2, 0),
		crashAt(crashpoint.AfterKeyedEnqueue, 2, 0),
		crashAt(crashpoint.InAnswer, 60, 0),
		killedServer(), suspended(), stoppedServer(),
	)
	s.idle = newBag(tt.seed+4, kill(), goodbye())
	return s
}

// web is what a round has of HTTP: the proxies, and what the clients have recorded.
type web struct {
	proxies  []*httpproxy.Proxy
	finished chan struct{} // closed when clients begin nothing new
	heard    chan struct{} // closed when the listeners end

	acked, acted atomic.Int64 // acknowledged jobs, and actions of people

	mu        sync.Mutex
	requests  []check.Request
	listeners []*listener
}

func (s *served) begin(r *round) {
	s.library.begin(r)
	w := &web{finished: make(chan struct{}), heard: make(chan struct{})}
	for range s.servers {
		p, err := httpproxy.Start()
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() { _ = p.Close() }) // no error check: the end of the round has closed it
		w.proxies = append(w.proxies, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rounds[r] = w
}

func (s *served) web(r *round) *web {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rounds[r]
}

// history adds what the clients have recorded.
func (s *served) history(r *round, h *check.History) {
	w := s.web(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Requests = w.requests
	for _, l := range w.listeners {
		h.Listeners = append(h.Listeners, l.record)
	}
}

// server returns the command of a server.
func (s *served) server(r *round) (*exec.Cmd, error) {
	args := []string{"serve", "--listen", "127.0.0.1:0", "--db", r.database}
	if strings.HasPrefix(r.database, "postgres://") {
		dsn, schema, err := place.Split(r.database)
		if err != nil {
			return nil, err
		}
		args = []string{"serve", "--listen", "127.0.0.1:0", "--db", dsn, "--schema", schema}
	}
	cmd := exec.Command(s.redrive, args...)
	cmd.Dir = r.dir // with the configuration of the round, if it has one
	return cmd, nil
}

// listening is the address in the line that a server logs when it is ready.
var listening = regexp.MustCompile(`msg=serving address=(\S+)`)

// servers returns the slot of the servers behind a proxy.
func (s *served) slot(r *round, n int, place ...int) *slot {
	proxy := s.web(r).proxies[n]
	return &slot{round: r, role: serve, rand: r.random(append(place, r.n, n)...),
		command: func(string) (*exec.Cmd, error) { return s.server(r) },
		up: func(p *process) {
			text, err := os.ReadFile(p.log)
			found := listening.FindSubmatch(text)
			if err != nil || found == nil {
				r.Errorf("the log %s has no address of a server: %v", p.log, err)
				return
			}
			address := string(found[1])
			proxy.Forward(address)
			go func() {
				<-p.ended
				proxy.Forget(address)
			}()
		}}
}

// suspended makes a fault that stops a server in the middle of what it does, for longer than its
// clients wait for an answer, and then resumes it.
func suspended() fault {
	return fault{"suspended server", func(s *slot) bool {
		p := s.start("")
		if !s.comesUp(p) {
			p.kill()
			return false
		}
		s.endsOrOver(p, s.between(100*time.Millisecond, 400*time.Millisecond))
		over := s.troubled("server stopped") // it may have stopped in a commit, which holds up other processes
		p.disturb()
		p.signal(syscall.SIGSTOP)
		p.endsWithin(s.between(answerTime, 2*answerTime))
		p.signal(syscall.SIGCONT)
		over()
		s.faulted("suspended server")
		s.endsOrOver(p, s.between(100*time.Millisecond, 400*time.Millisecond))
		if s.rand.IntN(2) == 0 {
			p.stop()
		} else {
			p.kill()
		}
		return true
	}}
}

// killedServer makes a fault that kills a server after a while.
func killedServer() fault {
	return fault{"kill", func(s *slot) bool {
		p := s.start("")
		s.comesUp(p)
		s.endsOrOver(p, s.between(0, time.Second))
		p.kill()
		return true
	}}
}

// stoppedServer makes a fault that stops a server gracefully while it has requests.
func stoppedServer() fault {
	return fault{"goodbye", func(s *slot) bool {
		p := s.start("")
		s.comesUp(p)
		s.endsOrOver(p, s.between(200*time.Millisecond, time.Second))
		s.faulted("graceful stop")
		p.stop()
		return true
	}}
}

// serve runs rounds until the cycles of the flag are done.
func (tt *torture) serve(s *served) {
	tt.program = s
	begun := time.Now()
	for done := 0; done < *servedFlag && !tt.Failed(); done += cyclesPerRound {
		tt.servedRound(s, min(cyclesPerRound, *servedFlag-done))
	}
	tt.settling.Wait()
	tt.summary.Seconds = time.Since(begun).Round(time.Second / 10).Seconds()
	for _, less := range tt.servedLess() {
		tt.Error(less)
	}
	line, err := json.Marshal(tt.summary)
	if err != nil {
		tt.Fatal(err)
	}
	tt.Logf("torture: %s", line)
	tt.Log(tt.summary.text())
	if tt.Failed() {
		tt.Logf("repeat: go test ./tests/torture -run '^%s$' -torture.served %d -torture.seed %d -timeout 60m -v", tt.Name(), *servedFlag, tt.seed)
	}
	tt.remove()
}

// ackedPerServedCycle is the smallest number of acknowledged jobs of a cycle.
const ackedPerServedCycle = 20

// servedLess returns the minimums that a run has not reached.
func (tt *torture) servedLess() (less []string) {
	s := &tt.summary
	want := map[string]int{repeatedRequests: 10, lostAnswers: 10, heardEvents: 200, brokenStreams: 3}
	if *servedFlag >= fullCycles {
		for _, f := range httpproxy.Faults {
			want["proxy: "+string(f)] = 10
		}
		want["suspended server"], want["graceful stop"] = 1, 1
		for _, p := range slices.Concat(crashpoint.ServerPoints[:], []crashpoint.Point{crashpoint.BeforeEnqueueCommit, crashpoint.AfterEnqueueCommit}) {
			if s.Kills[string(p)] < hitsWanted {
				less = append(less, fmt.Sprintf("crash point %s was hit %d times, want at least %d", p, s.Kills[string(p)], hitsWanted))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if s.Faults[name] < want[name] {
			less = append(less, fmt.Sprintf("%s: %d, want at least %d", name, s.Faults[name], want[name]))
		}
	}
	if n := ackedPerServedCycle * *servedFlag; s.Acknowledged < n || s.Acts == 0 {
		less = append(less, fmt.Sprintf("%d jobs and %d actions of people acknowledged, want %d and some", s.Acknowledged, s.Acts, n))
	}
	return less
}

// servedRound runs some cycles on a new database, and checks what is stored afterwards.
func (tt *torture) servedRound(s *served, cycles int) {
	r := tt.newRound()
	s.begin(r)
	r.watch()
	first := r.workers(-1).start("") // it makes the schema
	(&slot{round: r}).comesUp(first)
	first.stop()
	w := s.web(r)
	var clients, listeners sync.WaitGroup
	for n := range clientsPerRound {
		c := s.submitter(r, n)
		clients.Go(c.work)
	}
	for n, topic := range topics {
		l := s.listener(r, n, topic)
		listeners.Go(l.follow)
	}
	for c := range cycles {
		s.cycle(r, c)
		tt.count(func(sum *summary) { sum.Cycles++ })
	}
	// The faults are over: clients get their last answers, all jobs end, and listeners hear of it.
	var clean []*process
	for n := range w.proxies {
		slot := s.slot(r, n, -1)
		p := slot.start("")
		slot.comesUp(p)
		clean = append(clean, p)
	}
	// On a busy machine little was answered so far.
	for begun := time.Now(); (w.acked.Load() < int64(ackedPerServedCycle*cycles) || w.acted.Load() < 3) && time.Since(begun) < patience && !tt.Failed(); {
		waitOr(w.finished, 10*time.Millisecond)
	}
	close(w.finished)
	clients.Wait()
	r.heal()
	s.catchUp(r, w)
	close(w.heard)
	for _, p := range w.proxies {
		p.CutAll()
	}
	listeners.Wait()
	for _, p := range clean {
		p.stop()
	}
	for _, p := range w.proxies {
		for fault, n := range p.Counts() {
			if fault != httpproxy.None {
				tt.count(func(sum *summary) { sum.Faults["proxy: "+string(fault)] += n })
			}
		}
		if err := p.Close(); err != nil {
			r.Error(err)
		}
	}
	r.finishRound()
}

// cycle runs servers with faults at each place, beside a worker with faults.
func (s *served) cycle(r *round, c int) {
	over := make(chan struct{})
	var helpers, servers sync.WaitGroup
	helpers.Go(func() { s.meanwhile(r, c, over) })
	helpers.Go(func() {
		workers := r.workers(c, 5)
		for workers.over = over; !waitOr(over, 0); {
			workers.next(s.idle)
		}
	})
	for n := range s.servers {
		servers.Go(func() { s.slot(r, n, c).suffer(s.bag, faultsPerSlot) })
	}
	servers.Wait()
	close(over)
	helpers.Wait()
}
