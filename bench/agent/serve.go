package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request is a line that an agent reads. Only the first line is not a Request but the Config.
type Request struct {
	ID    int      `json:"id"`
	Do    string   `json:"do"` // the request: bulk, enqueue, start, stop, ran, runs, unfinished, counts, known or floor
	First int      `json:"first,omitempty"`
	N     int      `json:"n,omitempty"`
	Mode  string   `json:"mode,omitempty"`
	IDs   []string `json:"ids,omitempty"`
}

// Reply is one line of an agent: the answer to a request or, with the id 0, a start message of job
// N.
type Reply struct {
	ID    int             `json:"id"`
	Error string          `json:"error,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	N     int             `json:"n,omitempty"`
	At    int64           `json:"at,omitempty"` // the time of the job's start, in nanoseconds since 1970
}

// Hello is the answer to the configuration.
type Hello struct {
	Durability string            `json:"durability"`
	Versions   map[string]string `json:"versions"`
}

// server is the agent's side of the connection.
type server struct {
	work   *Work
	config Config
	system System
	floor  Floor

	mu  sync.Mutex
	out *json.Encoder
}

// Serve runs an agent until its input ends.
func Serve(ctx context.Context, programs map[string]Program, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	s := &server{out: json.NewEncoder(out)}
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &s.config); err != nil {
		return err
	}
	hello, err := s.open(ctx, programs)
	s.reply(0, hello, err)
	if err != nil {
		return nil
	}
	var all sync.WaitGroup
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			all.Wait()
			return s.close()
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		all.Go(func() {
			data, err := s.do(ctx, r)
			s.reply(r.ID, data, err)
		})
	}
}

func (s *server) reply(id int, data any, err error) {
	r := Reply{ID: id}
	if err == nil {
		r.Data, err = json.Marshal(data)
	}
	if err != nil {
		r.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	s.send(r)
}

func (s *server) send(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(r) // when the parent ends, the input of the agent ends, too
}

func (s *server) started(n int, at time.Time) { s.send(Reply{N: n, At: at.UnixNano()}) }

func (s *server) open(ctx context.Context, programs map[string]Program) (hello Hello, err error) {
	p, ok := programs[s.config.System]
	if !ok {
		return hello, fmt.Errorf("this agent has no system %q", s.config.System)
	}
	hello.Versions = versions(p.Modules)
	if p.Floor != nil {
		s.floor, err = p.Floor(ctx, s.config)
		return hello, err
	}
	if s.work, err = NewWork(s.config, s.started); err != nil {
		return hello, err
	}
	if s.system, err = p.Open(ctx, s.config, s.work); err != nil {
		return hello, err
	}
	hello.Durability, err = s.system.Durability(ctx)
	return hello, err
}

func (s *server) close() error {
	if s.system == nil {
		return nil
	}
	return s.system.Close()
}

func versions(modules []string) map[string]string {
	found := make(map[string]string)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return found
	}
	for _, m := range info.Deps {
		if slices.Contains(modules, m.Path) {
			found[m.Path] = m.Version
		}
	}
	return found
}

// Enqueued is the answer to an enqueue request.
type Enqueued struct {
	At int64 `json:"at"` // time at which the last job was stored, in nanoseconds since 1970
}

func (s *server) do(ctx context.Context, r Request) (any, error) {
	if s.floor != nil {
		if r.Do != "floor" {
			return nil, fmt.Errorf("the agent of a floor got the unknown request %q, want floor", r.Do)
		}
		return s.floor.Run(ctx, r.Mode, r.N)
	}
	switch r.Do {
	case "bulk":
		err := s.system.Bulk(ctx, r.First, r.N)
		return Enqueued{time.Now().UnixNano()}, err
	case "enqueue":
		err := s.enqueue(ctx, r.First, r.N)
		return Enqueued{time.Now().UnixNano()}, err
	case "start":
		return nil, s.system.Start(ctx)
	case "stop":
		return nil, s.system.Stop(ctx)
	case "ran":
		return s.work.total.Load(), nil
	case "runs":
		return s.work.runs(), nil
	case "unfinished":
		return s.system.Unfinished(ctx)
	case "counts":
		return s.system.Counts(ctx)
	case "known":
		known, err := s.system.Known(ctx, r.IDs)
		return string(known), err
	}
	return nil, fmt.Errorf("the agent got the unknown request %q", r.Do)
}

// enqueue stores jobs one by one from as many goroutines as there are producers. Each waits for its
// own commits. The first error stops all of them.
func (s *server) enqueue(ctx context.Context, first, n int) error {
	var taken atomic.Int64
	var stopped atomic.Bool
	errs := make([]error, min(s.config.Producers, n))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for !stopped.Load() {
				k := int(taken.Add(1)) - 1
				if k >= n {
					return
				}
				id, err := s.system.Enqueue(ctx, first+k)
				if err == nil {
					err = s.work.ack(first+k, id)
				}
				if err != nil {
					errs[i] = err
					stopped.Store(true)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
