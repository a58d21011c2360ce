package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
	"github.com/redrive/redrive/server"
)

type serveCmd struct {
	Listen string `placeholder:"ADDR" help:"Address to listen on, or unix:PATH. Port 0 takes a free port. Default: server.listen of the configuration, otherwise 127.0.0.1:8080."`
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

After SIGINT or SIGTERM the server answers the requests that it has, refuses new ones with 503 for a moment, and ends.
Running jobs have shutdown_grace to end. A second signal closes all connections and ends running jobs at once. A change
of the files of server.tls takes effect without a restart.

    redrive serve
    redrive serve --work --listen 127.0.0.1:9000
    redrive serve --listen unix:redrive.sock`
}

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
	at, err := c.placeOf(&s, a.now)
	if err != nil {
		return err
	}
	callers, err := c.accessOf(&s.Server, &at)
	if err != nil {
		return err
	}
	listener, err := at.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // the server has closed it already, unless the start failed
	log := newLogger(a.stderr, a.styleOf(a.stderr), s.Log)
	if at.tls != nil {
		at.tls.log = log
	}
	w, db, err := a.openWorker(ctx, s, &live{w: a.stderr}, log)
	if err != nil {
		return err
	}
	defer w.guard.Close()
	w.args = a.separateArgs()
	newClient, keep := w.configured, (*redrive.Client).Keep
	if c.Work {
		newClient, keep = w.client, (*redrive.Client).Run
	}
	client, err := newClient(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := w.notify(ctx, client, by{Reason: "start"}.actor(a), c.Work); err != nil {
		return errors.Join(err, db.Close())
	}
	later, err := w.laterSender(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	halted := make(chan struct{})
	ctx, stop, release := w.stopOnSignals(ctx, client, func() { close(halted) }, later.Halt)
	defer release()
	defer closing(db, &err)
	defer w.keepPolicy(ctx, client, by{Reason: "the policy file has changed"}.actor(a))()
	defer w.keepNotify(ctx, client)()
	if c.Work {
		defer w.sendLater(ctx, later)()
	}
	defer stop()
	keyed, err := keyed(ctx, &at, callers.Mode, client, job.At(a.now()))
	if err != nil {
		return err
	}
	options := serverOptions(&s, log, a.now)
	options.Access = callers
	handler, err := server.New(client, options)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "serving", "address", listener.Addr().String(), "database", w.database.String(), "work", c.Work, "policy", w.policy.policy.Name(),
		"hash", policy.ShortHash(w.policy.policy.Hash()))
	kept := goServe(func() error { return keep(client, ctx) })
	served := goServe(func() error { return serveHTTP(ctx, stop, halted, listener, &at, handler, log) })
	fmt.Fprint(a.out, greeting(at.url(listener), w.database.String(), s.KindNames, keyed))
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
func greeting(url, database string, kinds []string, keyed bool) string {
	key := ""
	if keyed {
		key = " -H \"Authorization: Bearer $KEY\""
	}
	kind := "thumbnail"
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	pages := ""
	if strings.HasPrefix(url, "http") { // a browser cannot open a Unix socket
		pages = "Pages for people: " + url + "/ui/\n\n"
	}
	return fmt.Sprintf("redrive serves %s at %s\n\n%sSubmit a job:\n\n    curl -d '{\"kind\":%q,\"payload\":{}}' -H 'Content-Type: application/json'%s %s/api/jobs\n\n",
		words.Clean(database), strings.TrimPrefix(url, "--unix-socket "), pages, kind, key, url)
}

// serverOptions returns the options of the server for a configuration.
func serverOptions(s *settings, log *slog.Logger, now func() time.Time) server.Options {
	o := server.Options{PayloadMax: s.Limits.PayloadBytes, CompletedKept: s.Retention.Completed, Version: buildVersion(), Logger: log, Now: now, Hosts: s.Server.Hosts}
	o.HideEmails, o.Environment = s.HideEmails, s.Server.Environment
	for _, l := range s.Server.Links {
		o.Links = append(o.Links, server.Link(l))
	}
	if s.file == "" {
		return o // without a configuration nothing says which kinds and queues exist
	}
	o.Queues, o.Kinds = s.QueueNames, make(map[string]server.KindOptions)
	o.Limits = make(map[string]redrive.Queue, len(s.Queues))
	for name, q := range s.Queues {
		o.Limits[name] = redrive.Queue{Limit: q.Limit, Rate: redrive.Rate(q.Rate)}
	}
	for name, k := range s.Kinds {
		o.Kinds[name] = server.KindOptions{
			Limit: k.Limit, Rate: redrive.Rate(k.Rate),
			Queue: k.Queue, Priority: k.Priority, Text: k.Payload == config.PayloadText, Attempts: scheduledAttempts(s.Config, name),
			Owner: server.OwnerRules{
				Retry: k.Owner.Retry, MaxRetries: k.Owner.MaxRetries, Change: k.Owner.Change, Cancel: k.Owner.Cancel, NoFeedback: !k.Owner.Feedback,
			},
		}
	}
	o.Doors = make(map[string]server.Door, len(s.Server.Doors))
	for name, d := range s.Server.Doors {
		o.Doors[name] = server.Door{Path: d.Path, Kind: d.Kind, Words: presetWords(d.Words)}
	}
	return o
}

// presetWords returns the words of a preset, or nil for those of the policy in force.
func presetWords(name string) *policy.Words {
	text, ok := preset.Text(name)
	if !ok {
		return nil
	}
	f, err := policyfile.Parse(name, text)
	if err != nil {
		panic("the presets are valid policies: " + err.Error())
	}
	return &f.Spec.Words
}
