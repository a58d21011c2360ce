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
			t.Errorf("%s: got %d bytes, found %v", name, len(text), ok)
		}
	}
	for _, name := range []string{"", "Chat", "chat.yaml", "../preset/chat", "default"} {
		if _, ok := preset.Text(name); ok {
			t.Errorf("Text found a preset called %q", name)
		}
	}
}

// A failure that no matcher knows is retried as in the system that the preset was made
// for.
//
// proves: F5
func TestF5_UnknownByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 3, "transcribe": 3, "render": 3, "watermark": 4, "chat": 1, "ocr": 1} {
		for _, message := range []string{"", "something odd happened", "Kaboom 42"} {
			all := life{kind: map[string]string{"ocr": "openai"}[name]}.execute(t, load(t, name, "").Policy, failing(message))
			if len(all) != executions || all[0].Class != "UnknownError" {
				t.Errorf("%s: %q: got %d attempts with class %s, want %d", name, message, len(all), all[0].Class, executions)
			}
		}
	}
}

// The time limit of a run has its own class, whatever the message of the failure is.
//
// proves: F13
func TestF13_TimeLimitsByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 2, "transcribe": 2, "render": 3, "watermark": 4} {
		all := life{}.execute(t, load(t, name, "").Policy, timeLimit())
		if len(all) != executions || all[0].Class != "AttemptTimeout" {
			t.Errorf("%s: got %d attempts with class %s, want %d", name, len(all), all[0].Class, executions)
		}
	}
}

// Each preset is a normal policy file: it fits the schema, every key is known, and
// rendering keeps the policy.
//
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
			t.Errorf("%s: %v", name, err)
		}
		if f.Policy.Name() != name {
			t.Errorf("the preset %s has the name %s", name, f.Policy.Name())
		}
	}
}
