package mail

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

const (
	mailsMax = 100              // the maximum number of mails of a connection
	idleMax  = 10 * time.Second // how long a connection is kept without a mail
)

// connection is a connection to the mail server, over which some mails were sent.
type connection struct {
	server *smtp.Client
	mails  int
	close  *time.Timer // closes the connection while it is idle
}

// connections are those that no mail uses.
type connections struct {
	mu  sync.Mutex
	all []*connection
}

// take returns the connection that was used last, or nil.
func (i *connections) take() *connection {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.all) > 0 {
		c := i.all[len(i.all)-1]
		i.all = i.all[:len(i.all)-1]
		if c.close.Stop() {
			return c
		}
	}
	return nil
}

// keep keeps a connection for the next mail.
func (i *connections) keep(c *connection) {
	i.mu.Lock()
	defer i.mu.Unlock()
	c.close = time.AfterFunc(idleMax, func() { i.drop(c) })
	i.all = append(i.all, c)
}

// drop closes a connection that has been idle for too long.
func (i *connections) drop(c *connection) {
	i.mu.Lock()
	i.all = slices.DeleteFunc(i.all, func(of *connection) bool { return of == c })
	i.mu.Unlock()
	leave(c)
}

// leave ends a connection. The server has taken or refused all its mails, so an error does not matter.
func leave(c *connection) {
	if c.server.Quit() != nil {
		_ = c.server.Close()
	}
}

// transmit sends a mail over a connection that is idle, or over a new one. If the server has closed the idle one, nothing was sent
// over it, and the mail goes over another.
func (s *Sender) transmit(ctx context.Context, m *gomail.Msg) error {
	for c := s.idle.take(); c != nil; c = s.idle.take() {
		err := s.over(c, m)
		if broken, ok := errors.AsType[*gomail.SendError](err); !ok || broken.Reason != gomail.ErrConnCheck {
			return err
		}
	}
	server, err := s.client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
	}
	return s.over(&connection{server: server}, m)
}

// over sends a mail over a connection, and keeps the connection if all went well.
func (s *Sender) over(c *connection, m *gomail.Msg) error {
	err := s.client.SendWithSMTPClient(c.server, m)
	switch c.mails++; {
	case err != nil:
		_ = c.server.Close()
	case c.mails >= mailsMax:
		leave(c)
	default:
		s.idle.keep(c)
	}
	return err
}
