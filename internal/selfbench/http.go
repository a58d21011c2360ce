package selfbench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
)

// httpFigures prints the figures of the HTTP server: on SQLite and, unless the DSN is empty, on
// PostgreSQL.
func (b *bencher) httpFigures(ctx context.Context, p *printer, in Seeded) error {
	places := []httpPlace{{name: "SQLite"}}
	if in.DSN != "" {
		places = append(places, httpPlace{name: "PostgreSQL", dsn: in.DSN})
	}
	for _, place := range places {
		if err := b.submitFigures(ctx, p, place); err != nil {
			return fmt.Errorf("%s: submit: %w", place.name, err)
		}
		if err := b.listenerFigures(ctx, p, place); err != nil {
			return fmt.Errorf("%s: listeners: %w", place.name, err)
		}
		here := in
		here.DSN = place.dsn
		if err := b.httpReadFigures(ctx, p, here); err != nil {
			return fmt.Errorf("%s: reads: %w", place.name, err)
		}
	}
	return nil
}

// ratio prints a rate and its target: a share of another rate of the same run. Without a share it
// prints the rate and the other one.
func (p *printer) ratio(name, unit string, rate float64, of string, base, share float64) error {
	f := Figure{name, fmt.Sprintf(">= %.2f x %s", share, of), round(rate), unit, round(base), rate >= share*base}
	if share == 0 {
		f.Target = "published beside " + of
	}
	return p.print(f)
}

// httpPlace is a store of the measurement: a new file, or a new schema of PostgreSQL.
type httpPlace struct{ name, dsn string }

// httpSite is a server with an HTTP listener on a new database.
type httpSite struct {
	store  store.Store
	client *redrive.Client
	server *server.Server
	place  soakPlace
	url    string
	web    *http.Server
	ran    atomic.Int64 // number of runs of jobs that have ended
}

// open starts a server on a new database.
func (p httpPlace) open(ctx context.Context, dir string, workers int) (site *httpSite, err error) {
	site = &httpSite{place: (&Soak{DSN: p.dsn, File: filepath.Join(dir, "http.db")}).place("")}
	if site.store, err = site.place.open(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, site.close())
		}
	}()
	if site.client, err = redrive.New(site.store, &redrive.Config{
		Queues:  map[string]redrive.Queue{redrive.DefaultQueue: {Workers: workers}},
		TempDir: filepath.Join(dir, "tmp"), Logger: slog.New(slog.DiscardHandler),
	}); err != nil {
		return nil, err
	}
	redrive.HandleRaw(site.client, "noop", func(context.Context, *redrive.Job[[]byte]) error { site.ran.Add(1); return nil }, nil)
	if site.server, err = newHTTPServer(site.client, nil); err != nil {
		return nil, err
	}
	site.web, site.url, err = listenHTTP(ctx, site.server)
	return site, err
}

// close stops the server and removes the database.
func (s *httpSite) close() error {
	var err error
	if s.web != nil {
		s.server.Stop()
		err = s.web.Close()
	}
	return errors.Join(err, s.store.Close(), s.place.remove(context.Background()))
}

// callerHeader names the caller: a caller may have only so many streams of events. An owner follows
// after a slash.
const callerHeader = "X-Bench-Caller"

// newHTTPServer makes a server whose callers may do everything.
func newHTTPServer(client *redrive.Client, now func() time.Time) (*server.Server, error) {
	return server.New(client, server.Options{
		Logger: slog.New(slog.DiscardHandler), Now: now,
		Identify: func(r *http.Request) (access.Caller, error) {
			return access.Caller{Actor: cmp.Or(r.Header.Get(callerHeader), "bench"), Roles: access.Administer}, nil
		},
	})
}

// listenHTTP serves a handler on a free port.
func listenHTTP(ctx context.Context, h http.Handler) (web *http.Server, url string, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	web = &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	go web.Serve(l) //nolint:errcheck // it ends with the measurement
	return web, "http://" + l.Addr().String(), nil
}

// bareHandler reads the body and answers: nothing that a server does for a job can be faster.
func bareHandler(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // no error check: the client notices an answer that is missing
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"id":"1","existing":false,"state":"waiting"}`+"\n")
}
