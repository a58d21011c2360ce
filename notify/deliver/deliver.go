// Package deliver sends the notices of a store: mails and webhooks. Notices are jobs of the kinds
// redrive.mail and redrive.webhook; Install registers the handlers of both on a client:
//
//	err := deliver.Install(client, deliver.Options{Mail: map[string]mail.Settings{"mail": settings}})
//
// A client without settings of a mail server sends webhooks only, and leaves mails to others.
package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/mail"
	"github.com/redrive/redrive/notify/webhook"
	"github.com/redrive/redrive/policy"
)

// Defaults of Options.
const (
	WorkersDefault = 16 // of Options.Workers
	SlotsDefault   = 4  // of Options.Slots
)

// The machine codes of notices that cannot be sent.
const (
	CodeUnknownChannel = "notify.unknown_channel" // the process has no mail server for the channel
	CodeNoAddress      = "notify.no_address"      // the program knows no address of the owner
	CodeUnknownWebhook = "webhook.unknown"        // there is no endpoint with this name
	CodeWebhookOff     = "webhook.off"            // the endpoint is off; a retry sends the webhook when it is on again
)

// The schedules of the two kinds. A policy that names a kind replaces its schedule.
var (
	// Ten mails in 32 hours.
	mailWaits = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 16 * time.Hour}
	// That of Standard Webhooks: ten attempts in 75 hours.
	webhookWaits = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
)

// Options configure how notices are sent. The zero value sends webhooks.
type Options struct {
	// Mail are the mail servers, by the names of the channels in the rules. None means that this
	// process sends no mail.
	Mail map[string]mail.Settings
	// Templates is a folder with texts of mails that replace the built-in ones; see Templates. The
	// default is no folder.
	Templates fs.FS
	// Address returns the e-mail address of an owner, for rules with the recipient "owner". "" means
	// that the owner has no address, which ends the job of the notice. The default knows no address.
	Address func(ctx context.Context, owner string) (string, error)
	// Webhook configures the sender of webhooks.
	Webhook webhook.Options
	// Workers is how many notices this process sends at a time.
	Workers int
	// Slots is how many of them go to one mail server or one endpoint at a time, so that one that
	// hangs does not hold up the others. Notices without a slot come back later. An endpoint whose
	// attempts take more than 2 s gets one slot.
	Slots int
}

// Install registers the handlers of notices on a client, and the queue on which they run. It must
// come before Run. The error names all mistakes of the mail servers and of the templates.
func Install(c *redrive.Client, o Options) error {
	o.Workers, o.Slots = cmp.Or(o.Workers, WorkersDefault), cmp.Or(o.Slots, SlotsDefault)
	now := o.Webhook.Now
	if now == nil {
		now = time.Now //nolint:forbidigo // the default clock of the sender
	}
	s := &sender{options: o, client: c, now: now, slots: slots{max: o.Slots, now: now, targets: make(map[string]*target)},
		hooks: webhook.New(o.Webhook), mails: make(map[string]*mail.Sender)}
	s.endpoints = endpoints{client: c, now: now}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Mail)) {
		m, err := mail.New(o.Mail[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("channel %s: %w", name, err))
		}
		s.mails[name] = m
	}
	var err error
	if s.texts, err = NewTemplates(o.Templates); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("install the senders of notices: %w", err)
	}
	if err := c.WorkQueue(notify.Queue, redrive.Queue{Workers: o.Workers}); err != nil {
		return err
	}
	err = redrive.TryHandleRaw(c, notify.KindWebhook, s.webhook, &redrive.HandlerOptions{Timeout: 30 * time.Second, KeepPayload: true,
		ScheduleDefault: &policy.Schedule{Waits: webhookWaits, Jitter: 0.1, RetryUnmarked: true}})
	if err != nil || len(s.mails) == 0 {
		return err
	}
	return redrive.TryHandleRaw(c, notify.KindMail, s.mail, &redrive.HandlerOptions{Timeout: time.Minute, KeepPayload: true,
		ScheduleDefault: &policy.Schedule{Waits: mailWaits, Jitter: 0.1}})
}

type sender struct {
	options   Options
	client    *redrive.Client
	now       func() time.Time
	slots     slots
	mails     map[string]*mail.Sender
	texts     *Templates
	hooks     *webhook.Sender
	endpoints endpoints
}

// refused ends the job of a notice that no repeat can send.
func refused(code string, err error) error {
	return failure.Permanent(failure.WithClass(failure.InvalidInput, failure.Code(code, err)))
}

// read reads the notice of a job.
func read(j *redrive.Job[[]byte]) (*notify.Notice, error) {
	n, err := notify.Read(j.Args)
	if err != nil {
		return nil, refused(redrive.CodeBadPayload, err)
	}
	return n, nil
}
