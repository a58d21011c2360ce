package notify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
)

// memory keeps windows as a store does: in their encoded form, and the items apart.
type memory struct {
	windows map[string][]byte
	items   map[string][]notify.Item
}

func place(scope int64, target string) string { return fmt.Sprintf("%d %s", scope, target) }

func (m memory) Window(scope int64, target string) (*notify.Window, error) {
	if body := m.windows[place(scope, target)]; body != nil {
		return notify.ReadWindow(body)
	}
	return nil, nil
}

func (m memory) Of(batch int64) (all []*notify.Window, err error) {
	for _, key := range slices.Sorted(maps.Keys(m.windows)) {
		if strings.HasPrefix(key, place(batch, "")) {
			w, err := notify.ReadWindow(m.windows[key])
			if err != nil {
				return nil, err
			}
			all = append(all, w)
		}
	}
	return all, nil
}

func (m memory) Items(w *notify.Window) ([]notify.Item, error) {
	return m.items[place(w.Scope, w.Target())], nil
}

func (m memory) Keep(w *notify.Window) error {
	key := place(w.Scope, w.Target())
	m.windows[key] = w.Encode()
	if w.Cleared() {
		delete(m.items, key)
	}
	m.items[key] = append(m.items[key], w.Fresh()...)
	if len(m.items[key]) != w.Listed {
		return fmt.Errorf("%d items are stored, and %d are listed", len(m.items[key]), w.Listed)
	}
	return nil
}

func (m memory) Drop(w *notify.Window) error {
	delete(m.windows, place(w.Scope, w.Target()))
	delete(m.items, place(w.Scope, w.Target()))
	return nil
}

// rig is a store in which jobs die and batches end.
type rig struct {
	t       *testing.T
	set     *notify.Set
	now     job.Micros
	windows memory
	deaths  int64
	ends    int64
	made    []notify.Notice
	keys    map[string]bool
}

func newRig(t *testing.T, change func(*notify.Rules)) *rig {
	t.Helper()
	r := valid()
	if change != nil {
		change(r)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, set: notify.NewSet(r), now: 1_700_000_000_000_000, windows: memory{make(map[string][]byte), make(map[string][]notify.Item)}, keys: make(map[string]bool)}
}

const owner = `{"owner_email": "owner@example.com", "tenant": "t1", "secret": "password=hunter22"}`

func (r *rig) death(batch int64) *notify.Death {
	r.deaths++
	return &notify.Death{Job: job.ID(1000 + r.deaths), Number: r.deaths, Batch: batch, Kind: "thumb", Queue: "default", Key: fmt.Sprint("copy-", r.deaths),
		Life: 1, Attempts: 4, Class: "NetworkTimeout", Code: "net.timeout", Group: "g1", Reason: job.MaxRetries,
		Message: "dial 10.1.2.3:80: /srv/x timed out", UserMessage: "The copy at /srv/x could not be made.", At: r.now}
}

func (r *rig) outcome(batch int64, on notify.Event, state string) *notify.Outcome {
	return &notify.Outcome{Batch: batch, Number: r.ends, On: on, Owner: "u1", Key: "c-7", Name: "Spring", State: state, Attrs: []byte(owner), Total: 50,
		Completed: 46, Dead: 4, At: r.now}
}

// commit is one transaction with deaths and ends.
func (r *rig) commit(deaths []*notify.Death, ends ...*notify.Outcome) (team bool) {
	var p notify.Pending
	for _, d := range deaths {
		if d.Batch > 0 {
			d.BatchAttrs = []byte(owner)
		}
		p.Death(r.set, d)
		team = team || r.set.TeamHears(d)
		if r.set.TeamHears(d) && !r.set.Concerns(d) {
			r.t.Error("the team hears of a death that concerns no rule")
		}
	}
	for _, o := range ends {
		p.Outcome(r.set, o)
	}
	made, err := p.Apply(r.now, r.windows, func(id int64) (*notify.Outcome, error) { return r.outcome(id, "", "PROCESSING"), nil })
	r.keep(made, err)
	return team
}

func (r *rig) end(batch int64, on notify.Event, state string) {
	r.ends++
	r.commit(nil, r.outcome(batch, on, state))
}

// later lets time pass and closes the windows that are due.
func (r *rig) later(d time.Duration) {
	r.now = r.now.Add(d)
	for _, key := range slices.Sorted(maps.Keys(r.windows.windows)) {
		w, err := notify.ReadWindow(r.windows.windows[key])
		if err != nil {
			r.t.Fatal(err)
		}
		if w.DueAt != 0 && w.DueAt <= notify.Time(r.now) {
			r.keep(notify.Close(w, r.now, r.windows))
		}
	}
}

func (r *rig) keep(made []notify.Notice, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, n := range made {
		if r.keys[n.Key] {
			r.t.Errorf("the notice %s was made twice", n.Key)
		}
		r.keys[n.Key] = true
		j, err := n.New()
		if err != nil {
			r.t.Fatal(err)
		}
		back, err := notify.Read(j.Payload)
		if err != nil {
			r.t.Fatal(err)
		}
		if back.ID != n.ID || back.To != n.To {
			r.t.Errorf("the payload is about %s to %s, want %s to %s", back.ID, back.To, n.ID, n.To)
		}
	}
	r.made = append(r.made, made...)
}

// got returns what was made since the last call, as "event recipient".
func (r *rig) got() string {
	var all []string
	for _, n := range r.made {
		all = append(all, fmt.Sprintf("%s %s", n.On, n.To))
	}
	r.made = nil
	return strings.Join(all, ", ")
}

func (r *rig) want(what, want string) {
	r.t.Helper()
	if got := r.got(); got != want {
		r.t.Errorf("%s: notices %q, want %q", what, got, want)
	}
}

func many(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ") }

const member, digest, partial = "member.dead owner@example.com", "digest owner@example.com", "batch.partial owner@example.com, batch.partial shop"

// part of: N2
func TestPending_FewMembersGetAMailEachAtTheOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for range 4 {
		r.commit([]*notify.Death{r.death(7)})
	}
	r.want("before the outcome", "")
	r.end(7, notify.BatchPartial, "PARTIAL")
	r.want("at the outcome", many(member, 4)+", "+partial)
	if len(r.windows.windows) != 1 { // that of single mails
		t.Errorf("%d windows are left, want 1", len(r.windows.windows))
	}
	r.later(notify.WindowLength)
	r.want("later", "")
	if len(r.windows.windows) != 0 {
		t.Errorf("%d windows are left, want none", len(r.windows.windows))
	}
}

// part of: N2
func TestPending_ManyMembersGetOneDigest(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for range 40 {
		r.commit([]*notify.Death{r.death(7)})
	}
	r.end(7, notify.BatchPartial, "PARTIAL")
	d := r.made[0].Facts
	if d.Digest == nil || d.Digest.N != 40 || len(d.Digest.Items) != 20 || d.Digest.More != 20 || d.Digest.Causes[0].N != 40 || d.Batch.State != "PARTIAL" {
		t.Errorf("the digest is %+v, want one of 40 deaths with 20 of them", d.Digest)
	}
	r.want("at the outcome", digest+", "+partial)
}

func TestPending_FourDeathsAWindowFourDeaths(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for range 4 {
		r.commit([]*notify.Death{r.death(7)})
	}
	r.later(notify.WindowLength)
	r.want("after the first window", many(member, 4))
	r.later(notify.WindowLength)
	r.want("in silence", "")
	for range 4 {
		r.commit([]*notify.Death{r.death(7)})
	}
	r.later(notify.WindowLength)
	r.want("after the second window", digest)
	r.end(7, notify.BatchPartial, "PARTIAL")
	r.want("at the outcome", partial)
	// The next outcome counts anew, also if no time has passed.
	r.commit([]*notify.Death{r.death(7)})
	r.end(7, notify.BatchPartial, "PARTIAL")
	r.want("at the next outcome", member+", "+partial)
}

func TestPending_OneMessageAndOneDigestInFiveMinutes(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		rules.Rules = append(rules.Rules, notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"administrator"}})
	})
	for i := range 2_000 {
		d := r.death(0)
		d.First = i == 0
		r.commit([]*notify.Death{d})
	}
	r.want("at once", "group.first ops@example.com")
	r.later(notify.WindowLength)
	if d := r.made[0].Facts.Digest; d.N != 1_999 || d.More != 1_979 {
		t.Errorf("the digest is about %d deaths and leaves out %d, want 1,999 and 1,979", d.N, d.More)
	}
	r.want("after the window", "digest ops@example.com")
	r.commit([]*notify.Death{r.death(0)})
	r.want("in the next window", "")
	r.later(notify.WindowLength)
	r.want("after the next window", "digest ops@example.com")
	r.later(notify.WindowLength)
	r.commit([]*notify.Death{r.death(0)})
	r.want("after a window of silence", "job.dead ops@example.com")
}

func TestPending_ARecipientGetsTwentyMailsOfManyBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for batch := range int64(200) {
		r.end(batch+1, notify.BatchPartial, "PARTIAL")
	}
	got := r.got()
	if mails, hooks := strings.Count(got, "@"), strings.Count(got, "shop"); mails != notify.SinglesMax || hooks != 200 {
		t.Errorf("%d mails and %d webhooks, want %d and 200", mails, hooks, notify.SinglesMax)
	}
	r.later(notify.WindowLength)
	if d := r.made[0].Facts.Digest; d.N != 180 || len(d.Ended) != 20 || d.More != 160 {
		t.Errorf("the digest is about %d outcomes and lists %d, want 180 and 20", d.N, len(d.Ended))
	}
	r.want("after the window", digest)
}

func TestPending_EveryUndoesWindows(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		for i := range rules.Rules {
			rules.Rules[i].Every = true
		}
	})
	for range 30 {
		r.commit([]*notify.Death{r.death(7)})
	}
	r.want("deaths", many(member, 30))
	for range 30 {
		r.end(7, notify.BatchReady, "READY")
	}
	if got := strings.Count(r.got(), "batch.ready owner"); got != 30 {
		t.Errorf("%d mails of outcomes, want 30", got)
	}
	if len(r.windows.windows) != 0 {
		t.Errorf("%d windows are left, want none", len(r.windows.windows))
	}
}

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
	d.Attrs = []byte(`{"recipient": "<b>x</b>\r\nBcc: a@b\u202e", "file": "/srv/x"}`)
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
			rules.Rules = []notify.Rule{{On: on, Channel: "hook", To: []string{"shop"}, Every: true, Data: map[string]string{"x": name}}}
		})
		if strings.HasPrefix(name, "digest.") {
			continue // a digest has all fields
		}
		d := r.death(7)
		d.Owner, d.Correlation, d.Crashes = "u1", "c1", 1
		r.commit([]*notify.Death{d})
		r.end(7, notify.BatchReady, "READY")
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
		d.Attrs, d.UserMessage, d.Message, d.Class, d.Code, d.Owner, d.Key, d.Correlation = packed, long, long, long, long, long, long, long
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
