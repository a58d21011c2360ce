package notify_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/notify"
)

func valid() *notify.Rules {
	return &notify.Rules{
		BaseURL:  "https://jobs.example.com",
		People:   map[string][]string{"administrator": {"ops@example.com"}},
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}},
		Rules: []notify.Rule{
			{On: []notify.Event{notify.BatchEnd}, Channel: "mail", To: []string{"attr.owner_email"}},
			{On: []notify.Event{notify.MemberDead}, Channel: "mail", To: []string{"attr.owner_email"}},
			{On: []notify.Event{notify.GroupFirst}, Channel: "mail", To: []string{"administrator"}, Team: true},
			{On: []notify.Event{notify.BatchEnd}, Channel: "hook", To: []string{"shop"}, Type: "campaign_ready",
				Data: map[string]string{"campaign_id": "batch.key", "state": "batch.state", "failed": "batch.dead", "tenant": "batch.attrs.tenant"}},
		},
	}
}

func TestRules_TheCanonicalFormHasOneHash(t *testing.T) {
	t.Parallel()
	body, hash := valid().Encode()
	back, err := notify.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valid(), back); diff != "" {
		t.Errorf("the decoded rules differ (-want +got):\n%s", diff)
	}
	if _, again := back.Encode(); again != hash {
		t.Errorf("the decoded rules have the hash %s, want %s", again, hash)
	}
	changed := valid()
	changed.Rules[2].Every = true
	if _, other := changed.Encode(); other == hash {
		t.Error("other rules have the same hash")
	}
	for _, bad := range []string{"", "{", `{"passwort": 1}`, `{"rules": [{"on": ["job.dead"], "channel": "x", "to": ["a@b"]}]}`} {
		if _, err := notify.Decode([]byte(bad)); err == nil {
			t.Errorf("Decode(%q) succeeded, want an error", bad)
		}
	}
}

func TestRules_RefusesMistakesWithPlaceAndCure(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*notify.Rules){
		`base_url: "jobs" is not the address of a server: write one such as https://`:          func(r *notify.Rules) { r.BaseURL = "jobs" },
		`people.administrator[0]: the address contains a line break`:                           func(r *notify.Rules) { r.People["administrator"][0] = "a@b\r\nBcc: c@d" },
		`people.administrator: 0 addresses: a name must have 1 to 20`:                          func(r *notify.Rules) { r.People["administrator"] = nil },
		`channels.mail.type: the type "mial" is not known, did you mean "mail"?`:               func(r *notify.Rules) { r.Channels["mail"] = notify.Channel{Type: "mial"} },
		`rules[0]: the rule has no event: add "on"`:                                            func(r *notify.Rules) { r.Rules[0].On = nil },
		`rules[0].on[0]: the event "batch.raedy" is not known, did you mean "batch.ready"?`:    func(r *notify.Rules) { r.Rules[0].On[0] = "batch.raedy" },
		`rules[1].channel: the channel "mails" is not defined, did you mean "mail"?`:           func(r *notify.Rules) { r.Rules[1].Channel = "mails" },
		`rules[1]: the rule has no recipients: add "to"`:                                       func(r *notify.Rules) { r.Rules[1].To = nil },
		`rules[2].to[0]: "administratr" is neither an address nor a name of "people", did you`: func(r *notify.Rules) { r.Rules[2].To[0] = "administratr" },
		`rules[2].to[0]: "a@b@c" is not an e-mail address`:                                     func(r *notify.Rules) { r.Rules[2].To[0] = "a@b@c" },
		`rules[2].to[0]: the recipient hold.notify is possible only in a rule with`:            func(r *notify.Rules) { r.Rules[2].To[0] = notify.HoldNotify },
		`rules[2].to[0]: the recipient "attr." names no attribute`:                             func(r *notify.Rules) { r.Rules[2].To[0] = "attr." },
		`rules[1].to[0]: the recipient "attr.owner_email" is not possible with webhook.off`:    func(r *notify.Rules) { r.Rules[1].On = []notify.Event{notify.WebhookOff} },
		`rules[1].to[0]: the recipient "attr.owner_email" is not possible with redrive.sto`:    func(r *notify.Rules) { r.Rules[1].On = []notify.Event{notify.RedriveStopped} },
		`rules[2].on[0]: redrive.stopped is not about a job or a batch, so nothing of it`: func(r *notify.Rules) {
			r.Rules[2].On, r.Rules[2].Match = []notify.Event{notify.RedriveStopped}, notify.Match{Kind: "thumb"}
		},
		`rules[1].digest: "every" sends each message at once`: func(r *notify.Rules) {
			r.Rules[1].Digest, r.Rules[1].Every = notify.DigestLimits{Above: 1}, true
		},
		`rules[1].digest: "above" is 21: it must be 1 to 20`:                                   func(r *notify.Rules) { r.Rules[1].Digest.Above = 21 },
		`rules[1].digest: "wait" is 9s: it must be 10s to 24h0m0s`:                             func(r *notify.Rules) { r.Rules[1].Digest.Wait = 9 },
		`rules[2].digest: "above" counts members of a batch: remove it, or`:                    func(r *notify.Rules) { r.Rules[2].Digest.Above = 3 },
		`rules[0].digest: no event of the rule is a death`:                                     func(r *notify.Rules) { r.Rules[0].Digest.Wait = 60 },
		`rules[2]: "event" and "data" are for channels of the type webhook`:                    func(r *notify.Rules) { r.Rules[2].Type = "x" },
		`rules[3].on[0]: webhook.off goes to channels of the type mail only`:                   func(r *notify.Rules) { r.Rules[3].On = []notify.Event{notify.WebhookOff} },
		`rules[3].team: "team" is for channels of the type mail`:                               func(r *notify.Rules) { r.Rules[3].Team = true },
		`rules[3].data.state: the fact "batch.stat" is not known, did you mean "batch.state"?`: func(r *notify.Rules) { r.Rules[3].Data["state"] = "batch.stat" },
		`rules[3].to[0]: the name of an endpoint "The Shop" must be 1 to 64 of`:                func(r *notify.Rules) { r.Rules[3].To[0] = "The Shop" },
		`rules: 54 rules: at most 50 are allowed`:                                              func(r *notify.Rules) { r.Rules = append(r.Rules, make([]notify.Rule, 50)...) },
		`rules[3].data: 41 fields: at most 40 are allowed`: func(r *notify.Rules) {
			r.Rules[3].Data = make(map[string]string)
			for i := range 41 {
				r.Rules[3].Data[strings.Repeat("x", i+1)] = "at"
			}
		},
	} {
		r := valid()
		change(r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate returned %v, want an error with %q", err, want)
		}
	}
	if err := valid().Validate(); err != nil {
		t.Errorf("Validate of valid rules: %v", err)
	}
}

func TestRules_NamesWhatTheyUse(t *testing.T) {
	t.Parallel()
	r := valid()
	if got := r.Endpoints(); len(got) != 1 || got[0] != "shop" {
		t.Errorf("Endpoints() = %v, want shop", got)
	}
	if !r.Uses(notify.Mail) || !r.Uses(notify.Webhook) {
		t.Error("the rules do not use mail and webhook, want both")
	}
}
