package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// NotifyIn is the body of a request that publishes rules of notifications.
type NotifyIn struct {
	// Rules are the rules, in the form in which they are read; null takes all rules back.
	Rules json.RawMessage `json:"rules"`
	Note  string          `json:"note,omitempty"` // the reason, for the audit log
}

func (a *API) getNotify(c *Call) error {
	in, err := a.client.NotifyRules(c.Context())
	if err != nil {
		return fmt.Errorf("read the rules of notifications: %w", err)
	}
	return c.JSON(http.StatusOK, wire.NotifyRules{NotifyRules: in, Rules: in.Body})
}

// putNotify puts rules in force. Their mail channels must be in force already: only a process with the
// settings of the mail server publishes a new one.
func (a *API) putNotify(c *Call) error {
	var in NotifyIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	if len(in.Rules) == 0 {
		return InvalidField.Mistaken(Mistake{Pointer: "/rules", Detail: "is missing; null takes all rules back"})
	}
	rules, err := notifyRules(in.Rules)
	if err != nil {
		return err
	}
	before, err := a.client.NotifyRules(c.Context())
	if err == nil {
		err = knownMail(rules, &before)
	}
	if err != nil {
		return err
	}
	out, err := a.client.PublishNotify(c.Context(), c.By(in.Note), rules)
	if err != nil {
		return fmt.Errorf("publish the rules of notifications: %w", err)
	}
	return c.JSON(http.StatusOK, wire.NotifyRules{NotifyRules: out, Rules: out.Body})
}

// notifyRules reads rules; nil for null. The error names all mistakes, each with its place.
func notifyRules(text json.RawMessage) (*notify.Rules, error) {
	if string(text) == "null" {
		return nil, nil
	}
	rules, err := notify.Parse(text)
	if err != nil {
		return nil, InvalidField.Mistaken(Mistake{Pointer: "/rules", Detail: err.Error()})
	}
	var wrong []Mistake
	for _, p := range rules.Check() {
		var pointer strings.Builder
		pointer.WriteString("/rules")
		for _, part := range p.Path {
			pointer.WriteString("/" + strictjson.Escape(fmt.Sprint(part)))
		}
		wrong = append(wrong, Mistake{Pointer: pointer.String(), Detail: p.Err.Error()})
	}
	if len(wrong) > 0 {
		return nil, InvalidField.Mistaken(wrong...)
	}
	return rules, nil
}

// knownMail refuses rules with a mail channel that is not in force yet.
func knownMail(rules *notify.Rules, before *store.NotifyRules) error {
	if rules == nil {
		return nil
	}
	known := map[string]notify.Channel{}
	if set, err := before.Set(); err != nil {
		return err
	} else if set != nil {
		known = set.Rules().Channels
	}
	var wrong []Mistake
	for _, name := range slices.Sorted(maps.Keys(rules.Channels)) {
		if rules.Channels[name].Type == notify.Mail && known[name].Type != notify.Mail {
			wrong = append(wrong, Mistake{Pointer: "/rules/channels/" + name,
				Detail: "this mail channel is not in force yet: publish it once where its mail server is configured, with redrive notify publish"})
		}
	}
	if len(wrong) > 0 {
		return InvalidField.Mistaken(wrong...)
	}
	return nil
}
