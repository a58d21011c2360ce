package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/server"
)

type serveCmd struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address to listen on. Port 0 takes a free port."`
	Work   bool   `help:"Run the jobs of the configuration in this process, too."`
	// InsecureHTTP allows addresses that other machines can reach.
	InsecureHTTP bool `name:"insecure-http" help:"Allow an address that other machines can reach, although keys cross the network unencrypted."`
}

// Help implements kong.HelpProvider.
func (*serveCmd) Help() string {
	return `The server answers requests under /api; GET /api/docs lists all of them. It prints its address when it is ready.
While the database has no access key, everybody on this machine may do everything; "redrive keys create" makes one. Where
other machines can reach the address, a key is always needed. See "redrive keys --help", and server in the configuration.

Without --work the server also does the upkeep of the database: redrives, cron entries, retention, and jobs of crashed
workers. With --work it runs the commands of the configuration as well, as "redrive work" does. Any number of servers and
workers can use one database at the same time.

After SIGINT or SIGTERM the server takes no new connections, answers the requests that it has, and ends. Running jobs
have shutdown_grace to end.

    redrive serve
    redrive serve --work --listen 127.0.0.1:9000`
}

// stopLimit is how long a server that stops waits for its last answers.
const stopLimit = 10 * time.Second

// Run implements the command.
func (c *serveCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if c.Work {
		if err := runnable(s); err != nil {
			return err
		}
	}
	callers, err := c.accessOf(&s.Server)
	if err != nil {
		return err
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server has closed it already, unless the start failed
	p, err := openPolicy(&s)
	if err != nil {
		return err
	}
	d, err := a.databaseOf(s.Config)
	if err != nil {
		return err
	}
	if err := d.absolute(); err != nil {
		return err
	}
	log := newLogger(a.stderr, a.styleOf(a.stderr), s.Log)
	db, err := d.openToWork(ctx, log)
	if err != nil {
		return err
	}
	w := &worker{settings: s, policy: p, screen: &live{w: a.stderr}, now: a.now, log: log, guard: proc.NewGuard(guardCommand), args: a.separateArgs()}
	defer w.guard.Close()
	newClient, keep := w.configured, (*redrive.Client).Keep
	if c.Work {
		newClient, keep = w.client, (*redrive.Client).Run
	}
	client, err := newClient(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	ctx, stop, release := w.stopOnSignals(ctx, client)
	defer release()
	defer closing(db, &err)
	defer w.keepPolicy(ctx, client, by{Reason: "the policy file has changed"}.actor(a))()
	defer stop()
	keyed, err := c.keyed(ctx, callers.Mode, client, job.At(a.now()))
	if err != nil {
		return err
	}
	options := serverOptions(&s, log, a.now)
	options.Access = callers
	handler, err := server.New(client, options)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "serving", "address", listener.Addr().String(), "database", d.String(), "work", c.Work, "policy", p.policy.Name(),
		"hash", policy.ShortHash(p.policy.Hash()))
	kept := goServe(func() error { return keep(client, ctx) })
	served := goServe(func() error { return serveHTTP(ctx, stop, listener, handler, log) })
	fmt.Fprint(a.out, greeting(listener.Addr().String(), d.String(), s.KindNames, keyed))
	if err := a.out.Flush(); err != nil {
		stop()
	}
	return w.returned(errors.Join(<-served, <-kept))
}

// goServe calls f in a goroutine and returns the channel of its error.
func goServe(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// greeting is what the command prints when it is ready: where it listens, and a request to try.
func greeting(address, database string, kinds []string, keyed bool) string {
	key := ""
	if keyed {
		key = " -H \"Authorization: Bearer $KEY\""
	}
	kind := "thumbnail"
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	return fmt.Sprintf("redrive serves %s at http://%s\n\nSubmit a job:\n\n    curl -d '{\"kind\":%q,\"payload\":{}}' -H 'Content-Type: application/json'%s http://%s/api/jobs\n\n",
		words.Clean(database), address, kind, key, address)
}

// listen opens the listener.
func (c *serveCmd) listen(ctx context.Context) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return nil, usagef("--listen %s: must be an address and a port, such as 127.0.0.1:8080", c.Listen)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", c.Listen, err)
	}
	return listener, nil
}

// serverOptions returns the options of the server for a configuration.
func serverOptions(s *settings, log *slog.Logger, now func() time.Time) server.Options {
	o := server.Options{PayloadMax: s.Limits.PayloadBytes, CompletedKept: s.Retention.Completed, Version: buildVersion(), Logger: log, Now: now, Hosts: s.Server.Hosts}
	o.HideEmails = s.HideEmails
	if s.file == "" {
		return o // without a configuration nothing says which kinds and queues exist
	}
	o.Queues, o.Kinds = s.QueueNames, make(map[string]server.KindOptions)
	for name, k := range s.Kinds {
		o.Kinds[name] = server.KindOptions{
			Queue: k.Queue, Priority: k.Priority, Text: k.Payload == config.PayloadText, Attempts: scheduledAttempts(s.Config, name),
			Owner: server.OwnerRules{
				Retry: k.Owner.Retry, MaxRetries: k.Owner.MaxRetries, Change: k.Owner.Change, Cancel: k.Owner.Cancel, NoFeedback: !k.Owner.Feedback,
			},
		}
	}
	return o
}

// serveHTTP serves until ctx ends, and then answers the requests that have arrived. The given
// function ends ctx.
func serveHTTP(ctx context.Context, stop func(), listener net.Listener, handler *server.Server, log *slog.Logger) error {
	s := &http.Server{
		Handler: handler, MaxHeaderBytes: api.HeaderMax,
		ReadHeaderTimeout: api.HeaderTime, ReadTimeout: api.HeaderTime + api.BodyTime, WriteTimeout: api.HeaderTime + api.BodyTime + api.WriteTime, IdleTimeout: api.IdleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := goServe(func() error { return s.Serve(listener) })
	select {
	case err := <-served:
		stop()
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	handler.Stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if err := s.Shutdown(last); err != nil {
		log.WarnContext(ctx, "some requests were not answered before the stop", "error", err)
		return errors.Join(s.Close())
	}
	return nil
}
