package deliver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/webhook"
)

// webhook is the handler of redrive.webhook. Each attempt sends the same id and the same bytes.
func (s *sender) webhook(ctx context.Context, j *redrive.Job[[]byte]) error {
	n, err := read(j)
	if err != nil {
		return err
	}
	e, known, err := s.endpoints.find(ctx, n.To)
	switch {
	case err != nil:
		return err
	case !known:
		return refused(CodeUnknownWebhook, fmt.Errorf("there is no webhook %q: add it, and retry the notice", n.To))
	case e.Off != "" && n.On != notify.Test:
		return refused(CodeWebhookOff, fmt.Errorf("the webhook %s is off: turn it on, and retry the notice", n.To))
	}
	target, err := webhook.EndpointOf(&e)
	if err != nil {
		return refused(redrive.CodeBadPayload, err)
	}
	leave, back := s.slots.enter(ctx, "webhook:"+n.To)
	if leave == nil {
		return failure.Snooze(back)
	}
	err = s.hooks.Send(ctx, target, webhook.Message{ID: n.WebhookID(), Body: n.Body})
	leave()
	answer, _ := errors.AsType[*webhook.StatusError](err)
	gone := answer != nil && answer.Status == http.StatusGone
	if n.On != notify.Test {
		s.endpoints.count(ctx, n.To, err != nil, gone)
	}
	if gone {
		return refused(CodeWebhookOff, err)
	}
	return err
}

// endpointsFor is how long the endpoints that were read may be used. So what a person changes acts
// within this time.
const endpointsFor = time.Second

// endpoints are those of the store, and the results of attempts that are not in the store yet. The
// results are written when the direction changes, that is with the first failure and the first
// success, and otherwise at most once a second. So a busy endpoint costs few writes.
type endpoints struct {
	client *redrive.Client
	now    func() time.Time

	mu     sync.Mutex
	read   time.Time
	byName map[string]redrive.Endpoint
	counts map[string]*tally
}

// tally are the results of one endpoint that are not in the store yet.
type tally struct {
	redrive.EndpointCount
	failing bool // what the store knows of the last attempt
	known   bool // whether failing is known
	written time.Time
	later   bool // a write is planned
}

func (e *endpoints) find(ctx context.Context, name string) (redrive.Endpoint, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now(); e.byName == nil || now.Sub(e.read) >= endpointsFor || now.Before(e.read) {
		list, err := e.client.Endpoints(ctx)
		if err != nil {
			return redrive.Endpoint{}, false, fmt.Errorf("read the webhooks: %w", err)
		}
		e.byName, e.read = make(map[string]redrive.Endpoint, len(list)), now
		for i := range list {
			e.byName[list[i].Name] = list[i]
		}
	}
	found, known := e.byName[name]
	return found, known, nil
}

// count adds the result of an attempt. An error of the store is no error of the notice: its result stays, and is
// written with the next one.
func (e *endpoints) count(ctx context.Context, name string, failed, gone bool) {
	e.mu.Lock()
	if e.counts == nil {
		e.counts = make(map[string]*tally)
	}
	t := e.counts[name]
	if t == nil {
		t = &tally{}
		e.counts[name] = t
	}
	t.Failing, t.Gone = failed, t.Gone || gone
	if failed {
		t.Failed++
	} else {
		t.Delivered++
	}
	now := e.now()
	due := !t.known || t.failing != failed || gone || now.Sub(t.written) >= endpointsFor
	plan := !due && !t.later
	t.later = t.later || plan
	e.mu.Unlock()
	switch {
	case due:
		e.write(ctx, name)
	case plan:
		later := context.WithoutCancel(ctx)
		time.AfterFunc(endpointsFor, func() { e.write(later, name) })
	}
}

// write writes the results of an endpoint to the store.
func (e *endpoints) write(ctx context.Context, name string) {
	e.mu.Lock()
	t := e.counts[name]
	n := t.EndpointCount
	t.EndpointCount, t.later, t.written = redrive.EndpointCount{}, false, e.now()
	t.known, t.failing = true, n.Failing
	e.mu.Unlock()
	if n == (redrive.EndpointCount{}) {
		return
	}
	stored, err := e.client.CountEndpoint(ctx, name, n)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(err, redrive.ErrNotFound):
		delete(e.byName, name)
	case err != nil: // the results are written with the next ones
		t.Delivered, t.Failed, t.Gone, t.known = t.Delivered+n.Delivered, t.Failed+n.Failed, t.Gone || n.Gone, false
		t.Failing = t.Failing || n.Failing
	case e.byName != nil:
		e.byName[name] = stored
	}
}
