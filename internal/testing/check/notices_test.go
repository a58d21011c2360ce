package check_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// withNotices adds rules to a history, and what follows from them: one recipient is notified of each death by a
// notice, another by one notice and a window.
func withNotices(h *check.History) {
	rules := &notify.Rules{Channels: map[string]notify.Channel{"hook": {Type: notify.Webhook}, "mail": {Type: notify.Mail}}, Rules: []notify.Rule{
		{On: []notify.Event{notify.JobDead}, Channel: "hook", To: []string{"each"}, Every: true},
		{On: []notify.Event{notify.JobDead, notify.BatchEnd}, Channel: "mail", To: []string{"desk@example.com"}},
	}}
	body, hash := rules.Encode()
	h.Dump.Notify = []store.NotifyRules{{Number: 1, Hash: hash, Body: body}}
	h.Dump.Events = slices.Insert(h.Dump.Events, 0, event.Event{Cursor: event.Cursor{Seq: -1}, Type: event.NotifyChanged, Reason: hash})
	deaths := 0
	for _, e := range h.Dump.Events {
		if e.To != job.Dead {
			continue
		}
		deaths++
		tell(h, notify.KindWebhook, fmt.Sprintf("job.dead/%s/%d/%s", e.Job, deaths, targetOf("hook", "each")))
		if deaths == 1 {
			tell(h, notify.KindMail, fmt.Sprintf("job.dead/%s/%d/%s", e.Job, deaths, targetOf("mail", "desk@example.com")))
		}
	}
	window(h, deaths-1)
	h.Notices = []check.Notice{{Job: plain, ID: "a", Causes: 1}, {Job: plain, ID: "a", Causes: 1}, {Job: flaky, ID: "b", Causes: 1}}
}

func tell(h *check.History, kind, key string) {
	h.Dump.Keys = append(h.Dump.Keys, store.Key{Kind: kind, Key: key, Job: plain})
}

func window(h *check.History, n int) {
	w := notify.Window{V: 1, Channel: "mail", To: "desk@example.com", N: int64(n)}
	text := "0 mail/desk@example.com " + string(w.Encode())
	for range min(n, notify.ItemsMax) {
		text += "\n{}"
	}
	h.Dump.Windows = []string{text}
}

func targetOf(channel, to string) string {
	sum := sha256.Sum256([]byte(channel + "\x00" + to))
	return hex.EncodeToString(sum[:10])
}

func TestAHistoryWithNoticesPasses(t *testing.T) {
	t.Parallel()
	h := sound(t)
	withNotices(h)
	for _, v := range check.Check(h) {
		t.Errorf("a history with notices has the violation %v, want none", v)
	}
	if len(h.Dump.Keys) < 5 {
		t.Fatalf("the history has %d keys, want some of notices", len(h.Dump.Keys))
	}
}

func noticeMutants() []mutant {
	after := func(name string, change func(h *check.History)) mutant {
		return mutant{name, breaks(check.NoticeKept), func(h *check.History) { withNotices(h); change(h) }}
	}
	dropKey := func(h *check.History, kind string) {
		i := slices.IndexFunc(h.Dump.Keys, func(k store.Key) bool { return k.Kind == kind })
		h.Dump.Keys = slices.Delete(h.Dump.Keys, i, i+1)
	}
	return []mutant{
		after("nobody was notified of a death", func(h *check.History) { dropKey(h, notify.KindWebhook) }),
		after("a death is in no notice and in no window", func(h *check.History) { dropKey(h, notify.KindMail) }),
		after("a death is in a notice and in a window", func(h *check.History) {
			window(h, int(len(h.Dump.Keys)))
		}),
		after("a death was notified twice", func(h *check.History) {
			tell(h, notify.KindWebhook, fmt.Sprintf("job.dead/%s/99/%s", buried, targetOf("hook", "each")))
		}),
		after("the end of no batch was notified", func(h *check.History) {
			tell(h, notify.KindMail, "batch.ready/7/1/"+targetOf("mail", "desk@example.com"))
		}),
		after("a notice is for a stranger", func(h *check.History) { tell(h, notify.KindMail, "job.dead/x/1/"+targetOf("mail", "x@example.com")) }),
		after("a window lists less than it counts", func(h *check.History) { h.Dump.Windows[0] = h.Dump.Windows[0][:len(h.Dump.Windows[0])-3] }),
		after("the window of a batch that has ended is open", func(h *check.History) {
			h.Dump.Batches = []store.Batch{{ID: 1, State: job.BatchReady, Outcome: 1}}
			h.Dump.Outcomes = map[int64][]store.BatchOutcome{1: {{N: 1, State: job.BatchReady}}}
			h.Dump.Events = append(h.Dump.Events, event.Event{Cursor: event.Cursor{Seq: 9999}, Type: event.BatchChanged, Batch: 1, Reason: "ready", Note: "1"})
			w := notify.Window{V: 1, Scope: 1, Channel: "mail", To: "desk@example.com", N: 1}
			h.Dump.Windows = append(h.Dump.Windows, "1 mail/desk@example.com "+string(w.Encode())+"\n{}")
		}),
		after("a repeat of a notice has another id", func(h *check.History) { h.Notices[1].ID = "c" }),
		after("two notices have one id", func(h *check.History) { h.Notices[2].ID = "a" }),
	}
}
