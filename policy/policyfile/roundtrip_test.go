package policyfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"pgregory.net/rapid"
)

// sameSpec compares two Specs. Two conditions are equal if their texts are equal.
func sameSpec(want, got any) string {
	return cmp.Diff(want, got, cmp.Transformer("condition", func(c policy.Condition) string {
		if c == nil {
			return ""
		}
		return strings.TrimSpace(c.String()) // a block of text in YAML ends with a line break
	}))
}

// proves: F9
func TestF9_WhatIsRenderedIsReadBack(t *testing.T) {
	t.Parallel()
	schema := validator(t)
	rapid.Check(t, func(rt *rapid.T) {
		want := genSpec(t, rt)
		text := policyfile.Render(&want)
		f, err := policyfile.ParseOnly("rendered", text)
		if err != nil {
			rt.Fatalf("parsing the rendered file returned the error %v, want none; the file is\n%s", err, text)
		}
		want.Hash, want.Source = f.Spec.Hash, f.Spec.Source
		if d := sameSpec(want, f.Spec); d != "" {
			rt.Fatalf("reading the rendered file gives a wrong Spec (-want +got):\n%s\n%s", d, text)
		}
		if again := policyfile.Render(&f.Spec); string(again) != string(text) {
			rt.Fatalf("rendering the Spec again gives\n%s\nwant\n%s", again, text)
		}
		if err := valid(t, schema, text); err != nil {
			rt.Fatalf("the schema refuses the rendered file, want it accepted: %v\n%s", err, text)
		}
		if got := policyfile.Hash(&f.Spec); got != policyfile.Hash(&want) {
			rt.Fatalf("got the hash %s, want the hash of the original Spec:\n%s", got, text)
		}
	})
}

// part of: F9
func TestF9_MatchersInGoAreHashedAndNamed(t *testing.T) {
	t.Parallel()
	hashes := map[string]bool{}
	for _, m := range []classify.Matcher{{}, {Name: "mine", Version: "1"}, {Name: "mine", Version: "2"}, {Name: "mine1"}} {
		s := policy.Spec{Name: "x"}
		if m.Name != "" {
			s.Classify.Matchers = []classify.Matcher{m}
		}
		hashes[policyfile.Hash(&s)] = true
		text := string(policyfile.Render(&s))
		if m.Name != "" && !strings.Contains(text, "# Without the matcher "+m.Name+" "+m.Version) {
			t.Errorf("the file has no comment about the matcher written in Go, want one:\n%s", text)
		}
		if _, err := policyfile.Parse("f", []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if len(hashes) != 4 {
		t.Errorf("4 different policies have %d different hashes, want 4", len(hashes))
	}
}

// proves: F9
func TestF9_TheHashIsOfWhatIsSaid(t *testing.T) {
	t.Parallel()
	same := []string{
		"name: x\ndefault: {max_retries: 3, backoff: {first: 30s, factor: 2}}\nrules: [{name: r, when: kind=='a'   and (true), queue: q}]\n",
		"# another look\nversion: 1\nrules:\n  - queue: q\n    when: |\n      kind == \"a\" && true\n    name: r\n\n" +
			"default: &d\n  backoff:\n    factor: 2.0\n    first: 0.5m\n  max_attempts: 4\nname: 'x'\nkinds: {}\nclasses:\n",
		"name: x\nextends: default\ndefault: {max_retries: 3, max_attempts: 4, backoff: {first: 30000ms, factor: 2}}\nrules: [{name: r, when: \"kind == 'a' and true\", queue: q}]\n",
	}
	hashes := map[string]string{}
	for _, text := range same {
		f, err := policyfile.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Policy.Hash()) != 64 || f.Policy.Hash() != policyfile.Hash(&f.Spec) {
			t.Errorf("Policy.Hash returned %q, want 64 digits, those that policyfile.Hash returns: %q", f.Policy.Hash(), policyfile.Hash(&f.Spec))
		}
		hashes[f.Policy.Hash()] = text
	}
	if len(hashes) != 1 {
		t.Errorf("the same policy has %d different hashes, want 1", len(hashes))
	}
	for _, change := range [][2]string{
		{"name: x", "name: y"}, {"max_retries: 3", "max_retries: 4"}, {"30s", "31s"}, {"factor: 2", "factor: 3"}, {"kind=='a'", "kind=='b'"},
		{"kind=='a'   and (true)", "kind=='a' or true"}, {"queue: q", "queue: p"}, {"name: r", "name: s"}, {"max_retries", "max_total_retries"},
		{"default:", "kinds: {a: {}}\ndefault:"}, {"default:", "classes: {Crash: {}}\ndefault:"}, {"{first: 30s, factor: 2}", "{waits: [30s, 1m]}"},
	} {
		text := strings.Replace(same[0], change[0], change[1], 1)
		f, err := policyfile.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if before, taken := hashes[f.Policy.Hash()]; taken {
			t.Errorf("two different policies have the same hash, want different hashes:\n%s\nand\n%s", text, before)
		}
		hashes[f.Policy.Hash()] = text
	}
}

// The built-in default policy can be written as a file, and reading this file gives the
// same policy.
// proves: F9
func TestF9_TheBuiltInDefaultAsAFile(t *testing.T) {
	t.Parallel()
	f, err := policyfile.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	want := policy.DefaultSpec()
	want.Hash, want.Source = f.Spec.Hash, f.Spec.Source
	if d := sameSpec(want, f.Spec); d != "" {
		t.Errorf("the file differs from the built-in default (-built-in +file):\n%s", d)
	}
	if policyfile.Presets()[0] != "default" || len(policyfile.Presets()) != 7 {
		t.Errorf("the presets are %v, want 7 with the default first", policyfile.Presets())
	}
}

// The rendered file must not change without notice, because people read it.
// part of: F9
func TestF9_RenderedForPeople(t *testing.T) {
	t.Parallel()
	const golden = "testdata/full.golden"
	f, err := policyfile.ParseOnly("testdata/full.yaml", full(t))
	if err != nil {
		t.Fatal(err)
	}
	got := string(policyfile.Render(&f.Spec))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("wrong rendered file; if people can read the new form, run the test with -update (-want +got):\n%s", d)
	}
}

// The hash of the same contents must never change, because it is stored with each decision.
// part of: F9
func TestF9_TheHashDoesNotChange(t *testing.T) {
	t.Parallel()
	f, err := policyfile.ParseOnly("f", full(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := "038a84b4e1f9bfbe25ee10ed143297b2f2c2661dda8965f714cee45595142887"; f.Spec.Hash != want {
		t.Errorf("testdata/full.yaml has the hash %s, want %s: stored decisions would no longer name their policy", f.Spec.Hash, want)
	}
}
