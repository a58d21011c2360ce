package preset_test

import (
	"testing"

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
