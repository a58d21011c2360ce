package redrive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store/memory"
)

// The text for users says that the team was notified only where the rules of notifications let the team
// hear of the death: not before there are rules, not of a death of which nobody hears, and not after
// the rules were taken back.
//
// proves: F10
func TestF10_TheTeamWasNotifiedOnlyIfItWas(t *testing.T) {
	t.Parallel()
	file, err := policyfile.Parse("policy.yaml", []byte(`
version: 1
default: {max_retries: 0}
classes:
  UnknownError:
    messages: {dead: It did not work., notified: Our team has been notified.}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Name: "w", Policy: file.Policy, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]redrive.Kind[int]{"render": "render", "scan": "scan"}
	for _, kind := range kinds {
		redrive.Handle(c, kind, func(context.Context, *redrive.Job[int]) error { return errors.New("blargh") }, nil)
	}
	die := func(kind string) string {
		t.Helper()
		r, err := c.Enqueue(t.Context(), kinds[kind].New(1, nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		failures, err := c.Failures(t.Context(), r.ID)
		if err != nil || len(failures) != 1 {
			t.Fatalf("got %d failures, error %v, want 1", len(failures), err)
		}
		return failures[0].UserMessage
	}
	publish := func(rules *notify.Rules) {
		t.Helper()
		if _, err := c.PublishNotify(t.Context(), redrive.By{Actor: "ann"}, rules); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("text %s: got %q, want %q", when, got, want)
		}
	}
	const alone, both = "It did not work.", "It did not work. Our team has been notified."
	want("without rules", die("render"), alone)
	publish(&notify.Rules{
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules: []notify.Rule{{On: []notify.Event{notify.JobDead}, Match: notify.Match{Kind: "render"}, Channel: "mail",
			To: []string{"ops@example.com"}, Team: true}},
	})
	want("of a death with a notice", die("render"), both)
	want("of a death that waits for the digest", die("render"), both)
	want("of a death that no rule is about", die("scan"), alone)
	publish(nil)
	want("after the rules were taken back", die("render"), alone)
}
