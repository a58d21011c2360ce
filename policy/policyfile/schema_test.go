package policyfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/policy/preset"
)

// validator returns the published schema, compiled by a general JSON Schema library.
func validator(t *testing.T) *jsonschema.Schema {
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

// valid checks a YAML text with the schema.
func valid(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
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
	return schema.Validate(instance)
}

// part of: F9
func TestF9_SchemaIsValid(t *testing.T) {
	t.Parallel()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(policyfile.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	meta := jsonschema.NewCompiler()
	schema, err := meta.Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
}

// The schema and the reader allow the same keys in each part of a file.
// proves: F9
func TestF9_SchemaAndReaderKnowTheSameKeys(t *testing.T) {
	t.Parallel()
	text := full(t)
	read := map[string][]string{}
	if _, err := policyfile.ParseObserved("full.yaml", text, func(path string, keys []string) {
		read[generic(path)] = slices.Sorted(slices.Values(keys))
	}); err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(policyfile.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	written := map[string][]string{}
	schemaKeys(root, root, "", written)
	if d := cmp.Diff(read, written); d != "" {
		t.Errorf("the reader and the schema allow different keys, want equal keys (-reader +schema):\n%s", d)
	}
}

// generic replaces those parts of a path that users choose, which are names and numbers.
func generic(path string) string {
	parts := strings.Split(path, ".")
	for i := range parts {
		name, _, item := strings.Cut(parts[i], "[")
		parts[i] = name
		if item {
			parts[i] += "[]"
		}
		if i > 0 && slices.Contains([]string{"classes", "kinds", "stages"}, strings.TrimSuffix(parts[i-1], "[]")) {
			parts[i] = "*"
		}
	}
	return tail(strings.Join(parts, "."))
}

// tail shortens a path to its last part, if this part is the same everywhere in a file.
func tail(path string) string {
	for _, part := range []string{"backoff", "backoff.jitter", "hint", "escalate", "codes"} {
		if strings.HasSuffix(path, "."+part) {
			return part
		}
	}
	return path
}

// schemaKeys collects the property names of all objects in a schema, by their paths.
func schemaKeys(root, s map[string]any, path string, into map[string][]string) {
	if ref, ok := s["$ref"].(string); ok {
		defs := root["$defs"].(map[string]any)
		schemaKeys(root, defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), path, into)
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		into[tail(path)] = slices.Sorted(maps.Keys(properties))
		for key, child := range properties {
			schemaKeys(root, child.(map[string]any), strings.TrimPrefix(path+"."+key, "."), into)
		}
	}
	if child, ok := s["additionalProperties"].(map[string]any); ok {
		schemaKeys(root, child, path+".*", into)
	}
	if child, ok := s["items"].(map[string]any); ok {
		schemaKeys(root, child, path+"[]", into)
	}
	for _, list := range []string{"anyOf", "oneOf"} {
		children, _ := s[list].([]any)
		for _, child := range children {
			schemaKeys(root, child.(map[string]any), path, into)
		}
	}
}

func full(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// proves: F9
func TestF9_TheFullFileIsValid(t *testing.T) {
	t.Parallel()
	if err := valid(t, validator(t), full(t)); err != nil {
		t.Error(err)
	}
}

// proves: F9
func TestF9_PresetsAreValid(t *testing.T) {
	t.Parallel()
	schema := validator(t)
	for _, name := range preset.Names() {
		text, _ := preset.Text(name)
		if err := valid(t, schema, text); err != nil {
			t.Errorf("the schema refuses the preset %s, want it accepted: %v", name, err)
		}
	}
	// The schema also contains the names of the presets.
	var root struct {
		Properties struct{ Extends struct{ Enum []string } }
	}
	if err := json.Unmarshal(policyfile.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(slices.Sorted(slices.Values(policyfile.Presets())), slices.Sorted(slices.Values(root.Properties.Extends.Enum))); d != "" {
		t.Errorf("the schema has wrong names of presets (-want +got):\n%s", d)
	}
}

// The schema and the reader accept and refuse the same texts, so editors and the command
// agree.
// proves: F9
func TestF9_SchemaAndReaderAgree(t *testing.T) {
	t.Parallel()
	schema := validator(t)
	const class = "classes: {NetworkTimeout: {%s}}"
	const wait = "default: {backoff: {%s}}"
	const rule = "rules: [{name: r, when: 'true', queue: q, %s}]"
	for format, texts := range map[string]map[string]bool{
		"%s": {
			"version: 1": true, "version: 2": false, "version: '1'": false, "name: a.b-c_9": true, "name: A": false, "name: ''": false,
			"nane: x": false, "limits: {max_attempts: 1}": true, "limits: {max_attempts: 0}": false, "limits: {max_attempts: 1000000}": true,
			"limits: {max_attempts: 1000001}": false, "limits: {max_attempts: 1.5}": false, "limits: {max_age: 7d}": true, "limits: {max_wait: 7}": false,
			"limits: {max_age: 0s}": false, "limits: {max_wait: 0s}": false,
			"rules: {}": false, "classes: []": false, "kinds: {A: {}}": false, "kinds: {a: {}}": true, "classes: {'': {verdict: retry}}": false,
			"classes: {'1a': {verdict: retry}}": false, "classes: {" + strings.Repeat("A", 64) + ": {}}": true, "classes: {" + strings.Repeat("A", 65) + ": {}}": false, "extends: default": true, "extends: nope": false,
			"rollout: {mode: observe}": true, "rollout: {mode: obey}": false, "rollout: {enforce: [Crash]}": true, "rollout: {enforce: Crash}": false,
			"rollout: {enforce: [Crash, Crash]}": false, "words: {states: {dead: FAILED}}": true, "words: {states: {dead: ''}}": false,
			"words: {states: {dead: 1}}": false, "words: {error: [class]}": false,
		},
		class: {
			"max_retries: 0": true, "max_retries: -1": false, "max_retries: 999999": true, "max_retries: 1000000": false, "max_retries: '3'": false,
			"max_attempts: 1": true, "max_attempts: 0": false, "max_attempts: 1000000": true, "max_attempts: 1000001": false,
			"retry: false": true, "retry: no": false, "retry: 'true'": false, "retry: 0": false, "count: total": true, "count: all": false,
			"verdict: permanent": true, "verdict: crash": false, "max_cost: 0.25": true, "max_cost: -1": false, "max_cost: free": false,
			"max_cost: 1000001": false, "messages: {retrying: a, dead: b}": true, "messages: {alive: b}": false, "messages: {dead: ''}": false,
			"is: Crash": true, "is: [Crash]": false,
			"escalate: {queue: q}": true, "escalate: {priority: 1, after: 2}": true, "escalate: {priority: 5}": false,
			"escalate: {priority: 1, after: 0}": false,
			"hint: {mode: cap}":                 true, "hint: {mode: ceiling}": false, "hint: {jitter: 10%, jitter_min: 1s, max: 24h, beyond: wait}": true,
			"hint: {jitter: 10}": false, "hint: {jitter: ten%}": false, "hint: {beyond: never}": false,
			"hint: {max: 0s}": false, "hint: {max: 0h0m}": false, "hint: {max: 1h0m}": true, "hint: {jitter_min: 0s}": false, "hint: {jitter_min: .5s}": true,
		},
		wait: {
			"waits: [1s, 2m]": true, "waits: []": false, "waits: 1s": false, "waits: [1]": false, "waits: [1s], past: stop": true,
			"waits: [1s], past: end": false, "waits: [1s], first: 1s": false, "cap: 1h": false, "first: 30s": true,
			"first: 30s, factor: 1.5": true, "first: 30s, factor: 0.5": false, "first: 30s, factor: 1001": false, "first: 30s, factor: '2'": false,
			"first: 1d12h, cap: 7d, floor: 1s": true, "first: 1w": true, "first: 1y": false, "first: 1 s": false, "first: 10": false, "first: 1h30m5s10ms": true,
			"first: 1s, jitter: 20%": true, "first: 1s, jitter: 2.5%": true, "first: 1s, jitter: 0.2": false, "first: 1s, jitter: 20 %": false,
			"first: 1s, jitter: 100%": true, "first: 1s, jitter: some": false, "first: 1s, jitter: full": true, "first: 1s, jitter: none": true, "first: 1s, jitter: {add: 1s}": true,
			"first: 1s, jitter: {plus: 1s}": false, "first: 1s, jitter: [full]": false,
		},
		rule: {
			"kinds: render": true, "kinds: [a, b]": true, "kinds: []": false, "kinds: [A]": false, "priority: 1": true, "priority: 0": false,
			"overrides: {a: b}": true, "overrides: {a: 1}": false, "hold: {message: m, notify: n}": true, "hold: true": false,
		},
		"default: {%s}": {
			"timeout: 5m": true, "timeout: 5": false, "max_crashes: 5": true, "max_crashes: 6": false, "max_crashes: 0": false,
			"codes: {time_limit: A}": true, "codes: {command: a b}": false, "codes: {missing: A}": false, "codes: A": false,
		},
		"classify: {%s}": {
			"builtin: false, codes: [{code: A, class: Crash}]": true, "builtin: off": false, "codes: [{code: A, class: Crash}]": true, "codes: [{code: [A, B], class: Crash}]": true,
			"codes: [{code: [], class: Crash}]": false, "codes: [{code: A}]": false, "codes: [{class: Crash}]": false, "codes: {A: Crash}": false,
			"codes: [{code: 5, class: Crash}]": false, "codes: [{code: A, klass: Crash}]": false, "types: [{type: T, class: Crash, kinds: k}]": true,
			"statuses: [{status: 404, class: NotFound}]": true, "statuses: [{status: 99, class: NotFound}]": false,
			"statuses: [{status: 600, class: NotFound}]": false, "statuses: [{status: '404', class: NotFound}]": false,
			"statuses: [{status: [4xx, 500-504, 429], class: NotFound}]": true, "statuses: [{status: 6xx, class: NotFound}]": false,
			"statuses: [{status: 50-504, class: NotFound}]": false, "exit_codes: [{exit: 0, class: Crash}]": true,
			"exit_codes: [{exit: 256, class: Crash}]": false, "exit_codes: [{exit: SIGKILL, class: Crash}]": true,
			"exit_codes: [{exit: KILL, class: Crash}]": false, "phrases: [{match: [a b, c], class: Crash, kinds: [k]}]": true,
			"phrases: [{match: a, class: Crash, kinds: []}]": false, "patterns: [{match: a+, class: '9'}]": false,
		},
		"rules: [{%s, queue: q}]": {"name: r, when: 'true'": true, "name: r, kinds: a": true, "name: r, when: true": true, "name: r, when: 1": false},
	} {
		for text, good := range texts {
			text = fmt.Sprintf(format, text)
			_, err := policyfile.ParseOnly("f", []byte(text))
			if (err == nil) != good {
				t.Errorf("%s: the reader returned the error %v, want the text accepted: %v", text, err, good)
			}
			if err := valid(t, schema, []byte(text)); (err == nil) != good {
				t.Errorf("%s: the schema check returned the error %v, want the text accepted: %v", text, err, good)
			}
		}
	}
}
