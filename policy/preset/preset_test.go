package preset_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

func TestTextOfAPreset(t *testing.T) {
	t.Parallel()
	for _, name := range preset.Names() {
		if text, ok := preset.Text(name); !ok || len(text) == 0 {
			t.Errorf("preset %s: got a text of %d bytes and found %v, want a text and true", name, len(text), ok)
		}
	}
	for _, name := range []string{"", "Chat", "chat.yaml", "../preset/chat", "default"} {
		if _, ok := preset.Text(name); ok {
			t.Errorf("Text found a preset with the invalid name %q, want none", name)
		}
	}
}

// A failure that no matcher knows is retried as in the system for which the preset was
// made.
// proves: F5
func TestF5_UnknownByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 3, "transcribe": 3, "render": 3, "watermark": 4, "chat": 1, "ocr": 1} {
		for _, message := range []string{"", "something odd happened", "Kaboom 42"} {
			all := life{kind: map[string]string{"ocr": "openai"}[name]}.execute(t, load(t, name, "").Policy, failing(message))
			if len(all) != executions || all[0].Class != "UnknownError" {
				t.Errorf("preset %s, message %q: got %d attempts with the class %s, want %d attempts with UnknownError", name, message, len(all), all[0].Class, executions)
			}
		}
	}
}

// A run that reaches its time limit has a separate class, for any message of the failure.
// proves: F13
func TestF13_TimeLimitsByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 2, "transcribe": 2, "render": 3, "watermark": 4} {
		all := life{}.execute(t, load(t, name, "").Policy, timeLimit())
		if len(all) != executions || all[0].Class != "AttemptTimeout" {
			t.Errorf("preset %s: got %d attempts with the class %s, want %d attempts with AttemptTimeout", name, len(all), all[0].Class, executions)
		}
	}
}

// Each preset is an ordinary policy file: it matches the schema, every key is known, and
// writing and reading it gives the same policy.
// part of: F9
func TestF9_PresetsAreRenderedAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, name := range policyfile.Presets() {
		f, err := policyfile.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := policyfile.Parse("rendered", policyfile.Render(&f.Spec))
		if err != nil || again.Policy.Hash() != f.Policy.Hash() {
			t.Errorf("preset %s: the rendered file gave the error %v or another policy, want the same policy", name, err)
		}
		if f.Policy.Name() != name {
			t.Errorf("the policy of the preset %s has the name %s, want the name of the preset", name, f.Policy.Name())
		}
	}
}

// The preset dev differs from the default only in its waits.
func TestDevIsTheDefaultWithShorterWaits(t *testing.T) {
	t.Parallel()
	dev, def := load(t, "dev", "").Policy, load(t, "default", "").Policy
	if d := cmp.Diff(def.Classes(), dev.Classes()); d != "" {
		t.Errorf("the classes differ:\n%s", d)
	}
	for _, class := range def.Classes() {
		if d := cmp.Diff(def.Info(class), dev.Info(class)); d != "" {
			t.Errorf("class %s differs:\n%s", class, d)
		}
		in := policy.Input{How: job.ByError, Class: classify.Classification{Class: class, Rule: "x"}, U: 0.5}
		long, short := in, in
		for retries := 0; ; retries++ {
			a, b := def.Decide(&long), dev.Decide(&short)
			if a.Action != b.Action || a.Reason != b.Reason || b.Nominal > 16*time.Second || a.Nominal > 0 && b.Nominal >= a.Nominal {
				t.Errorf("class %s, after %d retries: dev decides %s (%s) after %s, the default %s (%s) after %s", class, retries,
					b.Action, b.Reason, b.Nominal, a.Action, a.Reason, a.Nominal)
			}
			if a.Action != policy.Retry || b.Action != policy.Retry {
				break
			}
			long.Memo, long.Attempts, short.Memo, short.Attempts = a.Memo, retries+1, b.Memo, retries+1
		}
	}
}
