package docs_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/policy/policyfile"
)

// settingKeys are the keys of settings. policy.md describes them once, for all sections
// that can have them.
var settingKeys = []string{
	"retry", "max_retries", "max_attempts", "max_total_retries", "handovers", "backoff", "count", "hint", "max_cost", "verdict", "escalate",
}

// matcherKeys are the keys of matchers. policy.md describes them once, for all lists of
// matchers.
var matcherKeys = []string{"code", "type", "status", "exit", "match", "class", "kinds"}

// runKeys matches the keys for runs, which can be under the default and under each kind.
var runKeys = regexp.MustCompile(`^(?:default|kinds\.NAME)\.((?:timeout|max_crashes|codes)(?:\.[a-z_]+)?)$`)

// proves: F9
func TestF9_EveryKeyIsOnThePage(t *testing.T) {
	t.Parallel()
	var root map[string]any
	if err := json.Unmarshal(policyfile.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	schemaPaths(root, root, "", func(path string) {
		parts := strings.Split(path, ".")
		name := parts[len(parts)-1]
		switch {
		case regexp.MustCompile(`^classify\.[a-z_]+\.`).MatchString(path) && slices.Contains(matcherKeys, name):
		case slices.Contains(settingKeys, name) && path != "limits.max_attempts":
			known[name] = true
		case runKeys.MatchString(path):
			known[runKeys.FindStringSubmatch(path)[1]] = true
		case regexp.MustCompile(`(^|\.)(backoff|hint|escalate)\.`).MatchString(path):
			known[path[regexp.MustCompile(`(backoff|hint|escalate)\.`).FindStringIndex(path)[0]:]] = true
		case strings.HasPrefix(path, "kinds.NAME.classes"): // this key is described in the section about kinds
		default:
			known[path] = true
		}
	})
	documented := map[string]bool{}
	for _, cells := range []int{3, 4} {
		for _, row := range tableRows(t, "^`[a-z_]+(\\.[a-zA-Z_]+)*`$", cells) {
			documented[strings.Trim(row[0], "`")] = true
		}
	}
	// These words are in the first column of other tables, which look like tables of keys.
	for _, word := range []string{"default", "transcribe", "render", "ocr", "watermark", "chat", "class", "kinds", "none", "full", "equal", "decorrelated"} {
		if !known[word] {
			delete(documented, word)
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(documented))); d != "" {
		t.Errorf("the keys in policy.md differ from the JSON schema (-schema +policy.md):\n%s", d)
	}
	complete, _ := policyBlocks(t)
	for key := range known {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if key != "extends" && !regexp.MustCompile(`\b`+name+`:`).MatchString(complete[0]) &&
			!slices.Contains([]string{"rollout.mode", "rollout.enforce", "rollout.kinds"}, key) {
			t.Errorf("the complete example of policy.md does not use the key %s", key)
		}
	}
}

// schemaPaths calls the given function with the path of each key in a JSON schema.
func schemaPaths(root, s map[string]any, path string, tell func(string)) {
	if ref, ok := s["$ref"].(string); ok {
		s = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	properties, _ := s["properties"].(map[string]any)
	for key, child := range properties {
		at := strings.TrimPrefix(path+"."+key, ".")
		tell(at)
		schemaPaths(root, child.(map[string]any), at, tell)
	}
	if child, ok := s["additionalProperties"].(map[string]any); ok {
		name := "NAME"
		if strings.HasSuffix(path, "classes") {
			name = "CLASS"
		}
		schemaPaths(root, child, path+"."+name, tell)
	}
	if child, ok := s["items"].(map[string]any); ok {
		schemaPaths(root, child, path, tell)
	}
	children, _ := s["anyOf"].([]any)
	for _, child := range children {
		schemaPaths(root, child.(map[string]any), path, tell)
	}
}

// The value column of each key in policy.md has the same text as the error message for a
// wrong value.
//
// proves: F9
func TestF9_ThePageNamesEveryBound(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, cells := range []int{3, 4} {
		for _, row := range tableRows(t, "^`[a-z_]+(\\.[a-zA-Z_]+)*`$", cells) {
			path, value := strings.Trim(row[0], "`"), row[1]
			if slices.Contains([]string{"class", "kinds", "code"}, path) && cells == 3 || slices.Contains(policyfile.Presets(), path) && path != "default" ||
				slices.Contains([]string{"none", "full", "equal", "decorrelated"}, path) || strings.HasPrefix(value, "`") {
				continue
			}
			probe := "[[]]"
			if strings.HasPrefix(value, "a list") {
				probe = "{}"
			}
			_, err := policyfile.Parse("f", []byte(probed(path, probe)))
			if err == nil {
				t.Errorf("key %s: the value %s was accepted, want an error", path, probe)
				continue
			}
			wanted := regexp.MustCompile(`(?m): \S*\b` + regexp.QuoteMeta(path[strings.LastIndexByte(path, '.')+1:]) + `(?:\[0\])* must be (.*?), found`).FindStringSubmatch(err.Error())
			if wanted == nil || !strings.HasPrefix(wanted[1], value) {
				t.Errorf("key %s: policy.md says %q, but the error message is: %v", path, value, err)
			}
			checked++
		}
	}
	if checked < 55 {
		t.Errorf("only %d keys were checked, want at least 55", checked)
	}
}

// probed returns a policy file that sets the value at the path of a key.
func probed(path, value string) string {
	path = strings.ReplaceAll(strings.ReplaceAll(path, "NAME", "x"), "CLASS", "Crash")
	root, _, _ := strings.Cut(path, ".")
	if slices.Contains(settingKeys, root) || slices.Contains([]string{"timeout", "max_crashes", "codes"}, root) {
		path = "default." + path
	}
	if rest, ok := strings.CutPrefix(path, "rules."); ok {
		return "rules: [{" + nested(rest, value) + "}]"
	}
	return nested(path, value)
}
