package policyfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/testing/mistakes"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

// Parse accepts or refuses any text. An accepted policy can be written and read again; a
// refused text gives readable problems.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/full.yaml", "testdata/mistakes.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, name := range preset.Names() {
		text, _ := preset.Text(name)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := policyfile.Parse("f", data)
		if err != nil {
			if file != nil {
				t.Error("Parse returned both a policy and problems, want only one of them")
			}
			mistakes.Readable(t, mistakes.Of[policyfile.Problems](t, err), string(data))
			return
		}
		text := policyfile.Render(&file.Spec)
		again, err := policyfile.Parse("f", text)
		if err != nil {
			t.Fatalf("reading the rendered policy gave the error %v, want none; the text is\n%s", err, text)
		}
		if again.Policy.Hash() != file.Policy.Hash() {
			t.Errorf("reading the rendered policy gives a policy with another hash, want the same hash:\n%s", text)
		}
	})
}

// proves: X3
func TestX3_PolicyFilesAreBounded(t *testing.T) {
	t.Parallel()
	sized := func(bytes int) string {
		const text = "name: a\n#"
		return text + strings.Repeat("x", bytes-len(text))
	}
	bomb := "name: a\nwords: &a {states: {dead: x}}\n"
	for c := 'b'; c <= 'z'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 10) + "]\n"
	}
	rules := func(n int) string {
		return "rules: [" + strings.Repeat("{name: a, kinds: a, queue: q}, ", n) + "]"
	}
	for name, tt := range map[string]struct {
		text, complaint string
		want            bool
	}{
		"at the largest size":    {sized(policyfile.MaxBytes), "larger than 1 MiB", false},
		"above the largest size": {sized(policyfile.MaxBytes + 1), "the file is larger than 1 MiB; a policy never needs that much", true},
		"aliases that multiply":  {bomb, "aliases repeat more than", true},
		"nested too deep":        {"default: " + strings.Repeat("[", 33), "nested more than 32 levels deep; a policy needs at most 8", true},
		"rules on":               {rules(100), "at most 100", false},
		"too many rules":         {rules(101), "rules must hold at most 100 rules, found 101", true},
		"empty":                  {"", `the file is empty; write at least "version: 1"`, true},
		"a list":                 {"- a", `the file must be a mapping of settings such as "name: mine", found a list`, true},
	} {
		_, err := policyfile.Parse("f", []byte(tt.text))
		if got := err != nil && strings.Contains(err.Error(), tt.complaint); got != tt.want {
			t.Errorf("%s: whether the error contains the expected text: got %v, want %v; the error is %.300v", name, got, tt.want, err)
		}
	}
}
