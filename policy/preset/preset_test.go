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
			t.Errorf("%s: %d bytes, %v", name, len(text), ok)
		}
	}
	for _, name := range []string{"", "Chat", "chat.yaml", "../preset/chat", "default"} {
		if _, ok := preset.Text(name); ok {
			t.Errorf("%q is a preset", name)
		}
	}
}

// What nothing matches is what the system says it is.
//
// proves: F5
func TestF5_UnknownByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 3, "transcribe": 3, "render": 3, "watermark": 4, "chat": 1, "ocr": 1} {
		for _, message := range []string{"", "something odd happened", "Kaboom 42"} {
			all := life{kind: map[string]string{"ocr": "openai"}[name]}.execute(t, load(t, name, "").Policy, failing(message))
			if len(all) != executions || all[0].Class != "UnknownError" {
				t.Errorf("%s: %q runs %d times as %s, want %d", name, message, len(all), all[0].Class, executions)
			}
		}
	}
}

// The time limit of a run is a class of its own, whatever the words that it ends with.
//
// proves: F13
func TestF13_TimeLimitsByPreset(t *testing.T) {
	t.Parallel()
	for name, executions := range map[string]int{"default": 2, "transcribe": 2, "render": 3, "watermark": 4} {
		all := life{}.execute(t, load(t, name, "").Policy, timeLimit())
		if len(all) != executions || all[0].Class != "AttemptTimeout" {
			t.Errorf("%s: %d executions as %s, want %d", name, len(all), all[0].Class, executions)
		}
	}
}

// Each preset is a file as people write it: the schema's shape, every key known,
// and the same policy when it is rendered.
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
			t.Errorf("%s is called %s", name, f.Policy.Name())
		}
	}
}
