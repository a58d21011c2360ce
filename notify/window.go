package notify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
)

// Limits of windows.
const (
	// WindowLength is how long a window is open, unless its rule says otherwise. In this time a recipient
	// gets one message, and at its end one digest of what has happened since.
	WindowLength = 5 * time.Minute
	// MembersMax is the maximum number of members of a batch that get a message each, unless the rule says
	// otherwise; more get a digest.
	MembersMax = 5
	// SinglesMax is the maximum number of mails about batches and their members that a recipient gets in
	// WindowLength, apart from digests.
	SinglesMax  = 20
	causesMax   = 50 // maximum number of different causes that a window counts
	causesShown = 5  // number of causes that a digest shows
)

// Scopes of windows that are not those of a batch, whose scope is its id.
const (
	Plain  = 0             // deaths outside of batches
	Single = math.MaxInt64 // mails about batches and their members
)

// Window is what a recipient will hear of later. A store keeps it as a row with its scope, its
// target and its due time, and each of the first items that wait as a row of its own: so a death
// writes little, however many wait already.
type Window struct {
	V       int               `json:"v"`
	Scope   int64             `json:"scope"` // Plain, Single or a batch
	Channel string            `json:"channel"`
	To      string            `json:"to"`
	Kind    string            `json:"kind"` // KindMail or KindWebhook
	Team    bool              `json:"team,omitempty"`
	Type    string            `json:"event,omitempty"` // of the rule, for webhooks
	Data    map[string]string `json:"data,omitempty"`
	Above   int               `json:"above,omitempty"`  // of a batch: the messages before there is a digest; 0 means MembersMax
	Wait    int               `json:"wait_s,omitempty"` // how long the window is open, in seconds; 0 means WindowLength
	Opened  Time              `json:"opened"`
	DueAt   Time              `json:"due_at,omitempty"` // when the window ends; 0 while nothing waits in that of a batch
	N       int64             `json:"n"`                // number of what waits
	Sum     int64             `json:"sum,omitempty"`    // of a batch: number of deaths since its last outcome; else the messages of the window
	Since   Time              `json:"since,omitempty"`
	Until   Time              `json:"until,omitempty"`
	Listed  int               `json:"listed,omitempty"` // number of items that the store keeps
	Causes  []CauseCount      `json:"causes,omitempty"`
	Batch   *BatchFacts       `json:"batch,omitempty"`

	fresh   []Item
	cleared bool
}

// Fresh returns the items to add to the stored ones. The first of them has the number Listed less
// their number.
func (w *Window) Fresh() []Item { return w.fresh }

// Cleared reports whether the store must remove the items that it has, before it adds the fresh ones.
func (w *Window) Cleared() bool { return w.cleared }

// Item is a death or an outcome that waits in a window.
type Item struct {
	Subject Subject     `json:"subject"`
	Job     *JobFacts   `json:"job,omitempty"`
	Batch   *BatchFacts `json:"batch,omitempty"` // only of an outcome
}

// Since sets what has happened to the job of a death since: the life in which it is now, 0 if it is removed. It reports
// whether the item is still to be listed.
func (i *Item) Since(life int32) bool {
	if i.Job != nil && life > i.Job.Life {
		i.Job.Retried = true
	}
	return i.Job == nil || life > 0
}

// Target returns what names the recipient in the scope of the window: the channel and the recipient.
func (w *Window) Target() string { return w.Channel + "/" + w.To }

// Encode returns the window as a store keeps it.
func (w *Window) Encode() []byte { return encode(w) }

// ReadWindow reads a stored window.
func ReadWindow(body []byte) (*Window, error) {
	w := new(Window)
	return w, json.Unmarshal(body, w)
}

// Windows are the open windows of a store, in one of its transactions.
type Windows interface {
	// Window returns a window, or nil. It is used until the next call of Keep or Drop.
	Window(scope int64, target string) (*Window, error)
	// Of returns the windows of a batch, in the order of their targets.
	Of(batch int64) ([]*Window, error)
	// Items returns the stored items of a window, in their order. It leaves out jobs that are removed, and
	// marks those that were retried; see Item.Since.
	Items(w *Window) ([]Item, error)
	// Keep writes a window that is new or changed, and its items; see Window.Fresh and Window.Cleared.
	Keep(w *Window) error
	// Drop removes a window and its items.
	Drop(w *Window) error
}

// lists reports whether the next item is listed and not only counted.
func (w *Window) lists() bool { return w.Listed < ItemsMax }

// add puts a death or an outcome into the window. The item is used only if it is listed.
func (w *Window) add(i Item, at job.Micros) {
	w.N++
	w.Since, w.Until = cmp.Or(w.Since, Time(at)), Time(at)
	if w.lists() {
		w.fresh = append(w.fresh, i)
		w.Listed++
	}
}

// count counts the cause of a death.
func (w *Window) count(class, code string) {
	for i := range w.Causes {
		if c := &w.Causes[i]; c.Class == class && c.Code == code {
			c.N++
			return
		}
	}
	if len(w.Causes) < causesMax {
		w.Causes = append(w.Causes, CauseCount{class, code, 1})
	}
}

// open begins the time of the window.
func (w *Window) open(now job.Micros) {
	length := cmp.Or(time.Duration(w.Wait)*time.Second, WindowLength)
	w.Opened, w.DueAt = Time(now), Time(now.Add(length))
}

// empty takes out what waits in the window.
func (w *Window) empty() {
	w.N, w.Since, w.Until, w.Causes, w.Listed, w.cleared = 0, 0, 0, nil, 0, true
}

// digest returns a notice that lists what waits in the window.
func (w *Window) digest(items []Item, now job.Micros) Notice {
	d := &DigestFacts{N: w.N, Since: stamp(job.Micros(w.Since)), Until: stamp(job.Micros(w.Until)), More: w.N - int64(len(items)), Causes: slices.Clone(w.Causes)}
	for _, i := range items {
		if i.Job != nil {
			d.Items = append(d.Items, *i.Job)
		}
		if i.Batch != nil {
			d.Ended = append(d.Ended, *i.Batch)
		}
	}
	slices.SortStableFunc(d.Causes, func(a, b CauseCount) int { return cmp.Compare(b.N, a.N) })
	d.Causes = d.Causes[:min(len(d.Causes), causesShown)]
	n := w.notice(Digest, Facts{Digest: d, Batch: w.Batch, At: stamp(job.Micros(w.Until))}, now)
	if w.Scope > Plain && w.Scope < Single {
		n.Subject.Batch = w.Scope
		n.Facts.Link = w.Batch.link()
	}
	// A digest has all fields: the data of a rule are facts of a single job or batch.
	if len(items) == 0 { // all jobs are removed
		return n.finish(fmt.Sprintf("%d/removed", w.Scope), int64(w.Since), "", nil)
	}
	first := items[0].Subject
	return n.finish(fmt.Sprintf("%d/%d", w.Scope, first.Batch), cmp.Or(first.Death, first.Outcome), "", nil)
}

func (b *BatchFacts) link() string {
	if b == nil {
		return ""
	}
	return b.Link
}

func (w *Window) notice(on Event, f Facts, now job.Micros) Notice {
	return Notice{V: 1, On: on, Channel: w.Channel, To: w.To, Team: w.Team, Facts: f, MadeAt: Time(now), Kind: w.Kind}
}

// member returns the notice about one death that waits in the window of a batch.
func (w *Window) member(i *Item, now job.Micros) Notice {
	n := w.notice(MemberDead, Facts{Job: i.Job, Batch: w.Batch, At: i.Job.At, Link: i.Job.Link}, now)
	n.Subject = i.Subject
	return n.finish(i.Job.ID, i.Subject.Death, w.Type, w.Data)
}

// Close ends a window that is due. It returns the notices to make.
func Close(w *Window, now job.Micros, windows Windows) ([]Notice, error) {
	if w.Scope > Plain && w.Scope < Single {
		return w.closeBatch(now, windows, false)
	}
	if w.N == 0 {
		return nil, windows.Drop(w)
	}
	items, err := windows.Items(w)
	if err != nil {
		return nil, err
	}
	n := w.digest(items, now)
	w.empty()
	w.open(now)
	w.Sum = 0
	return []Notice{n}, windows.Keep(w)
}

// closeBatch sends what waits in the window of a batch: a message for each death if there are few
// since the last outcome, else a digest. The outcome of the batch ends the window.
func (w *Window) closeBatch(now job.Micros, windows Windows, ended bool) (made []Notice, err error) {
	var items []Item
	if w.N > 0 {
		if items, err = windows.Items(w); err != nil {
			return nil, err
		}
	}
	switch {
	case w.N == 0:
	case w.Sum > int64(cmp.Or(w.Above, MembersMax)):
		made = append(made, w.digest(items, now))
	default:
		for i := range items {
			n := w.member(&items[i], now)
			single, err := mayGo(&n, &items[i], now, windows)
			if err != nil {
				return nil, err
			}
			if single {
				made = append(made, n)
			}
		}
	}
	if ended {
		return made, windows.Drop(w)
	}
	w.empty()
	w.DueAt = 0
	return made, windows.Keep(w)
}

// mayGo counts a mail about a batch or a member for its recipient. When the recipient has got
// SinglesMax of them in the window, the mail waits for the digest, and mayGo returns false.
func mayGo(n *Notice, i *Item, now job.Micros, windows Windows) (bool, error) {
	if n.Kind != KindMail {
		return true, nil
	}
	w := &Window{V: 1, Scope: Single, Channel: n.Channel, To: n.To, Kind: n.Kind, Team: n.Team}
	w.open(now)
	open, err := windows.Window(Single, w.Target())
	if err != nil {
		return false, err
	}
	if open != nil {
		w = open
	}
	if w.DueAt <= Time(now) && w.N == 0 { // nobody has closed it yet
		w.open(now)
		w.Sum = 0
	}
	if w.Sum < SinglesMax {
		w.Sum++
		return true, windows.Keep(w)
	}
	w.add(*i, now)
	if i.Job != nil {
		w.count(i.Job.Class, i.Job.Code)
	}
	return false, windows.Keep(w)
}
