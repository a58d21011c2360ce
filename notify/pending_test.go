package notify_test

import (
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
	attrs   map[job.ID][]byte
	read    int // number of calls of Attrs
}

// Attrs implements notify.Subjects.
func (r *rig) Attrs(id job.ID) ([]byte, error) {
	r.read++
	return r.attrs[id], nil
}

// Batch implements notify.Subjects.
func (r *rig) Batch(id int64) (*notify.Outcome, error) { return r.outcome(id, "", "PROCESSING"), nil }

func newRig(t *testing.T, change func(*notify.Rules)) *rig {
	t.Helper()
	r := valid()
	if change != nil {
		change(r)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, set: notify.NewSet(r), now: 1_700_000_000_000_000, windows: memory{make(map[string][]byte), make(map[string][]notify.Item)}, keys: make(map[string]bool), attrs: make(map[job.ID][]byte)}
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
		p.Death(r.set, d)
		team = team || r.set.TeamHears(d)
		if r.set.TeamHears(d) && !r.set.Concerns(d) {
			r.t.Error("the team hears of a death that concerns no rule")
		}
	}
	for _, o := range ends {
		p.Outcome(r.set, o)
	}
	made, err := p.Apply(r.now, r.windows, r)
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

// part of: N2
func TestN2_Trap19_FourDeathsAWindowFourDeaths(t *testing.T) {
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

// A rule may say when there is a digest, and how long it waits.
func TestPending_ARuleSetsItsDigests(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		rules.Rules[1].Digest = notify.DigestLimits{Above: 2, Wait: 60}
		rules.Rules = append(rules.Rules, notify.Rule{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"administrator"}, Digest: notify.DigestLimits{Wait: 600}})
	})
	die := func(batch int64, n int) {
		for range n {
			r.commit([]*notify.Death{r.death(batch)})
		}
	}
	die(7, 2)
	r.later(59 * time.Second)
	r.want("before the minute is over", "")
	r.later(time.Second)
	r.want("two deaths of a batch", many(member, 2))
	die(7, 1)
	r.later(time.Minute)
	r.want("the third one", digest)
	die(0, 3)
	r.want("the first death of no batch", "job.dead ops@example.com")
	r.later(notify.WindowLength)
	r.want("after five minutes", "")
	r.later(notify.WindowLength)
	r.want("after ten minutes", "digest ops@example.com")
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
	if r.read != 1+notify.ItemsMax {
		t.Errorf("the attributes of %d jobs were read, want those of the message and of the %d that the digest lists", r.read, notify.ItemsMax)
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

// Two recipients of one rule have a notice each, with a key of its own (keep checks it).
func TestPending_EachRecipientHasItsNotice(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(rules *notify.Rules) {
		rules.Rules = []notify.Rule{{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"ann@example.com", "bob@example.com"}, Every: true}}
	})
	r.commit([]*notify.Death{r.death(0)})
	r.want("one death", "job.dead ann@example.com, job.dead bob@example.com")
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
