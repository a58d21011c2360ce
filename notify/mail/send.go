// Package mail sends mails to a mail server (SMTP), one recipient a mail, with TLS.
//
// A Sender makes one attempt. Call it in the handler of a job, and the policy of the job decides when
// it is repeated. The answers of the server are evidence for the classifier: 451 is repeated, and 550
// is not. A mail can arrive twice, if the server drops the connection after it has taken the mail.
// Give each mail an ID that is the same in all attempts, and mail programs see one mail.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/redrive/redrive/failure"
)

// TLS says how the connection to the mail server is encrypted.
type TLS string

// The values of TLS.
const (
	StartTLS TLS = "starttls" // begins without encryption and demands STARTTLS; the default
	Implicit TLS = "implicit" // encrypted from the start
	NoTLS    TLS = "none"     // not encrypted; needs Settings.Insecure
)

// Settings are those of a mail server.
type Settings struct {
	Host     string         // required
	Port     int            // the default is 587, and 465 for Implicit
	TLS      TLS            // the default is StartTLS
	Insecure bool           // allows NoTLS, for a server on the same machine or a test
	RootCAs  *x509.CertPool // certificates of the server; the default is the system's
	User     string         // "" means that the server needs no password
	Password string         // sent over TLS only
	From     string         // required; the sender's address, also with a name: Copies <no-reply@example.com>
	Timeout  time.Duration  // the time of one attempt; default 30 s
}

// validate fills in the defaults and returns one error with all mistakes.
func (s *Settings) validate() error {
	s.TLS, s.Timeout = cmp.Or(s.TLS, StartTLS), cmp.Or(s.Timeout, 30*time.Second)
	if s.Port == 0 {
		s.Port = 587
		if s.TLS == Implicit {
			s.Port = 465
		}
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("settings of the mail server: "+format, args...))
		}
	}
	check(s.Host != "" && !strings.ContainsAny(s.Host, " \r\n\x00"), "the host %.80q is empty or has a space: write one such as smtp.example.com", s.Host)
	check(s.Port >= 1 && s.Port <= 65535, "port %d must be 1 to 65535", s.Port)
	check(s.TLS == StartTLS || s.TLS == Implicit || s.TLS == NoTLS, "tls %.20q must be %s, %s or %s", string(s.TLS), StartTLS, Implicit, NoTLS)
	check(s.TLS != NoTLS || s.Insecure, "a mail server without TLS is refused: use %s or %s, or set insecure", StartTLS, Implicit)
	check(s.TLS != NoTLS || s.User == "", "a password is sent over TLS only: use %s or %s, or remove the user", StartTLS, Implicit)
	check(s.Timeout >= time.Second, "the timeout of %s must be at least 1s", s.Timeout)
	a, err := netmail.ParseAddress(s.From)
	check(err == nil && len(a.Address) <= AddressMax && !strings.ContainsAny(s.From, "\r\n\x00"),
		"from %.80q is not an address: write one such as Copies <no-reply@example.com>", s.From)
	return errors.Join(errs...)
}

// Sender sends mails. Any number of goroutines may use it at the same time. It keeps connections for the next
// mails: each for up to 100 mails, and for 10 s without one.
type Sender struct {
	settings Settings
	domain   string // the domain of the sender's address
	client   *gomail.Client
	idle     connections
}

// New returns a Sender. It does not connect to the server.
func New(s Settings) (*Sender, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	from, err := netmail.ParseAddress(s.From)
	if err != nil {
		return nil, err
	}
	sender := &Sender{settings: s, domain: from.Address[strings.LastIndexByte(from.Address, '@')+1:]}
	if sender.client, err = sender.newClient(); err != nil {
		return nil, fmt.Errorf("settings of the mail server: %w", err)
	}
	return sender, nil
}

// Message is a mail to one recipient.
type Message struct {
	To      string    // the address of the recipient
	Subject string    // one line; longer subjects than SubjectMax are shortened
	Text    string    // the mail as plain text; required
	HTML    string    // the same as HTML; "" means none
	ID      string    // 1 to 64 letters and digits, the same in all attempts; the part of the Message-ID before the @
	Date    time.Time // when the mail was made, the same in all attempts; required
}

func (m *Message) validate() error {
	if _, err := Address(m.To); err != nil {
		return err
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case m.ID == "" || len(m.ID) > 64 || strings.Trim(m.ID, letters) != "":
		return fmt.Errorf("the id %.80q of the mail must be 1 to 64 letters and digits", m.ID)
	case m.Date.IsZero():
		return errors.New("the mail has no date")
	case m.Text == "" || len(m.Text) > TextMax || len(m.HTML) > TextMax:
		return fmt.Errorf("the text has %d bytes and the HTML %d: a text has 1 to %d, and HTML at most %d", len(m.Text), len(m.HTML), TextMax, TextMax)
	}
	return nil
}

// ServerError is an answer of the mail server that refuses a mail.
type ServerError struct {
	Code     int    // such as 550
	Enhanced string // such as 5.1.1; "" if the server gives none
	cause    error
}

// Error implements error.
func (e *ServerError) Error() string { return "the mail server answered: " + e.cause.Error() }

// Unwrap returns the answer as it was read.
func (e *ServerError) Unwrap() error { return e.cause }

// Send makes one attempt. It returns nil if the server has taken the mail. A mistake in the message is
// an error that failure.Permanent has marked, in the class InvalidInput, and nothing is sent. A
// refusal is a *ServerError with the code smtp.NNN.
func (s *Sender) Send(ctx context.Context, m Message) error {
	if err := m.validate(); err != nil {
		return failure.Permanent(failure.WithClass(failure.InvalidInput, fmt.Errorf("send a mail: %w", err)))
	}
	msg, err := s.compose(&m)
	if err != nil {
		return failure.Permanent(failure.WithClass(failure.InvalidInput, fmt.Errorf("send a mail: %w", err)))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.settings.Timeout,
		fmt.Errorf("the mail server has not answered within %s: %w", s.settings.Timeout, context.DeadlineExceeded))
	defer cancel()
	err = s.transmit(ctx, msg)
	switch {
	case err == nil || msg.IsDelivered(): // an error after the server has taken the mail does not matter
		return nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("send a mail: %w", context.Cause(ctx))
	}
	return answered(err)
}

// compose makes the mail. The library encodes the headers.
func (s *Sender) compose(m *Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := msg.From(s.settings.From); err != nil {
		return nil, err
	}
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(line(m.Subject, SubjectMax))
	msg.SetMessageIDWithValue(m.ID + "@" + s.domain)
	msg.SetDateWithValue(m.Date)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, visible(m.Text))
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, visible(m.HTML))
	}
	return msg, nil
}

func (s *Sender) newClient() (*gomail.Client, error) {
	o := []gomail.Option{gomail.WithPort(s.settings.Port), gomail.WithTimeout(s.settings.Timeout),
		gomail.WithTLSConfig(&tls.Config{ServerName: s.settings.Host, RootCAs: s.settings.RootCAs, MinVersion: tls.VersionTLS12})}
	switch s.settings.TLS {
	case Implicit:
		o = append(o, gomail.WithSSL())
	case NoTLS:
		o = append(o, gomail.WithTLSPolicy(gomail.NoTLS))
	case StartTLS:
		o = append(o, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.settings.User != "" {
		o = append(o, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.settings.User), gomail.WithPassword(s.settings.Password))
	}
	return gomail.NewClient(s.settings.Host, o...)
}

// answered returns the error of an attempt as evidence.
func answered(err error) error {
	e := &ServerError{cause: err}
	if send, ok := errors.AsType[*gomail.SendError](err); ok {
		e.Code, e.Enhanced = send.ErrorCode(), send.EnhancedStatusCode()
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok && e.Code == 0 {
		e.Code = answer.Code
	}
	if e.Code == 0 {
		return fmt.Errorf("send a mail: %w", err)
	}
	return failure.Code("smtp."+strconv.Itoa(e.Code), e)
}
