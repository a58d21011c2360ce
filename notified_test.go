package redrive_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store/memory"
)

// The text for users says that the team was notified only where the rules of notifications let the team
// hear of the death: not before there are rules, not of a death of which nobody hears, and not after
// the rules were taken back.
//
// proves: F10
func TestF10_Trap26_TheTeamWasNotifiedOnlyIfItWas(t *testing.T) {
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

// The preset transcribe holds videos that are too long, and names the administrator, who gets a mail by
// the rule hold.notify. So does who hears of the first failure of an unknown cause; its user reads that
// the team was notified.
//
// part of: N4, R5, F10
func TestN4_TheAdministratorHearsOfHeldVideosAndUnknownErrors(t *testing.T) {
	t.Parallel()
	preset, err := policyfile.Preset("transcribe")
	if err != nil {
		t.Fatal(err)
	}
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Name: "w", Policy: preset.Policy, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	kind := redrive.Kind[int]("transcribe")
	redrive.Handle(c, kind, func(context.Context, *redrive.Job[int]) error { return failure.Permanent(errors.New("blargh")) }, nil)
	_, err = c.PublishNotify(t.Context(), redrive.By{Actor: "ann"}, &notify.Rules{
		People:   map[string][]string{"administrator": {"admin@example.com"}, "team": {"team@example.com"}},
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules: []notify.Rule{
			{On: []notify.Event{notify.JobHeld}, Channel: "mail", To: []string{notify.HoldNotify}, Team: true},
			{On: []notify.Event{notify.GroupFirst}, Match: notify.Match{Class: string(failure.UnknownError)}, Channel: "mail", To: []string{"team"}, Team: true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var failed redrive.Receipt
	for _, hours := range []int{9, 1} {
		r, err := c.Enqueue(t.Context(), kind.New(1, &redrive.Options{Attrs: map[string]any{"duration_seconds": hours * 3600}}))
		if err != nil {
			t.Fatal(err)
		}
		if hours == 1 && failed.ID == 0 {
			failed = r
		}
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	failures, err := c.Failures(t.Context(), failed.ID)
	if err != nil || len(failures) != 1 || failures[0].Class != string(failure.UnknownError) {
		t.Fatalf("got the failures %+v, error %v, want one of class UnknownError", failures, err)
	}
	if text := failures[0].UserMessage; !strings.HasSuffix(text, " Our team has been notified.") {
		t.Errorf("text for the user: got %q, want that the team was notified", text)
	}
	var got []string
	page, err := c.List(t.Context(), redrive.JobFilter{Kind: notify.KindMail})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Jobs {
		j, err := c.Get(t.Context(), page.Jobs[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		n, err := notify.Read(j.Payload)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(n.On)+" "+n.To)
	}
	if all := strings.Join(got, ", "); all != "job.held admin@example.com, group.first team@example.com" &&
		all != "group.first team@example.com, job.held admin@example.com" {
		t.Errorf("got the notices %s, want one for the administrator and one for the team", all)
	}
}
