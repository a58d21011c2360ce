package mail_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify/mail"
	"github.com/redrive/redrive/policy"
)

// server is a mail server that answers by script: each step is the answer to one mail.
type server struct {
	mu     sync.Mutex
	script []step
	mails  []string
	cert   tls.Certificate
	roots  *x509.CertPool
	port   int
	conns  map[string]net.Conn // by the address of the sender
}

type step struct {
	rcpt, data *smtp.SMTPError
	drop       bool // takes the mail and drops the connection before the answer
}

func newServer(t *testing.T, withTLS bool, script ...step) *server {
	t.Helper()
	web := httptest.NewTLSServer(nil) // only for its certificate
	t.Cleanup(web.Close)
	s := &server{script: script, cert: web.TLS.Certificates[0], roots: x509.NewCertPool()}
	s.roots.AddCert(web.Certificate())
	srv := smtp.NewServer(s)
	srv.Domain, srv.AllowInsecureAuth = "127.0.0.1", false
	if withTLS {
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{s.cert}}
	}
	srv.ErrorLog = discard{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return s
}

type discard struct{}

func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}

func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	se := &session{server: s, conn: c}
	if s.conns == nil {
		s.conns = make(map[string]net.Conn)
	}
	s.conns[c.Conn().RemoteAddr().String()] = c.Conn()
	return se, nil
}

type session struct {
	server *server
	conn   *smtp.Conn
	now    step
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "u" || password != "p" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "Authentication credentials invalid"}
		}
		return nil
	}), nil
}

func (s *session) Mail(string, *smtp.MailOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.now = step{}
	if len(s.server.script) > 0 {
		s.now, s.server.script = s.server.script[0], s.server.script[1:]
	}
	return nil
}

func (s *session) Rcpt(string, *smtp.RcptOptions) error {
	if s.now.rcpt != nil {
		return s.now.rcpt
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	if s.now.data != nil {
		return s.now.data
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	s.server.mails = append(s.server.mails, string(body))
	s.server.mu.Unlock()
	if s.now.drop {
		_ = s.conn.Conn().Close()
	}
	return nil
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }

func (s *server) sender(t *testing.T, change func(*mail.Settings)) *mail.Sender {
	t.Helper()
	settings := mail.Settings{Host: "127.0.0.1", Port: s.port, RootCAs: s.roots, From: "Copies <no-reply@example.com>", Timeout: 20 * time.Second}
	if change != nil {
		change(&settings)
	}
	sender, err := mail.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return sender
}

var message = mail.Message{To: "ann@example.org", Subject: "Two copies failed", Text: "Two copies failed.\n", HTML: "<p>Two copies failed.</p>",
	ID: "0123456789abcdef0123456789abcdef", Date: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

// read returns the headers and the parts of a mail, decoded.
func read(t *testing.T, raw string) (h netmail.Header, parts map[string]string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("parse the mail: %v\n%s", err, raw)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts = make(map[string]string)
	if !strings.HasPrefix(kind, "multipart/") {
		body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		parts[kind] = string(body)
		return m.Header, parts
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextPart() // it decodes quoted-printable
		if errors.Is(err, io.EOF) {
			return m.Header, parts
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		parts[kind] = string(body)
	}
}

func TestSend_AMailIsWhole(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*mail.Settings){
		"STARTTLS":                nil,
		"STARTTLS and a password": func(s *mail.Settings) { s.User, s.Password = "u", "p" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, true)
			if err := srv.sender(t, change).Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			if len(srv.mails) != 1 {
				t.Fatalf("the server has %d mails, want 1", len(srv.mails))
			}
			h, parts := read(t, srv.mails[0])
			for header, want := range map[string]string{
				"Message-Id": "<0123456789abcdef0123456789abcdef@example.com>", "Auto-Submitted": "auto-generated", "Subject": "Two copies failed",
				"To": "<ann@example.org>", "From": `"Copies" <no-reply@example.com>`, "Date": "Sun, 01 Mar 2026 12:00:00 +0000",
			} {
				if got := h.Get(header); got != want {
					t.Errorf("header %s: got %q, want %q", header, got, want)
				}
			}
			if parts["text/plain"] == "" || strings.TrimSpace(parts["text/html"]) != "<p>Two copies failed.</p>" {
				t.Errorf("the mail has the parts %q, want text and HTML", parts)
			}
		})
	}
}

// part of: N2, F11
func TestSend_HostileTextIsText(t *testing.T) {
	t.Parallel()
	srv := newServer(t, true)
	m := message
	m.Subject = "a\r\nBcc: eve@example.org\r\n\r\n\x00<b>\u202etxt " + strings.Repeat("long ", 2_000)
	m.Text = "data:text/html,<script>\x00\u202e\r\n.\r\nQUIT\r\n" + strings.Repeat("x", 10_000)
	m.HTML = ""
	if err := srv.sender(t, nil).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	h, parts := read(t, srv.mails[0])
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	if h.Get("Bcc") != "" || !strings.HasPrefix(subject, "a Bcc: eve@example.org <b>txt long") || len([]rune(subject)) > mail.SubjectMax {
		t.Errorf("the subject is %.80q and there is the header Bcc %q, want one line of text", subject, h.Get("Bcc"))
	}
	body := parts["text/plain"]
	if !strings.Contains(body, "\n.\n") && !strings.Contains(body, "\n.\r\n") || !strings.Contains(body, "QUIT") ||
		strings.ContainsAny(body, "\x00\u202e") || !strings.Contains(body, strings.Repeat("x", 10_000)) {
		t.Errorf("the text is %.80q, want the whole text without invisible characters", body)
	}
}

// class returns the class and the action that the default policy finds for an error.
func class(t *testing.T, err error) (string, bool) {
	t.Helper()
	e := failure.Of(err)
	c := policy.Default().Classify(&e, "mail")
	return string(c.Class), c.Class.Verdict() == failure.VerdictPermanent
}

// part of: N2
func TestSend_AnswersAreEvidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step      step
		code      string
		permanent bool
	}{
		"550 no such user": {step{rcpt: &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user here"}}, "smtp.550", true},
		"451 greylisted":   {step{rcpt: &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "Greylisting in action, please come back later"}}, "smtp.451", false},
		"454 after DATA":   {step{data: &smtp.SMTPError{Code: 454, EnhancedCode: smtp.EnhancedCode{4, 7, 0}, Message: "Temporary authentication failure"}}, "smtp.454", false},
		"421 half way":     {step{data: &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "Service not available, closing transmission channel"}}, "smtp.421", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, true, c.step)
			err := srv.sender(t, nil).Send(t.Context(), message)
			answer, ok := errors.AsType[*mail.ServerError](err)
			if !ok {
				t.Fatalf("the error is %v, want the answer of the server", err)
			}
			e := failure.Of(err)
			found, permanent := class(t, err)
			if e.Code != c.code || permanent != c.permanent {
				t.Errorf("%v (enhanced status %q): got the code %s, class %s, permanent %v; want %s, permanent %v", err, answer.Enhanced, e.Code, found, permanent, c.code, c.permanent)
			}
		})
	}
}

// A server that takes a mail and drops the connection gets the mail again, with the same Message-ID.
// part of: N2, I3
func TestN2_Trap21_ARepeatHasTheSameMessageID(t *testing.T) {
	t.Parallel()
	srv := newServer(t, true, step{drop: true}, step{})
	sender := srv.sender(t, nil)
	if err := sender.Send(t.Context(), message); err == nil {
		t.Fatal("the connection was dropped before the answer, want an error")
	}
	if err := sender.Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	if len(srv.mails) != 2 {
		t.Fatalf("the server has %d mails, want 2", len(srv.mails))
	}
	first, _ := read(t, srv.mails[0])
	second, _ := read(t, srv.mails[1])
	if first.Get("Message-Id") != second.Get("Message-Id") || first.Get("Date") != second.Get("Date") {
		t.Errorf("Message-ID %s, then %s; dates %s, %s; want the same", first.Get("Message-Id"), second.Get("Message-Id"), first.Get("Date"), second.Get("Date"))
	}
}

func TestSend_NothingIsSentWithoutTLS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tls    bool
		change func(*mail.Settings)
	}{
		"no STARTTLS":       {false, nil},
		"wrong certificate": {true, func(s *mail.Settings) { s.RootCAs = x509.NewCertPool() }},
		"wrong password":    {true, func(s *mail.Settings) { s.User, s.Password = "u", "wrong" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, c.tls)
			err := srv.sender(t, c.change).Send(t.Context(), message)
			if err == nil || len(srv.mails) != 0 {
				t.Errorf("got error %v and %d mails, want an error and no mail", err, len(srv.mails))
			}
			if err != nil && strings.Contains(err.Error(), "wrong\"") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestNew_RefusesWrongSettings(t *testing.T) {
	t.Parallel()
	good := mail.Settings{Host: "smtp.example.com", From: "a@example.com"}
	for want, change := range map[string]func(*mail.Settings){
		"the host":                        func(s *mail.Settings) { s.Host = "" },
		"must be 1 to 65535":              func(s *mail.Settings) { s.Port = 70_000 },
		"must be starttls, implicit":      func(s *mail.Settings) { s.TLS = "ssl" },
		"without TLS is refused":          func(s *mail.Settings) { s.TLS = mail.NoTLS },
		"a password is sent over TLS":     func(s *mail.Settings) { s.TLS, s.Insecure, s.User = mail.NoTLS, true, "u" },
		"is not an address":               func(s *mail.Settings) { s.From = "a@example.com\r\nBcc: b@example.com" },
		"the timeout of 1ms must be at l": func(s *mail.Settings) { s.Timeout = time.Millisecond },
	} {
		s := good
		change(&s)
		if _, err := mail.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("settings %+v: got error %v, want one with %q", s, err, want)
		}
	}
}

func TestSend_RefusesWrongMessages(t *testing.T) {
	t.Parallel()
	srv := newServer(t, true)
	sender := srv.sender(t, nil)
	for name, change := range map[string]func(*mail.Message){
		"line break in the address": func(m *mail.Message) { m.To = "a@example.org\r\nBcc: b@example.org" },
		"two addresses":             func(m *mail.Message) { m.To = "a@example.org, b@example.org" },
		"a name":                    func(m *mail.Message) { m.To = "Ann <ann@example.org>" },
		"a long address":            func(m *mail.Message) { m.To = strings.Repeat("a", 300) + "@example.org" },
		"an id with a line break":   func(m *mail.Message) { m.ID = "a\r\nb" },
		"no text":                   func(m *mail.Message) { m.Text = "" },
		"no date":                   func(m *mail.Message) { m.Date = time.Time{} },
	} {
		m := message
		change(&m)
		err := sender.Send(context.Background(), m)
		if e := failure.Of(err); err == nil || !e.Permanent || e.Class != failure.InvalidInput {
			t.Errorf("%s: got error %v, want a permanent one of the class InvalidInput", name, err)
		}
	}
	if len(srv.mails) != 0 {
		t.Errorf("the server has %d mails, want none", len(srv.mails))
	}
}
