package notify_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
)

// part of: R7, F10
func TestPending_WhoHearsOfADeath(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		rules.Rules = append(rules.Rules,
			notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"owner"}, Match: notify.Match{Class: "NetworkTimeout"}},
			notify.Rule{On: []notify.Event{notify.JobHeld}, Channel: "mail", To: []string{notify.HoldNotify}},
			notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"named@example.com"}, Match: notify.Match{Kind: "detect"}})
	})
	of := func(change func(*notify.Death)) (string, bool) {
		d := r.death(0)
		change(d)
		team := r.commit([]*notify.Death{d})
		clear(r.windows.windows)
		clear(r.windows.items)
		return r.got(), team
	}
	for _, c := range []struct {
		name   string
		change func(*notify.Death)
		want   string
		team   bool
	}{
		{"a job without an owner", func(*notify.Death) {}, "", false},
		{"a job with an owner", func(d *notify.Death) { d.Owner = "u1" }, "job.dead owner:u1", false},
		{"another class", func(d *notify.Death) { d.Owner, d.Class = "u1", "Internal" }, "", false},
		{"a new cause", func(d *notify.Death) { d.First = true }, "group.first ops@example.com", true},
		{"a job that is held", func(d *notify.Death) { d.Reason, d.HoldNotify = job.ManualReview, "administrator" }, "job.held ops@example.com", false},
		{"a kind without retry", func(d *notify.Death) { d.Batch, d.First, d.Owner = -7, true, "u1" }, "", false},
		{"the same, of no batch", func(d *notify.Death) { d.NoRetry, d.First, d.Owner = true, true, "u1" }, "", false},
		{"the same, named", func(d *notify.Death) { d.NoRetry, d.Kind, d.First = true, "detect", true }, "job.dead named@example.com", false},
		{"a notice", func(d *notify.Death) { d.Kind, d.First, d.Owner = notify.KindMail, true, "u1" }, "", false},
		{"a webhook", func(d *notify.Death) { d.Kind, d.First, d.Owner = notify.KindWebhook, true, "u1" }, "", false},
	} {
		if got, team := of(c.change); got != c.want || team != c.team {
			t.Errorf("%s: notices %q, team %v, want %q, %v", c.name, got, team, c.want, c.team)
		}
	}
}

// part of: F11
func TestPending_FactsAreFrozenForTheReader(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	d := r.death(7)
	d.First = true
	r.attrs[d.Job] = []byte(`{"recipient": "<b>x</b>\r\nBcc: a@b\u202e", "file": "/srv/x"}`)
	r.commit([]*notify.Death{d})
	team := r.made[0].Facts
	if want := "dial 10.1.2.3:80: /srv/x timed out"; team.Job.Message != want {
		t.Errorf("the team reads %q, want %q", team.Job.Message, want)
	}
	if team.Job.Link != "https://jobs.example.com/ui/jobs/1001" {
		t.Errorf("the link is %q", team.Job.Link)
	}
	r.end(7, notify.BatchPartial, "PARTIAL")
	user := r.made[1].Facts
	if want := "The copy at [PATH] could not be made."; user.Job.Message != want {
		t.Errorf("the user reads %q, want %q", user.Job.Message, want)
	}
	if want := "<b>x</b> Bcc: a@b"; user.Job.Attrs["recipient"] != want {
		t.Errorf("the recipient is %q, want %q", user.Job.Attrs["recipient"], want)
	}
	if got := user.Batch.Attrs["secret"]; strings.Contains(got, "hunter22") {
		t.Errorf("the notice has the secret %q", got)
	}
	if user.Batch.Name != "Spring" || user.Batch.Dead != 4 || user.Batch.State != "PARTIAL" {
		t.Errorf("the batch is %+v", user.Batch)
	}
}

// part of: N3
func TestPending_TheBodyOfAWebhookHasTheFieldsOfTheRule(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.end(7, notify.BatchFailed, "FAILED")
	hook := r.made[1]
	var body struct {
		Type, Timestamp string
		Data            map[string]any
	}
	if err := json.Unmarshal(hook.Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Type != "campaign_ready" || body.Timestamp != "2023-11-14T22:13:20Z" || fmt.Sprint(body.Data) != "map[campaign_id:c-7 failed:4 state:FAILED tenant:t1]" {
		t.Errorf("the body is %s", hook.Body)
	}
	if hook.Kind != notify.KindWebhook || !strings.HasPrefix(hook.WebhookID(), "msg_") || len(hook.WebhookID()) != 30 {
		t.Errorf("the webhook has the kind %s and the id %s", hook.Kind, hook.WebhookID())
	}
}

func TestFactNames_EachIsAFact(t *testing.T) {
	t.Parallel()
	for _, name := range notify.FactNames() {
		r := newRig(t, func(rules *notify.Rules) {
			on := []notify.Event{notify.BatchEnd}
			if strings.HasPrefix(name, "job.") {
				on = []notify.Event{notify.MemberDead}
			}
			if strings.HasPrefix(name, "redrive.") {
				on = []notify.Event{notify.RedriveStopped}
			}
			rules.Rules = []notify.Rule{{On: on, Channel: "hook", To: []string{"shop"}, Every: true, Data: map[string]string{"x": name}}}
		})
		if strings.HasPrefix(name, "digest.") {
			continue // a digest has all fields
		}
		d := r.death(7)
		d.Owner, d.Correlation, d.Crashes = "u1", "c1", 1
		r.commit([]*notify.Death{d})
		r.end(7, notify.BatchReady, "READY")
		r.keep(r.set.Stopped(3, notify.RedriveFacts{By: "tess", Reason: "the storage is back", Why: "too many failed"}, r.now), nil)
		if body := string(r.made[0].Body); strings.Contains(body, `"x":null`) || !strings.Contains(body, `"x":`) {
			t.Errorf("the fact %s is not in %s", name, body)
		}
	}
}

func TestNotice_WorstCaseFits(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	long := strings.Repeat("\"\\<\n", 500)
	attrs := make(map[string]string)
	for i := range 20 {
		attrs[fmt.Sprint(i, strings.Repeat("n", 50))] = long
	}
	packed, err := json.Marshal(attrs)
	if err != nil {
		t.Fatal(err)
	}
	var all []*notify.Death
	for range 30 {
		d := r.death(7)
		r.attrs[d.Job] = packed
		d.UserMessage, d.Message, d.Class, d.Code, d.Owner, d.Key, d.Correlation = long, long, long, long, long, long, long
		all = append(all, d)
	}
	r.commit(all)
	r.end(7, notify.BatchFailed, "FAILED") // keep fails if a payload is too large
	for _, n := range r.made {
		if len(n.Body) > notify.WebhookMax {
			t.Errorf("the body of %s has %d bytes, want at most %d", n.Key, len(n.Body), notify.WebhookMax)
		}
	}
	for _, bad := range []string{"", "{}", `{"v":2}`, `{"v":1,"id":"xyz","to":"a"}`, `{"v":1,"id":"00112233445566778899aabbccddeeff"}`} {
		if _, err := notify.Read([]byte(bad)); err == nil {
			t.Errorf("Read(%q) succeeded, want an error", bad)
		}
	}
}

// part of: D7
func TestSet_AStoppedRedriveIsHeardOfOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		on := []notify.Event{notify.RedriveStopped}
		rules.Rules = append(rules.Rules, notify.Rule{On: on, Channel: "mail", To: []string{"administrator", "ops@example.com"}},
			notify.Rule{On: on, Channel: "hook", To: []string{"shop"}, Data: map[string]string{"redrive": "redrive.id", "why": "redrive.why"}})
	})
	made := r.set.Stopped(3, notify.RedriveFacts{Why: "6 of 10 failed\r\nagain", Total: 400}, r.now)
	if len(made) != 2 || made[0].To != "ops@example.com" || made[0].Facts.Redrive.Link != "https://jobs.example.com/ui/redrives/3" {
		t.Errorf("Stopped made %+v, want a mail and a webhook", made)
	}
	if body := string(made[1].Body); !strings.Contains(body, `"type":"redrive.stopped"`) || !strings.Contains(body, `"data":{"redrive":"3","why":"6 of 10 failed`) {
		t.Errorf("the body of the webhook is %s", body)
	}
	if again := r.set.Stopped(3, notify.RedriveFacts{}, r.now+1); again[0].Key == made[0].Key {
		t.Error("the next stop of the redrive has the same key")
	}
}

func TestSet_OffIsOneMail(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		rules.Rules = append(rules.Rules, notify.Rule{On: []notify.Event{notify.WebhookOff}, Channel: "mail", To: []string{"administrator", "ops@example.com"}})
	})
	made := r.set.Off("shop", "410 Gone", 3, r.now)
	if len(made) != 1 || made[0].To != "ops@example.com" || made[0].Facts.Endpoint.Reason != "410 Gone" {
		t.Errorf("Off made %+v, want one mail", made)
	}
	if test := notify.NewTest("hook", notify.KindWebhook, "shop", r.now, 1); !strings.Contains(string(test.Body), `"type":"redrive.test"`) {
		t.Errorf("the body of a test is %s", test.Body)
	}
}
