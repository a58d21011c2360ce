package docs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// policyBlocks returns the YAML examples of policy.md: the policies, and the configurations
// that belong to them.
func policyBlocks(t *testing.T) (policies, configs []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "policy.md"), -1) {
		if strings.HasPrefix(block[1], "# redrive.yaml") {
			configs = append(configs, block[1])
		} else {
			policies = append(policies, block[1])
		}
	}
	if len(policies) < 4 || len(configs) != 3 {
		t.Fatalf("policy.md has %d policies and %d configurations, want at least 4 policies and 3 configurations", len(policies), len(configs))
	}
	return policies, configs
}

// tableRows returns the cells of the table rows in policy.md whose first cell matches a
// pattern.
func tableRows(t *testing.T, first string, cells int) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(read(t, "policy.md")) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00")
		row := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(row) != cells || !regexp.MustCompile(first).MatchString(strings.TrimSpace(row[0])) {
			continue
		}
		for i := range row {
			row[i] = strings.ReplaceAll(strings.TrimSpace(row[i]), "\x00", "|")
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("policy.md has no table whose first column matches %s", first)
	}
	return rows
}

func mustPolicy(t *testing.T, text string) *policyfile.File {
	t.Helper()
	f, err := policyfile.Parse("policy.md", []byte(text))
	if err != nil {
		t.Fatalf("this policy of policy.md is not valid: %v\n%s", err, text)
	}
	return f
}

// proves: F9
func TestF9_ExamplesOfThePolicyPage(t *testing.T) {
	t.Parallel()
	policies, configs := policyBlocks(t)
	schema := policySchema(t)
	for _, text := range policies {
		mustPolicy(t, text)
		var tree any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("this policy of policy.md does not match the JSON schema: %v\n%s", err, text)
		}
	}
	for _, text := range configs {
		if _, err := config.Parse("policy.md", []byte(text), t.TempDir()); err != nil {
			t.Errorf("this configuration of policy.md is not valid: %v\n%s", err, text)
		}
	}
}

func policySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(policyfile.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// part of: F9
func TestF9_TheBuiltInDefaultOfThePage(t *testing.T) {
	t.Parallel()
	policies, _ := policyBlocks(t)
	f := mustPolicy(t, policies[len(policies)-1])
	if d := cmp.Diff(policy.DefaultSpec(), f.Spec, cmpopts.IgnoreFields(policy.Spec{}, "Hash", "Source")); d != "" {
		t.Errorf("the default policy in policy.md differs from the code (-code +policy.md):\n%s", d)
	}
}

// part of: R1
func TestR1_TheWaitsOfThePage(t *testing.T) {
	t.Parallel()
	for _, row := range tableRows(t, "^`\\{.*(waits|first)", 3) {
		b := mustPolicy(t, "default: {backoff: "+strings.Trim(row[0], "`")+"}").Spec.Default.Backoff
		var waits []string
		for n := 1; n <= 5 && (b.Past != backoff.Stop || n <= len(b.Waits)); n++ {
			waits = append(waits, yamlfile.Span(b.Nominal(n)))
		}
		third := "none"
		if len(waits) > 2 {
			low, high := b.Bounds(3)
			third = fmt.Sprintf("%s to %s", yamlfile.Span(low), yamlfile.Span(high))
		}
		if got := strings.Join(waits, ", "); got != row[1] || third != row[2] {
			t.Errorf("formula %s: policy.md says %s | %s, but the code gives %s | %s", row[0], row[1], row[2], got, third)
		}
	}
}

// part of: P1, P2, P3, P4, P5
func TestPolicy_TheFiguresOfThePage(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range tableRows(t, "^`(default|transcribe|render|ocr|watermark|chat|dev)`$", 5) {
		f, err := policyfile.Preset(strings.Trim(row[0], "`"))
		if err != nil {
			t.Fatal(err)
		}
		seen[row[0]] = true
		in := policy.Input{Kind: row[1], How: job.ByError, Class: classify.Classification{Class: failure.Class(row[2]), Rule: "x"}, U: 0.5}
		waits := []string{}
		var d policy.Decision
		for d = f.Policy.Decide(&in); d.Action == policy.Retry && len(waits) < 10; d = f.Policy.Decide(&in) {
			waits = append(waits, yamlfile.Span(d.Nominal))
			in.Memo, in.Attempts = d.Memo, in.Attempts+1
		}
		got := strings.Join(waits, ", ")
		if got == "" {
			got = "none"
		}
		if got != row[3] || string(d.Reason) != row[4] {
			t.Errorf("table row %s of policy.md: the code gives %s | %s", strings.Join(row, " | "), got, d.Reason)
		}
	}
	if len(seen) != len(policyfile.Presets()) {
		t.Errorf("policy.md describes %d presets, want %d", len(seen), len(policyfile.Presets()))
	}
}

// part of: R5
func TestR5_TheConditionsOfThePage(t *testing.T) {
	t.Parallel()
	attrs := regexp.MustCompile("(?s)the attributes `(\\{.*?\\})`").FindStringSubmatch(read(t, "policy.md"))
	if attrs == nil {
		t.Fatal("policy.md has no example of attributes, want one")
	}
	for _, row := range tableRows(t, "^`.*(attrs|kind|owner)", 2) {
		quoted, err := json.Marshal(strings.Trim(row[0], "`"))
		if err != nil {
			t.Fatal(err)
		}
		p := mustPolicy(t, "rules: [{name: r, queue: q, when: "+string(quoted)+"}]").Policy
		a := p.Admit(&policy.RuleInput{Kind: "render", Queue: "default", Owner: "ann", Priority: 2, Attrs: []byte(attrs[1])})
		if got := a != nil && len(a.Rules) == 1; got != (row[1] == "yes") || a != nil && a.Failed != nil {
			t.Errorf("condition %s: the code says that it matches: %v, but policy.md says %s", row[0], got, row[1])
		}
	}
}

// part of: F8
func TestF8_ThePhrasesOfThePage(t *testing.T) {
	t.Parallel()
	rows := tableRows(t, "^`[a-z!(][^`]*[a-z?>]`$", 3)
	checked := 0
	for _, row := range rows {
		if strings.Contains(row[0], "_") || !strings.Contains(row[0], " ") {
			continue
		}
		match := strings.Trim(row[0], "`")
		c, problems := classify.NewClassifier(classify.Rules{NoBuiltin: true, Phrases: []classify.PhraseRule{{Match: match, Class: "Found"}}})
		if len(problems) > 0 {
			t.Errorf("the phrase %s of policy.md is not valid: %v", match, problems)
			continue
		}
		checked++
		for i, want := range []failure.Class{"Found", failure.UnknownError} {
			for text := range strings.SplitSeq(row[i+1], "; ") {
				if got := c.Classify(&failure.Evidence{Message: text}, ""); got.Class != want {
					t.Errorf("phrase %s: the text %q gets the class %s, but policy.md says otherwise", match, text, got.Class)
				}
			}
		}
	}
	if checked < 7 {
		t.Errorf("only %d phrases were checked, want at least 7", checked)
	}
}

// part of: F9
func TestF9_TheMistakesOfThePage(t *testing.T) {
	t.Parallel()
	const bad = `name: bad
default: { max_atempts: 3}
classes:
  RateLimitExceeded: {backoff: {first: 60s, factor: 3, cap:  36h}}
  NetworkTimeuot: {max_retries: 3}
rules:
  - {name: r, when: "count(attrs.tags, true) > 1", queue: q}
`
	_, err := policyfile.Parse("bad.yaml", []byte(bad))
	shown := regexp.MustCompile("(?s)check bad.yaml\n(.*?)\n```").FindStringSubmatch(read(t, "policy.md"))
	if err == nil || shown == nil {
		t.Fatal("the policy without its parent was accepted, or policy.md has no output of `policy check bad.yaml`")
	}
	if d := cmp.Diff(strings.Split(err.Error(), "\n"), strings.Split(shown[1], "\n")); d != "" {
		t.Errorf("the mistakes in policy.md differ from the reported ones (-reported +policy.md):\n%s", d)
	}
}

// The configurations beside the policies of policy.md have the leases and intervals of the systems
// that they describe, and leave the limits of runs to the presets.
//
// part of: P1, P2, P4
func TestPolicy_WhatStandsBesideThePolicy(t *testing.T) {
	t.Parallel()
	_, configs := policyBlocks(t)
	var c []*config.Config
	for _, text := range configs {
		parsed, err := config.Parse("policy.md", []byte(text), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		c = append(c, parsed)
	}
	for i, name := range []string{"transcribe", "render", "watermark"} {
		if k := c[i].Kinds[name]; k.Timeout != 0 || k.MaxCrashes != 0 || c[i].Policy != "preset:"+name {
			t.Errorf("kind %s in policy.md: got %+v and the policy %s, want the limits of its preset", name, k, c[i].Policy)
		}
	}
	if c[1].RescueInterval != 30*time.Second {
		t.Errorf("rescue interval of render in policy.md: got %v, want 30s", c[1].RescueInterval)
	}
	if c[2].Lease != 30*time.Minute {
		t.Errorf("lease of watermark in policy.md: got %v, want 30m", c[2].Lease)
	}
}
