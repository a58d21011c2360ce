package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
)

// Times of a stop.
const (
	// lingerTime is how long a server that stops still takes connections, to tell clients that they
	// should ask another server.
	lingerTime = 500 * time.Millisecond
	// stopLimit is how long it then waits for its last answers.
	stopLimit = 10 * time.Second
)

// headerSlop is what http.Server reads beyond its MaxHeaderBytes. From a connection that has had a
// request before, it can read as much once more.
const headerSlop = 4 << 10

// serveHTTP serves until ctx ends, and then answers the requests that have arrived. Requests that come
// during the stop are refused with 503. The function stop ends ctx. When halted is closed, all
// connections are closed.
func serveHTTP(ctx context.Context, stop func(), halted <-chan struct{}, listener net.Listener, p *place, handler *server.Server, log *slog.Logger) error {
	s := &http.Server{
		Handler: handler, MaxHeaderBytes: api.HeaderMax - headerSlop,
		ReadHeaderTimeout: api.HeaderTime, ReadTimeout: api.HeaderTime + api.BodyTime, WriteTimeout: api.HeaderTime + api.BodyTime + api.WriteTime, IdleTimeout: api.IdleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	serve := func() error { return s.Serve(listener) }
	if p.tls != nil {
		s.TLSConfig = p.tls.config()
		serve = func() error { return s.ServeTLS(listener, "", "") }
	}
	served := goServe(serve)
	select {
	case err := <-served:
		stop()
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	handler.Stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lingerTime+stopLimit)
	defer cancel()
	go func() {
		select {
		case <-halted:
			cancel()
		case <-last.Done():
		}
	}()
	linger := time.NewTimer(lingerTime)
	defer linger.Stop()
	select {
	case <-linger.C:
	case <-last.Done():
	}
	if err := s.Shutdown(last); err != nil {
		log.WarnContext(ctx, "some requests were not answered before the stop", "error", err)
		return errors.Join(s.Close())
	}
	return nil
}
