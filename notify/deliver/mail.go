package deliver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/mail"
)

// mail is the handler of redrive.mail. Each attempt sends the same Message-ID and date.
func (s *sender) mail(ctx context.Context, j *redrive.Job[[]byte]) error {
	n, err := read(j)
	if err != nil {
		return err
	}
	server := s.mails[n.Channel]
	if server == nil { // another process may have it, so this is repeated
		known := slices.Sorted(maps.Keys(s.mails))
		return failure.Code(CodeUnknownChannel, fmt.Errorf("this process has no mail server for the channel %q, only for %s: add its settings, or stop using the channel",
			n.Channel, suggest.List(known)))
	}
	to, err := s.address(ctx, n.To)
	if err != nil {
		return err
	}
	subject, text, html, err := s.texts.Render(n)
	if err != nil {
		return fmt.Errorf("the text of the mail: %w", err)
	}
	leave, back := s.slots.enter(ctx, "mail:"+n.Channel)
	if leave == nil {
		return failure.Snooze(back)
	}
	defer leave()
	return server.Send(ctx, mail.Message{To: to, Subject: subject, Text: text, HTML: html, ID: n.ID, Date: job.Micros(n.MadeAt).Time()})
}

// address returns the address of a recipient.
func (s *sender) address(ctx context.Context, to string) (string, error) {
	owner, ok := strings.CutPrefix(to, notify.OwnerPrefix)
	if !ok {
		return to, nil
	}
	address := ""
	if s.options.Address != nil {
		var err error
		if address, err = s.options.Address(ctx, owner); err != nil {
			return "", fmt.Errorf("find the address of the owner %.80q: %w", owner, err)
		}
	}
	if address == "" {
		return "", refused(CodeNoAddress, fmt.Errorf("no address is known of the owner %.80q: use a program with deliver.Options.Address, or an attribute such as attr.owner_email", owner))
	}
	return address, nil
}
