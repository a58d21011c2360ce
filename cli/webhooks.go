package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type webhooksCmd struct {
	List   webhooksListCmd   `cmd:"" default:"withargs" help:"List the receivers of webhooks; \"webhooks\" does the same."`
	Add    webhooksAddCmd    `cmd:"" help:"Add a receiver of webhooks and print its secret once."`
	Show   webhooksShowCmd   `cmd:"" help:"Show a receiver of webhooks."`
	Test   webhooksTestCmd   `cmd:"" help:"Send a test to a receiver and wait for it."`
	Rotate webhooksRotateCmd `cmd:"" help:"Make a new secret for a receiver and print it once."`
	Off    webhooksOffCmd    `cmd:"" help:"Send nothing more to a receiver."`
	On     webhooksOnCmd     `cmd:"" help:"Turn a receiver on again."`
	Remove webhooksRemoveCmd `cmd:"" help:"Remove a receiver of webhooks."`
}

// Help implements kong.HelpProvider.
func (*webhooksCmd) Help() string {
	return `Receivers of webhooks are named by the rules of notifications. Each webhook is signed with the secret of its receiver
(https://www.standardwebhooks.com). A URL that leads into a private network is refused, at once or when it is dialled.

    redrive webhooks add shop https://shop.example.com/hooks
    redrive webhooks test shop
    redrive webhooks rotate shop --keep-old 1d
    redrive webhooks off shop --reason "moves to another host"`
}

type webhooksListCmd struct{ jsonFlag }

func (c *webhooksListCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	list, err := client.Endpoints(ctx)
	if err != nil {
		return fmt.Errorf("list the webhooks: %w", err)
	}
	now := job.At(a.now())
	if c.JSON {
		return a.printJSON(map[string]any{"webhooks": wire.WebhooksOf(list, now)})
	}
	out := a.styleOf(a.stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.out, out.faint("no webhooks; add one: redrive webhooks add NAME URL"))
		return nil
	}
	t := table{columns: []column{{title: "WEBHOOK"}, {title: "STATE", loose: true}, {title: "DELIVERED", right: true}, {title: "FAILED", right: true}, {title: "LAST SUCCESS"}, {title: "URL", loose: true}}}
	for i := range list {
		e := &list[i]
		last := "-"
		if e.DeliveredAt > 0 {
			last = words.Away(e.DeliveredAt, now)
		}
		t.add(e.Name, words.WebhookState(e, now), strconv.FormatInt(e.Delivered, 10), strconv.FormatInt(e.Failed, 10), last, words.Clean(e.ShownURL()))
	}
	t.print(a.out, out)
	return nil
}

// webhookArg names a receiver of webhooks.
type webhookArg struct {
	Webhook string `arg:"" help:"Name of the webhook."`
}

// find opens the database and returns the receiver. The caller closes the database.
func (c *webhookArg) find(ctx context.Context, a *app) (*redrive.Client, io.Closer, redrive.Endpoint, error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return nil, nil, redrive.Endpoint{}, err
	}
	list, err := client.Endpoints(ctx)
	if err != nil {
		return nil, nil, redrive.Endpoint{}, errors.Join(fmt.Errorf("read the webhooks: %w", err), db.Close())
	}
	names := make([]string, len(list))
	for i := range list {
		if names[i] = list[i].Name; names[i] == c.Webhook {
			return client, db, list[i], nil
		}
	}
	return nil, nil, redrive.Endpoint{}, errors.Join(absentError(suggest.Unknown("webhook", c.Webhook, names)), db.Close())
}

type webhooksAddCmd struct {
	by
	jsonFlag
	Name       string   `arg:"" help:"Name of the receiver, for the rules: 1 to 64 of a-z, 0-9, '_', '.' and '-'."`
	URL        string   `arg:"" help:"Where webhooks are sent; begins with https."`
	Allow      []string `placeholder:"NETWORK" help:"Allow a private network such as 10.20.0.0/16. Can be repeated."`
	Port       []uint16 `placeholder:"PORT" help:"Allow another port than 443. Can be repeated."`
	AllowHTTP  bool     `name:"allow-http" help:"Allow a URL that begins with http, without TLS, for a test."`
	SecretFile string   `placeholder:"FILE" help:"Take the secret from a file (\"-\": standard input): whsec_ and base64. By default a new one is made."`
}

// Help implements kong.HelpProvider.
func (*webhooksAddCmd) Help() string {
	return `The first line of the output is the secret, in the form that the libraries of Standard Webhooks take. It is printed only
now. Unlike an access key, it is in the database as it is, because each webhook is signed with it: who can read the
database or a backup of it can read the secret.

    redrive webhooks add shop https://shop.example.com/hooks`
}

func (c *webhooksAddCmd) Run(ctx context.Context, a *app) (err error) {
	e := redrive.Endpoint{Name: c.Name, URL: c.URL, Allow: c.Allow, Ports: c.Port, AllowHTTP: c.AllowHTTP}
	if e.Secret, err = a.webhookSecret(c.SecretFile); err != nil {
		return err
	}
	if err := e.Validate(); err != nil {
		return usagef("%w", err)
	}
	d, err := a.database()
	if err != nil {
		return err
	}
	db, err := d.openOrCreate(ctx, a) // the first webhook may be the first thing in a database
	if err != nil {
		return err
	}
	defer closing(db, &err)
	client, err := db.operator(nil, nil)
	if err != nil {
		return err
	}
	return a.putWebhook(ctx, client, c.actor(a), e, c.JSON)
}

// webhookSecret reads a secret from a file, or makes one.
func (a *app) webhookSecret(file string) (redrive.WebhookSecret, error) {
	if file == "" {
		secret := make(redrive.WebhookSecret, redrive.WebhookSecretSize)
		_, err := rand.Read(secret)
		return secret, err //nolint:wrapcheck // rand.Read never returns an error
	}
	in, err := a.input(file)
	if err != nil {
		return nil, fmt.Errorf("--secret-file: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 4<<10))
	if err != nil {
		return nil, fmt.Errorf("read the secret: %w", err)
	}
	secret, err := redrive.ParseWebhookSecret(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, usagef("--secret-file %s: %w", file, err)
	}
	return secret, nil
}

// putWebhook stores a receiver with a new secret, and prints both.
func (a *app) putWebhook(ctx context.Context, client *redrive.Client, by redrive.By, e redrive.Endpoint, asJSON bool) error {
	stored, err := client.PutEndpoint(ctx, by, e)
	if err != nil {
		return fmt.Errorf("store the webhook: %w", err)
	}
	now := job.At(a.now())
	if asJSON {
		return a.printJSON(wire.NewWebhook{Webhook: wire.WebhookOf(&stored, now), Secret: stored.Secret.Reveal(), Note: wire.SecretNote})
	}
	fmt.Fprintln(a.out, stored.Secret.Reveal())
	if err := a.out.Flush(); err != nil { // the secret comes before the note about it
		return fmt.Errorf("write the secret: %w", err)
	}
	fmt.Fprintf(a.stderr, "webhook %s: keep the secret, it is not shown again\n%s\n", stored.Name, wire.SecretNote)
	if stored.OldUntil > now {
		fmt.Fprintln(a.stderr, "webhooks are signed with the old secret, too, until "+words.Time(stored.OldUntil))
	}
	return nil
}

type webhooksShowCmd struct {
	jsonFlag
	webhookArg
}

func (c *webhooksShowCmd) Run(ctx context.Context, a *app) (err error) {
	_, db, e, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return a.printWebhook(&e, c.JSON)
}

func (a *app) printWebhook(e *redrive.Endpoint, asJSON bool) error {
	now := job.At(a.now())
	if asJSON {
		return a.printJSON(wire.WebhookOf(e, now))
	}
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "%-13s %s\n", what, words.Clean(text))
		}
	}
	line("webhook", e.Name)
	line("url", e.ShownURL())
	line("state", words.WebhookState(e, now))
	line("delivered", strconv.FormatInt(e.Delivered, 10))
	line("failed", strconv.FormatInt(e.Failed, 10))
	if e.DeliveredAt > 0 {
		line("last success", words.Time(e.DeliveredAt))
	}
	if e.OldUntil > now {
		line("old secret", "signs, too, until "+words.Time(e.OldUntil))
	}
	line("networks", strings.Join(e.Allow, ", "))
	line("added", words.Time(e.CreatedAt)+" by "+e.CreatedBy)
	return nil
}

type webhooksRotateCmd struct {
	by
	jsonFlag
	webhookArg
	KeepOld    span   `default:"1d" placeholder:"TIME" help:"Time for which webhooks are signed with the old secret, too: 0s to 7d. Default: 1d."`
	SecretFile string `placeholder:"FILE" help:"Take the secret from a file (\"-\": standard input). By default a new one is made."`
}

func (c *webhooksRotateCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, e, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if e.Secret, err = a.webhookSecret(c.SecretFile); err != nil {
		return err
	}
	e.KeepOld = time.Duration(c.KeepOld)
	return a.putWebhook(ctx, client, c.actor(a), e, c.JSON)
}

type webhooksOffCmd struct {
	by
	jsonFlag
	webhookArg
}

func (c *webhooksOffCmd) Run(ctx context.Context, a *app) error {
	return a.turnWebhook(ctx, &c.webhookArg, c.actor(a), redrive.EndpointOffByPerson, c.JSON)
}

type webhooksOnCmd struct {
	by
	jsonFlag
	webhookArg
}

// Help implements kong.HelpProvider.
func (*webhooksOnCmd) Help() string {
	return `What died while the receiver was off is sent by a retry:

    redrive webhooks on shop
    redrive dlq retry --kind redrive.webhook --code webhook.off`
}

func (c *webhooksOnCmd) Run(ctx context.Context, a *app) error {
	return a.turnWebhook(ctx, &c.webhookArg, c.actor(a), "", c.JSON)
}

func (a *app) turnWebhook(ctx context.Context, arg *webhookArg, by redrive.By, off string, asJSON bool) (err error) {
	client, db, e, err := arg.find(ctx, a)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	e.Off = off
	if e, err = client.PutEndpoint(ctx, by, e); err != nil {
		return fmt.Errorf("turn the webhook on or off: %w", err)
	}
	return a.printWebhook(&e, asJSON)
}

type webhooksRemoveCmd struct {
	by
	webhookArg
}

func (c *webhooksRemoveCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, e, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if err := client.RemoveEndpoint(ctx, c.actor(a), e.Name); err != nil {
		return fmt.Errorf("remove the webhook: %w", err)
	}
	fmt.Fprintf(a.out, "webhook %s is removed\n", e.Name)
	return nil
}
