package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"sync"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// box is where notices arrive in this example: a mail server, and a receiver of webhooks.
type box struct {
	secret string // of the webhooks; set before the first one

	mu      sync.Mutex
	letters []letter // each Message-ID once
	hooks   []hook   // each webhook-id once
	changed chan struct{}
}

// letter is a mail.
type letter struct{ id, to, subject, text string }

// hook is a webhook.
type hook struct {
	id   string
	Type string `json:"type"`
	Data struct {
		Campaign  string `json:"campaign_id"`
		Name      string `json:"name"`
		State     string `json:"state"`
		Total     int    `json:"total"`
		Completed int    `json:"completed"`
		Failed    int    `json:"failed"`
	} `json:"data"`
}

// serve takes mails until the returned function is called.
func (b *box) serve(l net.Listener) (stop func()) {
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: b}, nil }))
	srv.Domain = "127.0.0.1"
	var running sync.WaitGroup
	running.Go(func() { srv.Serve(l) }) //nolint:errcheck // ends by Close
	return func() {
		srv.Close() //nolint:errcheck // mails in progress are over
		running.Wait()
	}
}

// session is a connection of a sender of mails.
type session struct {
	box *box
	to  string
}

func (s *session) Mail(string, *smtp.MailOptions) error      { return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error { s.to = to; return nil }
func (s *session) Reset()                                    { s.to = "" }
func (s *session) Logout() error                             { return nil }
func (s *session) Data(r io.Reader) error {
	m, err := readLetter(r)
	if err != nil {
		return err
	}
	m.to = s.to
	s.box.add(func() {
		if !slices.ContainsFunc(s.box.letters, func(old letter) bool { return old.id == m.id }) {
			s.box.letters = append(s.box.letters, m)
		}
	})
	return nil
}

// readLetter reads a mail of two parts, of which the first is the text.
func readLetter(r io.Reader) (m letter, err error) {
	raw, err := mail.ReadMessage(r)
	if err != nil {
		return m, err
	}
	m.id = raw.Header.Get("Message-ID")
	if m.subject, err = new(mime.WordDecoder).DecodeHeader(raw.Header.Get("Subject")); err != nil {
		return m, err
	}
	_, params, err := mime.ParseMediaType(raw.Header.Get("Content-Type"))
	if err != nil {
		return m, err
	}
	part, err := multipart.NewReader(raw.Body, params["boundary"]).NextRawPart()
	if err != nil {
		return m, err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(part))
	m.text = strings.TrimSpace(string(text))
	return m, err
}

// post takes a webhook: it verifies the signature of the bytes as they came, and reads them only then.
func (b *box) post(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	verifier, err := standardwebhooks.NewWebhook(b.secret)
	if err != nil {
		return err
	}
	if err := verifier.Verify(body, r.Header); err != nil {
		return refuse(http.StatusUnauthorized, "The signature is wrong.")
	}
	h := hook{id: r.Header.Get("webhook-id")}
	if err := json.Unmarshal(body, &h); err != nil {
		return refuse(http.StatusBadRequest, "The body is no webhook.")
	}
	b.add(func() {
		if !slices.ContainsFunc(b.hooks, func(old hook) bool { return old.id == h.id }) {
			b.hooks = append(b.hooks, h)
		}
	})
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (b *box) add(put func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	put()
	select {
	case b.changed <- struct{}{}:
	default: // somebody will look soon
	}
}

func (b *box) lettersTo(address string) (all []letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.letters {
		if strings.EqualFold(m.to, address) {
			all = append(all, m)
		}
	}
	return all
}

// arrived returns the subjects of all mails and the webhooks in words, sorted.
func (b *box) arrived() (mails, hooks []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.letters {
		mails = append(mails, m.subject)
	}
	for i := range b.hooks {
		d := &b.hooks[i].Data
		hooks = append(hooks, fmt.Sprintf("%s %s: %s %d/%d, %d failed", b.hooks[i].Type, d.Name, d.State, d.Completed, d.Total, d.Failed))
	}
	slices.Sort(mails)
	slices.Sort(hooks)
	return mails, hooks
}

// await waits until as many mails and webhooks have arrived.
func (b *box) await(ctx context.Context, mails, hooks int) error {
	for {
		m, h := b.arrived()
		if len(m) >= mails && len(h) >= hooks {
			return nil
		}
		select {
		case <-b.changed:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("got the mails %q and the webhooks %q, want %d and %d", m, h, mails, hooks), context.Cause(ctx))
		}
	}
}
