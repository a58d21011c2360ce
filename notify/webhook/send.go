// Package webhook sends webhooks as Standard Webhooks (https://www.standardwebhooks.com) describes
// them: JSON, signed with HMAC-SHA256, to receivers that prove the sender by a library of their
// language.
//
// A Sender makes one attempt. Call it in the handler of a job, and the policy of the job decides
// when it is repeated:
//
//	err := sender.Send(ctx, &endpoint, webhook.Message{ID: id, Body: body})
//
// The sender does not reach private networks: it checks each address when it is dialled, follows no
// redirect and uses no proxy. So a name whose address changes after a check gains nothing.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/redrive/redrive/failure"
)

// Limits of one attempt.
const (
	BodyMax       = 20 << 10 // maximum size of a body, in bytes
	dialMax       = 5 * time.Second
	headerMax     = 10 * time.Second
	attemptMax    = 20 * time.Second
	headerBytes   = 16 << 10 // maximum size of the headers of an answer
	answerBytes   = 64 << 10 // of the body of an answer, at most this much is read
	answerKept    = 1 << 10  // and at most this much is kept in the error
	userAgentName = "redrive"
)

// Options configure a Sender. The zero value is ready to use.
type Options struct {
	UserAgent string           // the default is "redrive"
	RootCAs   *x509.CertPool   // certificates of the receivers; the default is the system's
	Resolver  *net.Resolver    // the default is net.DefaultResolver
	Now       func() time.Time // the default is time.Now
	Timeout   time.Duration    // the time of one attempt; default 20 s
}

// Sender sends webhooks. Any number of goroutines may use it at the same time.
type Sender struct {
	options   Options
	transport *http.Transport
}

// New returns a Sender.
func New(o Options) *Sender {
	o.UserAgent, o.Timeout = cmp.Or(o.UserAgent, userAgentName), cmp.Or(o.Timeout, attemptMax)
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default clock of the sender
	}
	d := &net.Dialer{Timeout: dialMax, Resolver: o.Resolver, ControlContext: check}
	return &Sender{options: o, transport: &http.Transport{
		Proxy: nil, DialContext: d.DialContext, TLSClientConfig: &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: dialMax, ResponseHeaderTimeout: headerMax, MaxResponseHeaderBytes: headerBytes, ForceAttemptHTTP2: true,
		// A connection that one endpoint may use must not serve another one whose networks differ.
		DisableKeepAlives: true,
	}}
}

// Message is one webhook.
type Message struct {
	// ID is the header webhook-id: 1 to 128 letters, digits, '_' and '-'. It must be the same in all
	// attempts, so that the receiver knows a repeat.
	ID   string
	Body []byte // JSON of at most BodyMax bytes; these bytes are signed and sent as they are
}

// StatusError says that a receiver has answered with another status than 2xx. Redirects are not
// followed and end in this error. After 410 the receiver wants no more webhooks.
type StatusError struct {
	Status int
	Header http.Header // the headers of the answer; the classifier reads Retry-After from them
	Body   string      // the beginning of the body, without secrets, at most 1 KiB
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the receiver of the webhook answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// HTTPStatus returns the status, for the classifier.
func (e *StatusError) HTTPStatus() int { return e.Status }

// Send makes one attempt. It returns nil if the receiver has answered with a 2xx status. A mistake of
// the endpoint or the message, and an address in a private network, are errors that
// failure.Permanent has marked, in the class InvalidInput. Another status is a *StatusError; all
// other errors are those of the network.
func (s *Sender) Send(ctx context.Context, e *Endpoint, m Message) error {
	if err := cmp.Or(e.Validate(), validID(m.ID), validBody(m.Body)); err != nil {
		return refused(err)
	}
	ctx, cancel := context.WithTimeoutCause(context.WithValue(ctx, endpointKey{}, e), s.options.Timeout,
		fmt.Errorf("the receiver of the webhook has not answered within %s: %w", s.options.Timeout, context.DeadlineExceeded))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(m.Body))
	if err != nil {
		return refused(withoutURL(err))
	}
	at := s.options.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.options.UserAgent)
	req.Header.Set(headerID, m.ID)
	req.Header.Set(headerTimestamp, fmt.Sprint(at.Unix()))
	req.Header.Set(headerSignature, e.signatures(m.ID, at, m.Body))
	resp, err := s.transport.RoundTrip(req)
	switch {
	case errors.Is(err, ErrPrivate):
		return refused(ErrPrivate)
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("send a webhook: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	return answer(resp)
}

// answer reads the answer of a receiver. After a 2xx status, an error in the body does not matter.
func answer(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, answerBytes))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	text := failure.Sanitize(string(body), &failure.SanitizeOptions{Max: answerKept})
	return &StatusError{Status: resp.StatusCode, Header: resp.Header, Body: text}
}

func validBody(body []byte) error {
	if len(body) == 0 || len(body) > BodyMax {
		return fmt.Errorf("the body has %d bytes: a webhook has 1 to %d bytes", len(body), BodyMax)
	}
	return nil
}

func refused(err error) error {
	return failure.Permanent(failure.WithClass(failure.InvalidInput, fmt.Errorf("send a webhook: %w", err)))
}

// withoutURL returns the cause of an error of net/http, without the URL, which may have a secret.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

type endpointKey struct{}

// check refuses addresses that the endpoint of the context must not reach. The dialer calls it with
// each address before it connects.
func check(ctx context.Context, _, address string, _ syscall.RawConn) error {
	e, ok := ctx.Value(endpointKey{}).(*Endpoint)
	a, err := netip.ParseAddrPort(address)
	if !ok || err != nil || !e.target().AllowsPort(a.Port()) {
		return ErrPrivate
	}
	return Allowed(a.Addr(), e.Allow)
}
