package words_test

import (
	"testing"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

// An action reads as a sentence: who, what, of which object, and what it changed. No JSON of the log is shown, and what a
// redrive does by itself has the redrive as its subject.
func TestAuditInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    store.Audit
		want string
	}{
		{store.Audit{Actor: "mira", Action: "job.retry", Target: "402", Before: "dead", After: "waiting"}, "mira retried job 402, was dead, is waiting"},
		{store.Audit{Actor: "mira", Action: "dead_letter.resolve", Target: "402", Before: "pending", After: "resolved"}, "mira resolved the dead letter of job 402, was pending, is resolved"},
		{store.Audit{Actor: "mira", Action: "dead_letter.resolve", Target: `{"statuses":["pending"],"class":"Panic"}`, After: `{"done":1}`}, "mira resolved 1 dead letter (status pending, class Panic)"},
		{store.Audit{Actor: "mira", Action: "jobs.cancel", Target: `{"kind":"mail"}`, After: `{"done":1200}`}, "mira cancelled 1,200 jobs (kind mail)"},
		{store.Audit{Actor: "mira", Action: "redrive.start", Target: "4", After: `{"filter":{"statuses":["pending"],"group":"2:6c5dc046b84685a0"},"through":392,"total":38,"canary":3,"change":{"priority":4,"once":true}}`}, "mira started redrive 4 of 38 jobs (status pending, group 6c5dc046)"},
		{store.Audit{Actor: "redrive", Action: "redrive.complete", Target: "4", Before: "settling", After: "completed"}, " Redrive 4 has completed"},
		{store.Audit{Actor: "redrive 4", Action: "redrive.release", Target: "4", After: `{"done":23}`}, " Redrive 4 went on with 23 jobs"},
		{store.Audit{Actor: "mira", Action: "redrive.cancel", Target: "4", Before: "canary", After: "cancelled"}, "mira cancelled redrive 4"},
		{store.Audit{Actor: "mira", Action: "queue.set", Target: "default", Before: `{"name":"default","mode":"open"}`, After: `{"name":"default","mode":"paused","limit":20}`}, "mira set queue default: limit 20; mode paused, was open"},
		{store.Audit{Actor: "mira", Action: "group.set", Target: "2:6c5dc046b84685a0", Before: `{"state":"open"}`, After: `{"assignee":"kim","state":"open"}`}, "mira changed cause 6c5dc046: assignee kim"},
		{store.Audit{Actor: "w-1", Action: "policy.publish", Target: "69d80664c94eeab06bab", After: "default"}, "w-1 published policy 69d80664 (default)"},
		{store.Audit{Actor: "sweep", Action: "retention.remove", Target: "pending_dead_letters", After: `{"n":1200}`}, " Retention removed 1,200 (pending dead letters)"},
		{store.Audit{Actor: "x", Action: "new.action", Target: "y", After: "{"}, "x new.action y: {"},
	} {
		l := words.AuditOf(&c.e)
		if got := l.Who + " " + spaced(l.Did) + l.Of + l.More; got != c.want {
			t.Errorf("%s: got %q, want %q", c.e.Action, got, c.want)
		}
	}
}

func spaced(verb string) string {
	if verb == "" {
		return ""
	}
	return verb + " "
}
