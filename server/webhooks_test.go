package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/store"
)

// part of: N3
func TestN3_WebhooksAreAddedRotatedAndTurnedOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	type webhook struct {
		State    string `json:"state"`
		OldUntil string `json:"old_until"`
	}
	var made struct {
		Webhook      webhook
		Secret, Note string
	}
	s.ok("POST", "/api/webhooks", `{"name":"shop","url":"https://shop.example.com/hooks?token=canarycanary","note":"new"}`, &made)
	if !strings.HasPrefix(made.Secret, "whsec_") || made.Note != wire.SecretNote || made.Webhook.State != "on" {
		t.Errorf("got %+v, want a webhook that is on, with a secret and the note", made)
	}
	var list struct{ Items []webhook }
	text := string(s.ok("GET", "/api/webhooks", "", &list).body)
	if len(list.Items) != 1 || strings.Contains(text, "canary") || strings.Contains(text, "whsec_") {
		t.Errorf("got the list %s, want one webhook without secrets", text)
	}
	first := made.Secret
	s.ok("POST", "/api/webhooks/shop/rotate", `{"keep_old_ms":3600000}`, &made)
	if made.Secret == first || made.Webhook.OldUntil == "" {
		t.Errorf("after the rotation: %+v, want another secret and the time of the old one", made)
	}
	s.refused("invalid-field", "POST", "/api/webhooks/shop/rotate", `{"keep_old_ms":-1}`)
	var w webhook
	s.ok("POST", "/api/webhooks/shop/off", `{"note":"moves"}`, &w)
	if w.State != "off" {
		t.Errorf("the webhook is %s, want off", w.State)
	}
	s.ok("POST", "/api/webhooks/shop/on", "", &w)
	var test api.WebhookTest
	s.ok("POST", "/api/webhooks/shop/test", "", &test)
	if j, err := s.client.Get(t.Context(), test.Job); err != nil || j.Kind != "redrive.webhook" {
		t.Errorf("the job of the test is %+v, error %v", j, err)
	}
	s.ok("DELETE", "/api/webhooks/shop", "", nil)
	s.refused("not-found", "GET", "/api/webhooks/shop", "")
	s.refused("not-found", "POST", "/api/webhooks/shop/test", "")

	for _, body := range []string{
		`{"name":"a","url":"http://shop.example.com/"}`, `{"name":"a","url":"https://u:canary@shop.example.com/"}`, `{"name":"a","url":"https://127.0.0.1/"}`,
		`{"name":"a","url":"https://shop.example.com/","secret":"whsec_MDEyMzQ1Njc="}`, `{"name":"","url":"https://shop.example.com/"}`,
	} {
		if p := s.refused("invalid-field", "POST", "/api/webhooks", body); strings.Contains(p.Detail, "canary") {
			t.Errorf("%s: the problem shows a secret: %s", body, p.Detail)
		}
	}
}

// part of: N3
//
// The page of webhooks shows each receiver with its state, turns it off and on again and tests it, for the role
// administer; others see the buttons switched off. No page shows a secret or the token of a URL.
func TestN3_ReceiversOnTheirPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, as)
	r := s.reader("administer,view")
	r.shows("/ui/webhooks", "No receiver of webhooks is configured", "redrive webhooks add")
	secret := make(store.WebhookSecret, store.WebhookSecretSize)
	if _, err := s.client.PutEndpoint(t.Context(), redrive.By{Actor: "mira"}, redrive.Endpoint{Name: "shop", URL: "https://shop.example.com/hooks?token=canarycanary", Secret: secret}); err != nil {
		t.Fatal(err)
	}
	page := r.shows("/ui/webhooks", "1 receiver of webhooks<", "shop", "by mira", "never")
	if strings.Contains(page, "canarycanary") || strings.Contains(page, "whsec_") {
		t.Errorf("the page shows a secret: %s", page)
	}
	r.must("Receiver shop is off.", "/ui/webhooks/shop/off", url.Values{"reason": {"it moves"}})
	r.shows("/ui/webhooks", "1 receiver of webhooks, 1 off", "a person turned it off")
	r.must("Receiver shop is on.", "/ui/webhooks/shop/on", nil)
	r.must("Job 1 sends a test to receiver shop.", "/ui/webhooks/shop/test", nil)
	for path, want := range map[string]int{"/ui/webhooks/other/off": http.StatusNotFound, "/ui/webhooks/shop/explode": http.StatusNotFound} {
		if status, _ := r.send("POST", path, nil); status != want {
			t.Errorf("%s: got %d, want %d", path, status, want)
		}
	}
	if status, _ := s.reader("operate").send("POST", "/ui/webhooks/shop/off", nil); status != http.StatusForbidden {
		t.Errorf("turned off by an operator: got %d, want 403", status)
	}
	s.reader("view").shows("/ui/webhooks", `aria-disabled="true"`, "it needs the role administer")
}

// part of: N2
//
// The rules of notifications are read and put in force over HTTP. Mistakes are named with their place, and nothing
// is changed.
func TestN2_RulesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var in struct {
		Number int64
		Hash   string
		Rules  json.RawMessage
	}
	s.ok("GET", "/api/notify", "", &in)
	if in.Number != 0 || in.Hash != "" {
		t.Errorf("got %+v, want no rules", in)
	}
	const hook = `{"channels":{"hook":{"type":"webhook"}},"rules":[{"on":["job.dead"],"channel":"hook","to":["shop"],"digest":{"wait_s":60}}]}`
	s.ok("PUT", "/api/notify", `{"rules":`+hook+`,"note":"first"}`, &in)
	s.ok("PUT", "/api/notify", `{"rules":`+hook+`}`, &in) // without effect
	if in.Number != 1 || string(in.Rules) != hook {
		t.Errorf("got the rules %d: %s, want 1: %s", in.Number, in.Rules, hook)
	}
	mail := strings.NewReplacer(`"webhook"`, `"mail"`, "shop", "ops@example.com").Replace(hook)
	for body, want := range map[string]string{
		`{}`:                     "rules: is missing; null takes all rules back",
		`{"rules":{"rulez":[]}}`: `unknown field "rulez"`,
		`{"rules":` + mail + `}`: "rules/channels/hook: this mail channel is not in force yet: publish it once where its mail server is configured",
		strings.Replace(`{"rules":`+hook+`}`, "job.dead", "job.daed", 1): `rules/rules/0/on/0: the event "job.daed" is not known, did you mean "job.dead"?`,
	} {
		if p := s.refused("invalid-field", "PUT", "/api/notify", body); !strings.Contains(p.Message, want) {
			t.Errorf("%s: got %q, want %q", body, p.Message, want)
		}
	}
	s.ok("PUT", "/api/notify", `{"rules":null}`, &in)
	if in.Number != 2 || in.Hash != "" {
		t.Errorf("got %+v, want no rules, as number 2", in)
	}
}
