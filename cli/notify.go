package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
	"github.com/redrive/redrive/notify/mail"
	"github.com/redrive/redrive/policy"
)

type notifyCmd struct {
	Show    notifyShowCmd    `cmd:"" default:"withargs" help:"Show the rules in force; \"notify\" does the same."`
	Publish notifyPublishCmd `cmd:"" help:"Put the rules of the configuration in force for all processes."`
	Off     notifyOffCmd     `cmd:"" help:"Take all rules back: no notices are made any more."`
}

// Help implements kong.HelpProvider.
func (*notifyCmd) Help() string {
	return `The rules of notifications say who hears of what, by mail and by webhooks. They are in the section "notify" of the
configuration. "redrive work" and "redrive serve" publish them when they start, and so does "redrive notify publish". One set of
rules is in force for all processes of a database. Settings of mail servers stay in the configuration of each process.

    redrive notify
    redrive notify publish --reason "mails to the owners"
    redrive notify off`
}

type notifyShowCmd struct{ jsonFlag }

func (c *notifyShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	in, err := client.NotifyRules(ctx)
	if err != nil {
		return err
	}
	shown := wire.NotifyRules{NotifyRules: in, Rules: in.Body}
	if own := a.known().Notify.Rules; own != nil {
		_, hash := own.Encode()
		shown.Same = new(hash == in.Hash)
	}
	if c.JSON {
		return a.printJSON(shown)
	}
	return a.printNotify(&shown)
}

func (a *app) printNotify(n *wire.NotifyRules) error {
	if n.Hash == "" {
		fmt.Fprintln(a.out, "no rules are in force: nobody hears of anything")
	} else {
		rules, err := notify.Decode(n.Body)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "rules %d, %s, published %s by %s\n", n.Number, policy.ShortHash(n.Hash), words.Time(n.At), words.Clean(n.By))
		t := table{columns: []column{{title: "ON", loose: true}, {title: "CHANNEL"}, {title: "TO", loose: true}, {title: "HOW", loose: true}}}
		for i := range rules.Rules {
			r := &rules.Rules[i]
			on := make([]string, len(r.On))
			for k, e := range r.On {
				on[k] = string(e)
			}
			t.add(strings.Join(on, " "), r.Channel, words.Clean(strings.Join(r.To, " ")), howOf(r))
		}
		t.print(a.out, a.styleOf(a.stdout))
	}
	if n.Same != nil && !*n.Same {
		fmt.Fprintln(a.out, "the configuration has other rules; put them in force with: redrive notify publish")
	}
	return nil
}

// howOf describes the settings of a rule that are not the defaults.
func howOf(r *notify.Rule) string {
	var all []string
	for _, m := range []struct{ name, value string }{{"kind", r.Match.Kind}, {"queue", r.Match.Queue}, {"owner", r.Match.Owner},
		{"class", r.Match.Class}, {"reason", r.Match.Reason}, {"code", r.Match.Code}} {
		if m.value != "" {
			all = append(all, m.name+" "+words.Clean(m.value))
		}
	}
	if r.Team {
		all = append(all, "team")
	}
	if r.Every {
		all = append(all, "every one")
	}
	if r.Type != "" {
		all = append(all, "as "+r.Type)
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

type notifyPublishCmd struct{ by }

func (c *notifyPublishCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if s.Notify.Rules == nil {
		return usagef("%s has no section \"notify\"; add one, or take the rules back with: redrive notify off", cmp.Or(s.file, defaultConfig))
	}
	return c.publish(ctx, a, s.Notify.Rules)
}

type notifyOffCmd struct{ by }

func (c *notifyOffCmd) Run(ctx context.Context, a *app) error { return c.publish(ctx, a, nil) }

func (b by) publish(ctx context.Context, a *app, rules *notify.Rules) (err error) {
	d, err := a.database()
	if err != nil {
		return err
	}
	db, err := d.openOrCreate(ctx, a) // rules may be the first thing in a database
	if err != nil {
		return err
	}
	defer closing(db, &err)
	client, err := db.operator(nil, nil)
	if err != nil {
		return err
	}
	before, err := client.NotifyRules(ctx)
	if err != nil {
		return err
	}
	in, err := client.PublishNotify(ctx, b.actor(a), rules)
	switch {
	case err != nil:
		return err
	case in.Number == before.Number && in.Hash == "":
		fmt.Fprintln(a.out, "no rules were in force")
	case in.Number == before.Number:
		fmt.Fprintf(a.out, "these rules are in force already, as number %d\n", in.Number)
	case rules == nil:
		fmt.Fprintln(a.out, "the rules are taken back: no notices are made any more; what waits in open windows is still sent")
	default:
		fmt.Fprintf(a.out, "rules %d are in force, %s\n", in.Number, policy.ShortHash(in.Hash))
	}
	return nil
}

// notify installs the senders of notices on a client that runs jobs, and publishes the rules of the
// configuration. A process without the section "notify" sends webhooks if the database has rules or
// receivers, or gets them later; see sendLater.
func (w *worker) notify(ctx context.Context, client *redrive.Client, by redrive.By, work bool) error {
	n := &w.Notify
	servers, err := mailServers(n)
	if err != nil {
		return err
	}
	in, err := client.NotifyRules(ctx)
	if err != nil {
		return err
	}
	needed, err := sends(ctx, client)
	if err != nil {
		return err
	}
	if w.sends = work && (n.Rules != nil || needed); w.sends {
		o := deliver.Options{Mail: servers}
		if n.Templates != "" {
			o.Templates = os.DirFS(n.Templates)
		}
		if err := deliver.Install(client, o); err != nil {
			return err
		}
	}
	if n.Rules == nil {
		return nil
	}
	out, err := client.PublishNotify(ctx, by, n.Rules)
	if err == nil && out.Number != in.Number {
		w.log.InfoContext(ctx, "rules of notifications are in force", "number", out.Number, "hash", policy.ShortHash(out.Hash))
	}
	return err
}

// rulesEvery is the time between two looks at the rules of notifications in force.
const rulesEvery = time.Hour

// keepNotify looks every hour, until the context ends, whether the rules in force are still those of the configuration.
// The returned function waits until this has stopped.
func (w *worker) keepNotify(ctx context.Context, client *redrive.Client) (wait func()) {
	if w.Notify.Rules == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(rulesEvery)
		defer ticker.Stop()
		w.compareRules(ctx, client.NotifyRules, ticker.C)
	}()
	return func() { <-ended }
}

// compareRules logs at each tick if another process has put other rules in force than those of the configuration.
func (w *worker) compareRules(ctx context.Context, inForce func(context.Context) (redrive.NotifyRules, error), tick <-chan time.Time) {
	_, own := w.Notify.Rules.Encode()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		in, err := inForce(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			w.log.WarnContext(ctx, "the rules of notifications could not be read", "error", err)
		case in.Hash != own:
			w.log.WarnContext(ctx, "the rules of notifications in force are not those of this configuration; redrive notify publish puts these in force",
				"number", in.Number, "hash", policy.ShortHash(in.Hash), "published_by", in.By, "own_hash", policy.ShortHash(own))
		}
	}
}

// mailServers returns the settings of the mail servers, with their passwords.
func mailServers(n *config.Notify) (map[string]mail.Settings, error) {
	if len(n.Servers) == 0 {
		return nil, nil
	}
	all := make(map[string]mail.Settings, len(n.Servers))
	var errs []error
	for _, name := range n.Names() {
		s := n.Servers[name]
		password := ""
		if s.PasswordEnv != "" {
			if password = os.Getenv(s.PasswordEnv); password == "" {
				errs = append(errs, usagef("notify.channels.%s.smtp: the environment variable %s is empty or not set; set it to the password of the mail server", name, s.PasswordEnv))
			}
		}
		all[name] = mail.Settings{Host: s.Host, Port: s.Port, TLS: mail.TLS(s.TLS), Insecure: s.Insecure, User: s.User, Password: password, From: s.From}
	}
	return all, errors.Join(errs...)
}
