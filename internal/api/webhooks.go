package api

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/store"
)

const offByPerson = store.OffByPerson

func (a *API) listWebhooks(c *Call) error {
	list, err := a.client.Endpoints(c.Context())
	if err != nil {
		return fmt.Errorf("list the webhooks: %w", err)
	}
	return c.JSON(http.StatusOK, WebhookList{Items: wire.WebhooksOf(list, a.now())})
}

func (a *API) getWebhook(c *Call) error {
	e, err := a.webhookInPath(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.WebhookOf(&e, a.now()))
}

func (a *API) addWebhook(c *Call) error {
	var in WebhookIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	secret, err := webhookSecret(in.Secret)
	if err != nil {
		return err
	}
	e := store.Endpoint{Name: in.Name, URL: in.URL, Secret: secret, AllowHTTP: in.AllowHTTP, Allow: in.Allow, Ports: in.Ports}
	return a.putSecret(c, in.Note, e)
}

func (a *API) rotateWebhook(c *Call) error {
	var in WebhookRotation
	if err := c.Read(&in, true); err != nil {
		return err
	}
	e, err := a.webhookInPath(c)
	if err != nil {
		return err
	}
	if e.Secret, err = webhookSecret(in.Secret); err != nil {
		return err
	}
	if e.KeepOld = keepOldDefault; in.KeepOldMS != nil {
		if *in.KeepOldMS < 0 || *in.KeepOldMS > store.EndpointKeepMax.Milliseconds() {
			return InvalidField.Mistaken(Mistake{Pointer: "/keep_old_ms", Detail: fmt.Sprintf("must be 0 to %d", store.EndpointKeepMax.Milliseconds()), Bound: store.EndpointKeepMax.Milliseconds()})
		}
		e.KeepOld = time.Duration(*in.KeepOldMS) * time.Millisecond
	}
	return a.putSecret(c, in.Note, e)
}

// webhookSecret returns the secret of a request, or a new one.
func webhookSecret(text string) (store.WebhookSecret, error) {
	if text == "" {
		secret := make(store.WebhookSecret, store.WebhookSecretSize)
		_, err := rand.Read(secret)
		return secret, err //nolint:wrapcheck // rand.Read never returns an error
	}
	secret, err := store.ParseWebhookSecret(text)
	if err != nil {
		return nil, InvalidField.Mistaken(Mistake{Pointer: "/secret", Detail: err.Error()})
	}
	return secret, nil
}

// putSecret stores an endpoint with a new secret, and answers with both.
func (a *API) putSecret(c *Call, note string, e store.Endpoint) error {
	stored, err := a.putWebhook(c, note, e)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, wire.NewWebhook{Webhook: wire.WebhookOf(&stored, a.now()), Secret: stored.Secret.Reveal(), Note: wire.SecretNote})
}

func (a *API) putWebhook(c *Call, note string, e store.Endpoint) (store.Endpoint, error) {
	if err := e.Validate(); err != nil {
		return e, InvalidField.New("%s", err)
	}
	stored, err := a.client.PutEndpoint(c.Context(), c.By(note), e)
	if err != nil {
		return e, fmt.Errorf("store the webhook: %w", err)
	}
	return stored, nil
}

func (a *API) turnWebhook(c *Call, off string) error {
	var in WebhookNote
	if err := c.Read(&in, true); err != nil {
		return err
	}
	stored, err := a.TurnWebhook(c, in.Note, off)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.WebhookOf(&stored, a.now()))
}

// TurnWebhook turns the receiver that the path names off for a reason, or on if the reason is "".
func (a *API) TurnWebhook(c *Call, note, off string) (store.Endpoint, error) {
	e, err := a.webhookInPath(c)
	if err != nil {
		return e, err
	}
	e.Off = off
	return a.putWebhook(c, note, e)
}

func (a *API) removeWebhook(c *Call) error {
	var in WebhookNote
	if err := c.Read(&in, true); err != nil {
		return err
	}
	if err := a.client.RemoveEndpoint(c.Context(), c.By(in.Note), c.R.PathValue("name")); err != nil {
		return fmt.Errorf("remove the webhook: %w", err)
	}
	c.W.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) testWebhook(c *Call) error {
	id, err := a.client.TestWebhook(c.Context(), c.R.PathValue("name"))
	if err != nil {
		return fmt.Errorf("test the webhook: %w", err)
	}
	return c.JSON(http.StatusAccepted, WebhookTest{Job: id})
}

// webhookInPath returns the endpoint that the path names.
func (a *API) webhookInPath(c *Call) (store.Endpoint, error) {
	list, err := a.client.Endpoints(c.Context())
	if err != nil {
		return store.Endpoint{}, fmt.Errorf("read the webhooks: %w", err)
	}
	for i := range list {
		if list[i].Name == c.R.PathValue("name") {
			return list[i], nil
		}
	}
	return store.Endpoint{}, NotFound.New("webhook %.80q: there is no such webhook", c.R.PathValue("name"))
}
