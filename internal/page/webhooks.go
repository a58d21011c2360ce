package page

import (
	"net/http"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

// webhooksView lists the receivers of webhooks.
type webhooksView struct {
	frame
	Rows []webhookRow
}

// webhookRow is a receiver with what its first button does.
type webhookRow struct {
	store.Endpoint
	Do, Label string
	Why       string // why it is off
}

func (p *Pages) webhooks(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "webhooks", "Webhooks")
	if err != nil {
		return err
	}
	list, err := a.Client().Endpoints(c.Context())
	if err != nil {
		return err
	}
	v := webhooksView{frame: f}
	v.Topics = "all"
	var off, failing int64
	for i := range list {
		r := webhookRow{list[i], "off", "Turn off", store.OffReason(list[i].Off)}
		switch {
		case r.Off != "":
			off++
			r.Do, r.Label = "on", "Turn on"
		case r.FailingSince != 0:
			failing++
		}
		v.Rows = append(v.Rows, r)
	}
	v.Heading = words.WebhooksFinding(int64(len(list)), off, failing)
	v.Lead = "A receiver gets a signed request for each event that a rule sends to it. What waits for one that is off dies, and can be retried when it is on again."
	return p.write(c.W, http.StatusOK, "webhooks", &v)
}

// actOnWebhook turns a receiver on or off, or sends it a test.
func (p *Pages) actOnWebhook(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	name, do := c.R.PathValue("name"), c.R.PathValue("act")
	if err := api.CheckReason(in.Get("reason")); err != nil {
		return err
	}
	return p.once(a, c, in, "/ui/webhooks", func() (done, error) {
		shown := words.Clean(name)
		switch do {
		case "on":
			_, err := a.TurnWebhook(c, in.Get("reason"), "")
			return done{Text: "Receiver " + shown + " is on."}, err
		case "off":
			_, err := a.TurnWebhook(c, in.Get("reason"), store.OffByPerson)
			return done{Text: "Receiver " + shown + " is off. What waits for it dies, and can be retried when it is on again."}, err
		case "test":
			id, err := a.Client().TestWebhook(c.Context(), name)
			return done{Text: "Job " + id.String() + " sends a test to receiver " + shown + ".", Link: "/ui/jobs/" + id.String(), Of: "See job " + id.String()}, err
		}
		return done{}, api.NotFound.New("A receiver cannot %.40q.", do)
	})
}
