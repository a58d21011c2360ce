// Package server puts a redrive.Client behind HTTP.
//
// New returns an http.Handler for any mux and prefix:
//
//	s, err := server.New(client, server.Options{Identify: whoIs})
//	mux.Handle("/redrive/", http.StripPrefix("/redrive", s))
//
// The command `redrive serve` uses this package, too. The routes are in the table of package
// internal/api. Options.Identify says who makes a request; see package server/access. A server keeps no
// state that must survive it, so any number of servers can serve one store.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/metrics"
	"github.com/redrive/redrive/internal/page"
	"github.com/redrive/redrive/server/access"
)

// Options configure a server. The zero value of every field is its default.
type Options struct {
	// Identify says who makes a request; see package access for its errors. By default, the
	// callers are identified as Access says.
	Identify func(*http.Request) (access.Caller, error)
	// Access says how callers are identified if Identify is nil. By default by access keys; but
	// while the store has no key, requests from this machine (from a loopback address or a Unix
	// socket) may do everything, and any other request is refused. Its Logger and Now default to
	// those of the server.
	Access access.Options
	// Hosts are the names and addresses, without port, by which the server is called. A request
	// with another Host is answered with 421. In the modes access.Auto and access.Open, loopback
	// names and addresses are accepted as well. In other modes, and with Identify, every Host is
	// accepted if Hosts is empty.
	Hosts []string
	// Base is the path below which the server is mounted, such as "/redrive". It is for links
	// in answers only. Default "".
	Base string
	// Kinds and Queues are what jobs may name. Nil means that every name is accepted.
	Kinds  map[string]KindOptions
	Queues []string
	// Limits are the client's Config.Queues. They are for explanations only: why a job waits.
	Limits map[string]redrive.Queue
	// Doors are kinds with a path of their own, by name.
	Doors map[string]Door
	// CompletedKept is the client's Retention.Completed. The default is a day.
	CompletedKept time.Duration
	// ViewersSeePayloads shows payloads to callers that may view. By default only operators see
	// them.
	ViewersSeePayloads bool
	// HideEmails removes e-mail addresses from exports, as secrets are removed.
	HideEmails bool
	// Member is the word for a member of a batch, such as Token, in the answer to a retry of a member that is
	// not dead. Default Member.
	Member string
	// Heartbeat is the time after which a stream of events without events sends a frame, so that
	// proxies keep it open. The default is 15 s.
	Heartbeat time.Duration
	// PayloadMax is the client's Config.PayloadMax, for messages and the document. The default is
	// redrive.PayloadMaxDefault.
	PayloadMax int
	// Version is the value of the header Redrive-Version. Default "dev".
	Version string
	// Environment is a word about the installation, such as production, which the pages show.
	Environment string
	// Links are links from the page of a job to other programs, such as a store of logs.
	Links []Link
	// NoPages leaves out the pages for operators under /ui.
	NoPages bool
	// Logger gets one line per request, and errors. A line names the route by its pattern, the
	// caller and the id of its key; it has no URL, no header and no body. The default is slog.Default.
	Logger *slog.Logger
	// Now is the clock. The default is the clock of the system.
	Now func() time.Time
}

// Server is an http.Handler with the routes of the API. It is safe for concurrent use.
type Server struct {
	o       Options
	api     *api.API
	pages   *page.Pages // nil if the server has no pages
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	metrics *metrics.Metrics
	gated   bool            // callers are identified by a gate of package access
	keyless bool            // some callers need no key
	hosts   map[string]bool // the accepted hosts; nil accepts every host
	doors   []api.Door
	stop    chan struct{} // closed when the server stops; requests that wait for a job are then answered
	stopped sync.Once
}

// New makes a server on a client. The caller should also run the client (Client.Run or Client.Keep).
// Otherwise other processes have to do the work of redrives, schedules and retention.
func New(client *redrive.Client, o Options) (*Server, error) {
	if client == nil {
		return nil, errors.New("server: the client is nil; make one with redrive.New")
	}
	doors, err := doorsOf(&o)
	if err != nil {
		return nil, err
	}
	o.Version = cmp.Or(o.Version, "dev")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = systemNow
	}
	var gate *access.Gate
	if o.Identify == nil {
		if o.Access.Logger == nil {
			o.Access.Logger = o.Logger
		}
		if o.Access.Now == nil {
			o.Access.Now = o.Now
		}
		gate = access.New(client, o.Access)
		o.Identify = gate.Identify
	}
	// Some modes need no key for requests from this machine. In these modes, Host must be checked:
	// otherwise a web page whose name is resolved to this machine could send requests (DNS rebinding).
	keyless := gate != nil && (gate.Mode() == access.Auto || gate.Mode() == access.Open)
	s := &Server{o: o, gated: gate != nil, keyless: keyless, doors: doors, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection(), stop: make(chan struct{})}
	s.metrics = metrics.New(client, &metrics.Options{
		Listeners: func() int { return s.api.Listeners() }, Held: func() int { return s.api.Held() }, Version: o.Version, Logger: o.Logger, Now: o.Now,
	})
	s.api = api.New(s.stop, client, api.Options{
		Metrics: s.metrics,
		Kinds:   kindsOf(o.Kinds), Queues: o.Queues, Limits: limitsOf(o.Limits), Doors: doors, Heartbeat: o.Heartbeat, PayloadMax: o.PayloadMax, CompletedKept: o.CompletedKept, ViewersSeePayloads: o.ViewersSeePayloads,
		HideEmails: o.HideEmails, Member: o.Member, Base: o.Base, Logger: o.Logger, Now: o.Now, Gate: gate,
	})
	if keyless || len(o.Hosts) > 0 {
		s.hosts = make(map[string]bool)
		for _, host := range o.Hosts {
			s.hosts[strings.ToLower(host)] = true
		}
	}
	routes := slices.Concat(api.Routes(), api.DoorRoutes(doors))
	if !o.NoPages {
		links, err := linksOf(o.Links)
		if err != nil {
			return nil, err
		}
		if s.pages, err = page.New(page.Options{Base: o.Base, Environment: o.Environment, Links: links, Version: o.Version, Logins: gate != nil}); err != nil {
			return nil, err
		}
		routes = append(routes, s.pages.Routes()...)
	}
	byPath := make(map[string]map[string]*api.Route)
	for _, r := range routes {
		if byPath[r.Path] == nil {
			byPath[r.Path] = make(map[string]*api.Route)
		}
		if byPath[r.Path][r.Method] != nil {
			return nil, fmt.Errorf("server: the table has two routes %s %s", r.Method, r.Path)
		}
		if r.Payloads && o.ViewersSeePayloads {
			r.Roles |= access.View
		}
		byPath[r.Path][r.Method] = &r
	}
	for path, methods := range byPath {
		if get := methods[http.MethodGet]; get != nil && !get.Stream {
			methods[http.MethodHead] = get
		}
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, methods) })
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		stateOf(r).problem = api.NotFound.New("There is no such path. GET %s/api/docs lists all paths.", o.Base)
	})
	return s, nil
}

// Stop ends streams, and sends the answers of requests that wait for a job, at once. All requests that
// have begun are answered. Later requests are refused with 503 and Retry-After, except requests about
// the server itself. Call Stop before http.Server.Shutdown.
func (s *Server) Stop() {
	s.stopped.Do(func() {
		close(s.stop)
		s.api.Stop()
	})
}

// state is what the server knows about a request while it is answered.
type state struct {
	id      string
	route   *api.Route
	caller  access.Caller
	bare    bool // problems have the form of a door
	problem *api.Problem
}

type stateKey struct{}

func stateOf(r *http.Request) *state {
	st, _ := r.Context().Value(stateKey{}).(*state)
	return st
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := s.o.Now()
	st := &state{id: requestID(r)}
	r = r.WithContext(context.WithValue(r.Context(), stateKey{}, st))
	out := &recorder{ResponseWriter: w}
	h := w.Header()
	h.Set("X-Request-Id", st.id)
	h.Set("Redrive-Version", s.o.Version)
	h.Set("X-Content-Type-Options", "nosniff")
	defer func() {
		failed := recover()
		if err, ok := failed.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(failed)
		}
		if failed != nil {
			s.o.Logger.ErrorContext(r.Context(), "a handler has panicked", "request", st.id, "panic", fmt.Sprint(failed), "stack", stack())
			st.problem = api.Internal.New("The server failed. Its log has the cause under the id of this request.")
		}
		if st.problem != nil && out.status == 0 {
			st.problem.Bare = st.bare
			s.writeProblem(out, r, st)
		}
		s.logRequest(r, st, out, s.o.Now().Sub(began))
	}()
	st.bare = s.atDoor(r.URL.Path)
	switch {
	case len(r.RequestURI) > api.URLMax:
		st.problem = api.URLTooLong.New("The URL has %d bytes; at most %d are allowed.", len(r.RequestURI), api.URLMax)
	case headerSize(r) > api.HeaderMax:
		st.problem = api.HeaderTooLarge.New("The header has %d bytes; at most %d are allowed.", headerSize(r), api.HeaderMax)
	case !s.answersTo(r.Host):
		st.problem = api.HostUnknown.New("The server does not answer to the host %.100q. Use its address, or add the name to server.hosts.", r.Host)
	default:
		s.mux.ServeHTTP(out, r)
	}
}

// headerSize returns the size of the header block of a request. http.Server has a bound of its own,
// but reads more on a connection that has had a request before.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(" ") + len(r.RequestURI) + len(" HTTP/1.1\r\n") + len("Host: \r\n") + len(r.Host) + len("\r\n")
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return size
}

// atDoor reports whether a path is that of a door or of a job below one.
func (s *Server) atDoor(path string) bool {
	for i := range s.doors {
		if rest, ok := strings.CutPrefix(path, s.doors[i].Path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// writeProblem answers with a problem: as a page if the request is for a page, otherwise as JSON.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, st *state) {
	forPage := st.route != nil && st.route.Page || st.route == nil && strings.HasPrefix(r.URL.Path, "/ui/")
	if s.pages == nil || !forPage || st.problem.Kind() == api.HostUnknown {
		st.problem.Write(w, st.id)
		return
	}
	c := &api.Call{Route: st.route, W: w, R: r, RequestID: st.id, Caller: st.caller}
	if err := s.pages.WriteProblem(w, r, st.problem, c); err != nil && !errors.Is(err, api.ErrSent) {
		s.o.Logger.ErrorContext(r.Context(), "a page of a problem failed", "request", st.id, "error", err)
	}
}

// answersTo reports whether a Host header is one of the server. A page of another site that makes
// a browser resolve its own name to this machine is refused by it.
func (s *Server) answersTo(host string) bool {
	if s.hosts == nil {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if s.hosts[host] {
		return true
	}
	return s.keyless && access.IsLoopback(host)
}

// dispatch calls the route of a path that has the method of the request.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, methods map[string]*api.Route) {
	st := stateOf(r)
	route := methods[r.Method]
	if route == nil {
		st.problem = api.MethodNotAllowed.New("This path does not have the method %.20q.", r.Method).Allow(slices.Sorted(maps.Keys(methods)))
		return
	}
	st.route = route
	if s.stopping() && !aboutItself(route) {
		w.Header().Set("Connection", "close")
		st.problem = api.Stopping.New("The server is stopping. Ask another one, or ask again.").After(stopRetryAfter)
		return
	}
	if err := s.serve(w, r, st); err != nil && !errors.Is(err, api.ErrSent) {
		st.problem = api.ProblemOf(err)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.api.Note(st.problem)
	}
}

// stopRetryAfter is after how many seconds a client should ask again when the server stops.
const stopRetryAfter = 2

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// aboutItself reports whether a route says how the server is doing.
func aboutItself(r *api.Route) bool {
	return r.Name == "health" || r.Name == "ready" || r.Name == "metrics"
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, st *state) error {
	if err := s.origins.Check(r); err != nil {
		return api.Forbidden.New("The request comes from a page of another site.")
	}
	c := &api.Call{Route: st.route, W: w, R: r, RequestID: st.id, Correlation: correlation(r)}
	caller, err := s.o.Identify(r)
	open := st.route.Roles == 0 && !st.route.AnyCaller || err != nil && st.route.Local && s.gated && access.IsLocal(r)
	switch {
	case err == nil:
		st.caller, c.Caller = caller, caller
	case !open:
		return err
	}
	if err := allowed(st.route, &c.Caller); !open && err != nil {
		return err
	}
	if err := c.CheckQuery(); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	c.Again = func() error {
		now, err := s.o.Identify(r)
		if err == nil && now.Owner != caller.Owner {
			err = api.Forbidden.New("The owner of the key has changed.")
		}
		if err == nil {
			err = allowed(st.route, &now)
		}
		return err
	}
	return st.route.Handle(s.api, c)
}

// allowed returns a *Problem unless the caller may use the route. Its handler decides about single
// jobs.
func allowed(r *api.Route, c *access.Caller) error {
	wanted := r.Roles
	if c.Owner != "" && r.Owner == api.Own {
		wanted |= access.Submit
	}
	switch {
	case r.Roles != 0 && !c.Roles.Any(wanted):
		return api.Forbidden.New("The caller has the roles %q; this needs one of %q.", c.Roles, wanted)
	case c.Owner != "" && r.Owner == api.NoOwner && !r.AnyCaller:
		return api.Forbidden.New("A caller that is restricted to the jobs of an owner may not do this.")
	}
	return nil
}
