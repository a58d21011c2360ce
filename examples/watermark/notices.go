package main

import (
	"context"
	"crypto/rand"
	"embed"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
	"github.com/redrive/redrive/notify/mail"
	"github.com/redrive/redrive/store"
)

// The texts of the mails replace the built-in ones, which say "jobs" and not "copies".
//
//go:embed mails
var mailTexts embed.FS

// shop is the receiver of webhooks.
const shop = "shop"

// announce publishes who hears of what: the owner of a campaign gets a mail about each copy that failed and
// about each end of the campaign, and the shop gets a webhook.
func (a *app) announce(ctx context.Context, address string) error {
	mails, err := notify.Preset(notify.PresetWatermark, "mail", "attr.owner_email")
	if err != nil {
		return err
	}
	hooks, err := notify.Preset(notify.PresetCampaignReady, "hook", shop)
	if err != nil {
		return err
	}
	by := redrive.By{Actor: "watermark"}
	_, err = a.client.PublishNotify(ctx, by, &notify.Rules{
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}},
		Rules:    []notify.Rule{mails, hooks},
	})
	if err != nil {
		return err
	}
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	if err != nil {
		return err
	}
	known, err := a.client.Endpoints(ctx)
	if err != nil {
		return err
	}
	e := redrive.Endpoint{Name: shop, Secret: make(store.WebhookSecret, store.WebhookSecretSize)}
	rand.Read(e.Secret)
	for i := range known {
		if known[i].Name == shop {
			e = known[i]
		}
	}
	// This receiver runs on this machine, so the endpoint must allow http and this address. A receiver elsewhere uses
	// https and needs no exceptions.
	e.URL, e.AllowHTTP, e.Allow, e.Ports = address+"/hook", true, []string{"127.0.0.0/8"}, []uint16{uint16(port)}
	e, err = a.client.PutEndpoint(ctx, by, e)
	a.box.secret = e.Secret.Reveal()
	return err
}

// deliver installs the senders of notices on the client of a worker.
func (a *app) deliver() error {
	texts, err := fs.Sub(mailTexts, "mails")
	if err != nil {
		return err
	}
	// This mail server runs on this machine, so it needs no TLS and no login. The server of a mail provider needs TLS, a
	// user name and a password.
	server := mail.Settings{Host: "127.0.0.1", Port: a.smtp, TLS: mail.NoTLS, Insecure: true, From: "Copies <no-reply@example.com>"}
	return deliver.Install(a.client, deliver.Options{Mail: map[string]mail.Settings{"mail": server}, Templates: texts})
}

// listen returns a listener on this machine and its port.
func listen(ctx context.Context) (net.Listener, int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	return l, l.Addr().(*net.TCPAddr).Port, nil
}

// outbox shows the mails that the caller has got.
func (s *site) outbox(w http.ResponseWriter, _ *http.Request, p *account) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, m := range s.box.lettersTo(p.Email) {
		if _, err := w.Write([]byte("Subject: " + m.subject + "\n\n" + m.text + "\n----\n")); err != nil {
			return nil //nolint:nilerr // the caller has gone
		}
	}
	return nil
}
