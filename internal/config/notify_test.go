package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/notify"
)

const notifyFile = `kinds: {thumb: {command: [x]}}
notify:
  base_url: https://jobs.example.com
  people: {administrator: ops@example.com}
  channels:
    mail: {type: mail, from: "Copies <no-reply@example.com>", smtp: {host: smtp.example.com, user: u, password_env: SMTP_PASSWORD}}
    hook: {type: webhook}
  rules:
    - {on: [batch.ready, batch.partial, batch.failed], channel: mail, to: attr.owner_email}
    - {on: member.dead, channel: mail, to: attr.owner_email, digest: {above: 3, wait: 1m}}
    - {on: group.first, channel: mail, to: administrator, team: true}
    - {on: batch.end, channel: hook, to: shop, event: campaign_ready, data: {campaign_id: batch.key, state: batch.state}}
`

func TestNotify_TenLinesAreRules(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("redrive.yaml", []byte(notifyFile), "/srv/app")
	if err != nil {
		t.Fatal(err)
	}
	owner := []string{"attr.owner_email"}
	want := config.Notify{
		Rules: &notify.Rules{
			BaseURL:  "https://jobs.example.com",
			People:   map[string][]string{"administrator": {"ops@example.com"}},
			Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}, "hook": {Type: notify.Webhook}},
			Rules: []notify.Rule{
				{On: []notify.Event{notify.BatchReady, notify.BatchPartial, notify.BatchFailed}, Channel: "mail", To: owner},
				{On: []notify.Event{notify.MemberDead}, Channel: "mail", To: owner, Digest: notify.DigestLimits{Above: 3, Wait: 60}},
				{On: []notify.Event{notify.GroupFirst}, Channel: "mail", To: []string{"administrator"}, Team: true},
				{On: []notify.Event{notify.BatchEnd}, Channel: "hook", To: []string{"shop"}, Type: "campaign_ready",
					Data: map[string]string{"campaign_id": "batch.key", "state": "batch.state"}},
			},
		},
		Servers: map[string]config.MailServer{"mail": {From: "Copies <no-reply@example.com>", Host: "smtp.example.com", TLS: "starttls",
			User: "u", PasswordEnv: "SMTP_PASSWORD"}},
	}
	if diff := cmp.Diff(want, c.Notify); diff != "" {
		t.Errorf("the section differs (-want +got):\n%s", diff)
	}
	if body, _ := c.Notify.Rules.Encode(); strings.Contains(string(body), "smtp") {
		t.Errorf("the rules that are published have settings of the mail server: %s", body)
	}
}

func TestNotify_MistakesAreAtTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, want string }{
		{"base_url: https://jobs.example.com", "base_url: «jobs", `notify.base_url: "jobs" is not the address of a server: write one such as`},
		{"administrator: ops@example.com", `administrator: «"a@b\r\nBcc: c@d"`, "notify.people.administrator[0]: the address contains a line break or a NUL character: remove it"},
		{"type: webhook", "«type: webhok", `notify.channels.hook.type must be one of mail, webhook, found "webhok", did you mean`},
		{"hook: {type: webhook}", "«hook: {}", `notify.channels.hook has no type; add "type: mail" or "type: webhook"`},
		{`from: "Copies <no-reply@example.com>", `, "", "notify.channels.mail has no sender; add one such as from"},
		{"host: smtp.example.com, ", "", "notify.channels.mail has no mail server; add one such as smtp: {host: smtp.example.com}"},
		{"host: smtp.example.com,", "host: smtp.example.com, tls: «none,", "notify.channels.mail.smtp: a mail server without TLS is refused; use starttls or implicit, or add"},
		{"host: smtp.example.com,", "host: smtp.example.com, insecure: true, tls: none,", "notify.channels.mail.smtp: a password is sent over TLS only; use"},
		{", password_env: SMTP_PASSWORD", "", "notify.channels.mail.smtp has only one of user and password_env; set both, or remove it"},
		{", password_env: SMTP_PASSWORD", ", «password: x", `unknown key "password"`},
		{"on: member.dead", "on: «member.daed", `notify.rules[1].on[0]: the event "member.daed" is not known, did you mean "member.dead"?`},
		{"[batch.ready, batch.partial,", "[batch.ready, «batch.patial,", `notify.rules[0].on[1]: the event "batch.patial" is not known, did you mean "batch.partial"?`},
		{"channel: hook", "channel: «hooks", `notify.rules[3].channel: the channel "hooks" is not defined, did you mean "hook"?`},
		{"to: administrator", "to: «administratr", `notify.rules[2].to[0]: "administratr" is neither an address nor a name of "people", did you mean "administrator"?`},
		{"to: shop", "to: «[]", "notify.rules[3]: the rule has no recipients: add"},
		{"state: batch.state", "state: «batch.stat", `notify.rules[3].data.state: the fact "batch.stat" is not known, did you mean "batch.state"?`},
		{"on: member.dead", "preset: «watermrk", `notify.rules[1].preset must be one of watermark, campaign_ready, found "watermrk", did you mean`},
		{"on: member.dead", "preset: watermark, on: «member.dead", `notify.rules[1] has the preset watermark, which says what "on" is; remove one of both`},
		{"above: 3", "above: «0", "notify.rules[1].digest.above must be a whole number from 1 to 20, found 0"},
		{"wait: 1m", "wait: «1s", `notify.rules[1].digest.wait must be a duration from 10s to 24h, found "1s"`},
		{"on: member.dead", "on: batch.end", `notify.rules[1].digest: "above" counts members of a batch`},
		{"on: group.first", "on: redrive.stoped", `the event "redrive.stoped" is not known, did you mean "redrive.stopped"?`},
		{"team: true", "«taem: true", `unknown key "taem", did you mean "team"?`},
	} {
		text := strings.Replace(notifyFile, tt.old, tt.new, 1)
		if text == notifyFile {
			t.Fatalf("the file has no %q", tt.old)
		}
		at := strings.Index(text, "«")
		text = strings.Replace(text, "«", "", 1)
		problems := problemsOf(t, text)
		if len(problems) == 0 {
			t.Errorf("%s: no problem, want %q", tt.new, tt.want)
			continue
		}
		i := slices.IndexFunc(problems, func(p config.Problem) bool { return strings.Contains(p.String(), tt.want) })
		p := problems[max(i, 0)]
		if got := p.String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %q", tt.new, got, tt.want)
		}
		if line := strings.Count(text[:max(at, 0)], "\n") + 1; at >= 0 && p.Line != line {
			t.Errorf("%s: the problem is in line %d, want %d", tt.new, p.Line, line)
		}
	}
}

// A preset stands for the events of a rule, and for the type and the data of a webhook.
//
// part of: N2, N3
func TestNotify_Presets(t *testing.T) {
	t.Parallel()
	text := notifyFile + `    - {preset: watermark, channel: mail, to: attr.owner_email}
    - {preset: campaign_ready, channel: hook, to: shop}
`
	c, err := config.Parse("redrive.yaml", []byte(text), "/srv/app")
	if err != nil {
		t.Fatal(err)
	}
	mails, _ := notify.Preset(notify.PresetWatermark, "mail", "attr.owner_email")
	hooks, _ := notify.Preset(notify.PresetCampaignReady, "hook", "shop")
	if diff := cmp.Diff([]notify.Rule{mails, hooks}, c.Notify.Rules.Rules[4:]); diff != "" {
		t.Errorf("rules of the presets (-want +got):\n%s", diff)
	}
}
