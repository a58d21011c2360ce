package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

// New reports all mistakes of a policy at once. Each problem names the setting, its value,
// what is allowed and how to correct it.
func TestNew_ReportsAllMistakes(t *testing.T) {
	t.Parallel()
	type class = policy.ClassSpec
	tests := map[string]struct {
		s    policy.Spec
		want []string
	}{
		"limits": {policy.Spec{Hash: strings.Repeat("x", 65), Limits: policy.Limits{MaxAttempts: -1, MaxAge: 11 * 365 * 24 * time.Hour, MaxWait: -time.Second}}, []string{
			"hash: 65 bytes: must be at most 64",
			"limits.max_attempts: -1: must be 1 to 1000000",
			"limits.max_age: 4015d: must be at most 3650d, not negative, and whole microseconds",
			"limits.max_wait: -1s: must be at most 365d, not negative, and whole microseconds",
		}},
		"limits that contradict each other": {policy.Spec{Limits: policy.Limits{MaxAge: time.Hour, MaxWait: 2 * time.Hour}}, []string{
			"limits.max_wait: 2h is above limits.max_age 1h, at which the job ends: lower it, or raise limits.max_age",
		}},
		"settings": {policy.Spec{Limits: policy.Limits{MaxAttempts: 10, MaxWait: time.Minute, MaxAge: time.Hour}, Default: policy.Settings{
			MaxRetries: new(10), MaxTotalRetries: new(-1), MaxCost: new(int64(-1)), Count: new(policy.Count(7)), Verdict: "maybe",
			Backoff:  &backoff.Backoff{Waits: seconds(1, 120), Jitter: backoff.Percent, Floor: 90 * time.Second},
			Hint:     &policy.Hint{Mode: 7, OverMax: 7, Jitter: 2, JitterMin: -1, Max: 2 * time.Hour},
			Escalate: &policy.Escalation{After: 10},
		}}, []string{
			"default.max_retries: 10 retries make 11 attempts, limits.max_attempts allows 10: lower it, or raise the limit",
			"default.max_total_retries: -1: must be 0 or more",
			"default.backoff.percent: 0: must be above 0 and at most 1; 0.2 is ±20 %",
			"default.backoff.floor: 1m30s is above limits.max_wait 1m: shorten it, or raise the limit",
			"default.backoff.waits[1]: 2m is above limits.max_wait 1m: shorten it, or raise the limit",
			"default.count: 7: must be class or total",
			"default.hint.mode: 7: must be floor, cap or off",
			"default.hint.beyond: 7: must be dead or wait",
			"default.hint.jitter: 2: must be 0 to 1; 0.1 adds up to 10 %",
			"default.hint.jitter_min: -1ns: must be at most 365d, not negative, and whole microseconds",
			"default.hint.max: 2h is above limits.max_age 1h, at which the job ends: lower it, or raise limits.max_age",
			"default.max_cost: -1: must not be negative",
			`default.verdict: "maybe": must be one of retry, throttle, quota, dependency_down, permanent or unknown`,
			"default.escalate: has no effect: set a queue or a priority",
			"default.escalate.after: 10 failures: must be 1 to 9, below limits.max_attempts",
		}},
		"settings of every place": {policy.Spec{
			Classes: map[failure.Class]class{"Own": {Settings: policy.Settings{MaxRetries: new(-1)}}},
			Kinds: map[string]policy.KindSpec{"render": {Settings: policy.Settings{MaxRetries: new(-2)},
				Classes: map[failure.Class]policy.Settings{"Own": {Backoff: &backoff.Backoff{Waits: seconds(1, 2, -3)}}, "Onw": {}}}},
			Rules:   []policy.RuleSpec{{Name: "r", When: always{}, Settings: policy.Settings{MaxRetries: new(-4)}}},
			Rollout: policy.Rollout{Baseline: policy.Settings{MaxRetries: new(-5), Escalate: &policy.Escalation{Queue: "x"}}},
		}, []string{
			"classes.Own.max_retries: -1: must be 0 or more",
			"kinds.render.max_retries: -2: must be 0 or more",
			`kinds.render.classes.Onw: unknown class "Onw": correct the name, or declare the class under "classes"`,
			"kinds.render.classes.Own.backoff.waits[2]: -3s: must not be negative",
			"rules[0].max_retries: -4: must be 0 or more",
			"rollout.baseline.max_retries: -5: must be 0 or more",
			"rollout.baseline.escalate: the baseline cannot move jobs: remove \"escalate\"",
		}},
		"retry: false beside retries": {policy.Spec{Kinds: map[string]policy.KindSpec{"k": {Settings: policy.Settings{Retry: new(false), MaxRetries: new(3)}}}}, []string{
			"kinds.k.max_retries: 3 contradicts \"retry: false\" in the same place: remove one of the two",
		}},
		"classes": {policy.Spec{Classes: map[failure.Class]class{
			"": {}, failure.Class(strings.Repeat("x", 65)): {}, "A": {Is: "B"}, "B": {Is: "C"}, "C": {Is: "A"}, "D": {Is: "A"}, "E": {Is: "E"},
			"F": {Is: "Nothing"}, failure.NotFound: {Is: "B"}, "G": {Dead: strings.Repeat("x", 2049)},
		}}, []string{
			"classes.: a class needs a name",
			"classes.A.is: is a circular reference: A → B → C → A",
			"classes.B.is: is a circular reference: B → C → A → B",
			"classes.C.is: is a circular reference: C → A → B → C",
			"classes.E.is: is a circular reference: E → E",
			`classes.F.is: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			"classes.G.messages.dead: a text of 2049 bytes: must be at most 2048, in UTF-8",
			"classes.NotFound.is: NotFound is built in and cannot be another name of B",
			"classes." + strings.Repeat("x", 65) + ": a name of 65 bytes: must be at most 64, in UTF-8",
		}},
		"matchers": {policy.Spec{Classify: classify.Rules{
			Codes: []classify.CodeRule{{Class: failure.NotFound}, {Code: "A", Class: "Nothing"}}, Types: []classify.TypeRule{{Type: "T", Class: "Nothing"}},
			Statuses: []classify.StatusRule{{From: 99, Class: "Nothing"}}, Exits: []classify.ExitRule{{Code: 3, Class: "Nothing"}},
			Phrases: []classify.PhraseRule{{Match: "a b", Class: "Nothing"}}, Patterns: []classify.PatternRule{{Match: "a)", Class: "Nothing"}},
			Matchers: []classify.Matcher{{Name: "go"}}, Text: "# rules\nshop.stock StokMissing strong\n\tno stock left\n",
		}}, []string{
			"classify.codes[0].code: is empty: say what to look for",
			"classify.statuses[0].from: 99 to 99 is not a range of HTTP statuses (100 to 599)",
			"classify.matchers[0]: a matcher needs a name and a function",
			"classify.patterns[0].match: error parsing regexp: unexpected ): `a)`",
			`classify.codes[1].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.types[0].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.statuses[0].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.exits[0].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.phrases[0].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.patterns[0].class: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			`classify.rules: line 2: unknown class "StokMissing": correct the name, or declare the class under "classes"`,
		}},
		"no matchers at all": {policy.Spec{Classify: classify.Rules{NoBuiltin: true}}, []string{
			"classify.builtin: the built-in rules are switched off, and there are no matchers in their place; add some, or leave them on",
		}},
		"rules": {policy.Spec{Kinds: map[string]policy.KindSpec{"": {}}, Rules: []policy.RuleSpec{
			{}, {Name: "a", When: always{}, Priority: 5, Hold: &policy.Hold{}}, {Name: "a", Kinds: []string{"\xff"}, Queue: strings.Repeat("q", 65)},
			{Name: "b", When: always{}, Overrides: map[string]string{"k": strings.Repeat("x", 2048)}},
		}}, []string{
			"kinds.: a kind needs a name; settings for all kinds belong under \"default\"",
			"rules[0].name: a rule needs a name; decisions show this name",
			"rules[0].when: a rule needs a condition or kinds; settings for all jobs belong under \"default\"",
			"rules[0]: has no effect: give it settings, a queue, a priority, \"overrides\" or \"hold\"",
			"rules[1].priority: 5: must be 1 (runs first) to 4",
			"rules[1].hold.message: say what the user sees while the job is held",
			`rules[2].name: "a" is the name of rules[1]: rename one of them`,
			"rules[2].kinds[0]: a name of 1 bytes: must be at most 64, in UTF-8",
			"rules[2].queue: a name of 65 bytes: must be at most 64, in UTF-8",
			"rules[3].overrides: 2049 bytes: must be at most 2048",
		}},
		"roll-out": {policy.Spec{Rollout: policy.Rollout{Stage: "gama", Mode: policy.Observe,
			Stages: map[string]policy.Stage{"alpha": {Enforce: []failure.Class{"NetworkTimeot"}}, "beta": {Mode: 7}}}}, []string{
			`rollout.stage: unknown stage "gama": there are alpha, beta`,
			`rollout.mode: has no effect beside stage "gama": move it into a stage, or remove the stage`,
			"rollout.stages.alpha.enforce: has no effect: without \"mode: observe\" every class is enforced",
			`rollout.stages.alpha.enforce[0]: unknown class "NetworkTimeot": correct the name, or declare the class under "classes"`,
			"rollout.stages.beta.mode: 7: must be enforce or observe",
		}},
		"no stages": {policy.Spec{Rollout: policy.Rollout{Stage: "x"}}, []string{
			`rollout.stage: unknown stage "x": the policy has no stages`,
		}},
		"words": {policy.Spec{Words: policy.Words{
			States:  map[string]string{"dead": "FAILED", "dead:stalled": "STALLED", "dead:": "x", "gone": ""},
			Classes: map[failure.Class]string{"Nothing": "x"}, Error: map[string]string{"class": "type", "kind": "x"},
		}}, []string{
			"words.states.dead:: unknown state: must be one of waiting, retrying, running, completed, dead or cancelled, or dead:<reason>",
			"words.states.gone: unknown state: must be one of waiting, retrying, running, completed, dead or cancelled, or dead:<reason>",
			"words.states.gone: the external name is empty",
			`words.classes.Nothing: unknown class "Nothing": correct the name, or declare the class under "classes"`,
			"words.error.kind: unknown field: must be one of class, code, message, user_message, permanent, at, details, stack, attempt, retries, max_retries, next_retry_at or context",
		}},
		"a growing wait above the limit": {policy.Spec{Limits: policy.Limits{MaxWait: time.Hour},
			Classes: map[failure.Class]class{"Own": {Settings: policy.Settings{MaxRetries: new(12), Backoff: &backoff.Backoff{Formula: backoff.Exponential, First: 30 * time.Second}}}}}, []string{
			"classes.Own.backoff: retry 12 would wait 17h4m, above limits.max_wait 1h: name a cap, lower max_retries or the factor, or raise the limit",
		}},
		"retries of one level with waits of another": {policy.Spec{Limits: policy.Limits{MaxAge: time.Hour, MaxWait: time.Hour},
			Default: policy.Settings{Backoff: fixed(60, 300, 900)}, Kinds: map[string]policy.KindSpec{
				"a": {Settings: policy.Settings{MaxRetries: new(6)}}, "b": {Settings: policy.Settings{MaxRetries: new(7)}}}}, []string{
			"default.backoff: 6 retries wait 1h6m together, above limits.max_age 1h: lower max_retries or the waits, or raise the limit",
		}},
		"a rule": {policy.Spec{Limits: policy.Limits{MaxAge: time.Hour, MaxWait: time.Hour},
			Rules: []policy.RuleSpec{{Name: "slow", When: always{}, Settings: policy.Settings{MaxRetries: new(9), Backoff: fixed(1800)}}}}, []string{
			"rules[0].backoff: 9 retries wait 4h30m together, above limits.max_age 1h: lower max_retries or the waits, or raise the limit",
		}},
	}
	for name, tt := range tests {
		p, problems := policy.New(tt.s)
		var got []string
		for _, problem := range problems {
			got = append(got, problem.String())
		}
		if p != nil {
			t.Errorf("%s: New returned a policy, want nil because of the mistakes", name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: wrong mistakes of New (-want +got):\n%s", name, diff)
		}
	}
}

func TestNew_TooMuch(t *testing.T) {
	t.Parallel()
	s := policy.Spec{Classes: map[failure.Class]policy.ClassSpec{}, Kinds: map[string]policy.KindSpec{}, Rules: make([]policy.RuleSpec, policy.RulesMax+1)}
	for i := range 1001 {
		name := "x" + strings.Repeat("y", i%60) + string(rune('a'+i/60))
		s.Classes[failure.Class(name)], s.Kinds[name] = policy.ClassSpec{}, policy.KindSpec{}
	}
	_, problems := policy.New(s)
	found := map[string]string{}
	for _, p := range problems {
		found[p.Path] = p.Message
	}
	for path, want := range map[string]string{
		"classes": "1001 entries: must be at most 256", "kinds": "1001 entries: must be at most 1000", "rules": "101 entries: must be at most 100",
	} {
		if found[path] != want {
			t.Errorf("the mistake at %s is %q, want %q", path, found[path], want)
		}
	}
}

// These policies look contradictory, but they have sensible uses, so New accepts them.
func TestNew_SeemingContradictionsAreAccepted(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]policy.Spec{
		"a total limit below that of a class": {Default: policy.Settings{MaxRetries: new(5), MaxTotalRetries: new(2)}},
		"limits below the built-in default":   {Name: "x", Limits: policy.Limits{MaxAttempts: 2, MaxAge: time.Minute, MaxWait: time.Minute}},
		"retry: false with no retries":        {Default: policy.Settings{Retry: new(false), MaxRetries: new(0)}},
		"hints longer than waits":             {Limits: policy.Limits{MaxWait: time.Hour}, Default: policy.Settings{Hint: &policy.Hint{Max: 24 * time.Hour}}},
		"an explicit wait of zero":            {Default: policy.Settings{MaxRetries: new(3), Backoff: fixed(0)}},
		"a growing wait under a cap": {Limits: policy.Limits{MaxWait: time.Hour}, Default: policy.Settings{MaxRetries: new(12),
			Backoff: &backoff.Backoff{Formula: backoff.Exponential, First: 30 * time.Second, Cap: time.Hour}}},
	} {
		if _, problems := policy.New(s); problems != nil {
			t.Errorf("%s: New returned the mistakes %v, want none", name, problems)
		}
	}
}

// Policies with the same contents have the same hash, and a policy with changed contents
// has another hash.
func TestNew_TheSameContentsHaveTheSameHash(t *testing.T) {
	t.Parallel()
	one, two := videos(), videos()
	if compile(t, one).Hash() != compile(t, two).Hash() {
		t.Error("two policies with the same contents have different hashes, want equal hashes")
	}
	two.Rules[0].When = always{}
	if compile(t, one).Hash() == compile(t, two).Hash() {
		t.Error("a policy with a changed condition has the same hash, want another hash")
	}
	two = videos()
	two.Rules[1].Hold.Message += "."
	if compile(t, one).Hash() == compile(t, two).Hash() {
		t.Error("a policy with a changed message has the same hash, want another hash")
	}
}

func TestOverride_IsReadAndWritten(t *testing.T) {
	t.Parallel()
	o := &policy.Override{Retry: new(true), MaxRetries: new(0), MaxTotalRetries: new(3), MaxCost: new(int64(5)), Waits: seconds(90, 0.5)}
	const want = `{"retry":true,"max_retries":0,"max_total_retries":3,"max_cost":5,"waits":["1m30s","500ms"]}`
	if got := string(o.Encode()); got != want {
		t.Errorf("Encode returned %s, want %s", got, want)
	}
	back, err := policy.ParseOverride([]byte(want))
	if diff := cmp.Diff(o, back); diff != "" || err != nil {
		t.Errorf("ParseOverride returned the error %v and a wrong override (-want +got):\n%s", err, diff)
	}
	for _, nothing := range []*policy.Override{nil, {}} {
		if b := nothing.Encode(); b != nil {
			t.Errorf("Encode of an empty override returned %s, want nil", b)
		}
	}
	if o, err := policy.ParseOverride(nil); o != nil || err != nil {
		t.Errorf("ParseOverride of empty input returned %v and the error %v, want nil and no error", o, err)
	}
	for text, want := range map[string]string{
		`{"max_retry":1}`:         "settings of the job: json: unknown field \"max_retry\"",
		`{"max_retries":-1}`:      "settings of the job: max_retries must not be negative",
		`{"max_cost":-1}`:         "settings of the job: max_cost must not be negative",
		`{"waits":["x"]}`:         "settings of the job: waits[0] \"x\": must be a duration such as 90s, 1h30m or 2d",
		`{"waits":[1]}`:           "settings of the job: waits must be a list of durations such as [\"1m\", \"5m\"]",
		`{"waits":["1s","-1s"]}`:  "settings of the job: waits[1]: \"-1s\" must not be negative",
		`{} {}`:                   "settings of the job: there is more text after the JSON object",
		strings.Repeat(" ", 1025): "settings of the job: they have 1025 bytes, at most 1024 are allowed",
		`{"max_total_retries":-1,"max_retries":-2}`: "settings of the job: max_retries must not be negative\nsettings of the job: max_total_retries must not be negative",
	} {
		if _, err := policy.ParseOverride([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("ParseOverride(%.40s)\ngot the error  %v\nwant the error %s", text, err, want)
		}
	}
}

func FuzzParseOverride(f *testing.F) {
	f.Add([]byte(`{"retry":true,"max_retries":0,"waits":["1m30s"]}`), 3)
	p := policy.Default()
	f.Fuzz(func(t *testing.T, b []byte, attempts int) {
		o, err := policy.ParseOverride(b)
		if err != nil || o == nil {
			return
		}
		again, err := policy.ParseOverride(o.Encode())
		if err != nil && len(o.Encode()) <= policy.OverrideMax {
			t.Fatalf("the override %s is encoded as %s; reading this gave the error %v, want none", b, o.Encode(), err)
		}
		if again != nil && string(again.Encode()) != string(o.Encode()) {
			t.Fatalf("the override %s is encoded as %s; reading and encoding this again gave %s, want no change", b, o.Encode(), again.Encode())
		}
		in := failed(failure.NetworkTimeout)
		in.Message, in.Attempts = o, attempts
		if d := p.Decide(in); d.Wait < 0 || d.Wait > policy.MaxWaitDefault || d.Of >= policy.MaxAttemptsDefault {
			t.Fatalf("the override %s led to the decision %s, want a decision within the limits", b, d.Record())
		}
	})
}

// Several workers use a policy at the same time, and WithSchedule makes new policies from
// it meanwhile.
func TestPolicy_IsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	p := compile(t, videos())
	done := make(chan []byte)
	for range 8 {
		go func() {
			var last []byte
			for i := range 200 {
				in := failed(failure.RateLimitExceeded)
				in.Admission = p.Admit(&policy.RuleInput{Kind: "transcribe", Attrs: []byte(`{"duration_seconds": 22000}`)})
				in.Job = &policy.Override{Waits: seconds(float64(i))}
				if _, err := p.WithSchedule("render", &policy.Schedule{Waits: seconds(1)}); err != nil {
					t.Error(err)
				}
				d := p.Decide(in)
				last = d.Record()
			}
			done <- last
		}()
	}
	first := <-done
	for range 7 {
		if other := <-done; string(other) != string(first) {
			t.Errorf("two decisions on the same input differ: %s and %s, want equal decisions", first, other)
		}
	}
	if !json.Valid(first) {
		t.Errorf("the decision %s is not valid JSON", first)
	}
}

// The hash of a policy depends on the names and versions of its matchers that are written
// in Go.
func TestNew_MatchersInGoArePartOfTheHash(t *testing.T) {
	t.Parallel()
	spec := func(version string) policy.Spec {
		return policy.Spec{Name: "test", Classify: classify.Rules{Matchers: []classify.Matcher{{
			Name: "ours", Version: version, Match: func(e *failure.Evidence) (failure.Class, bool) { return failure.NotFound, e.Message == "ours" },
		}}}}
	}
	one := compile(t, spec("1"))
	if one.Hash() != compile(t, spec("1")).Hash() || one.Hash() == compile(t, spec("2")).Hash() {
		t.Error("got wrong hashes for matchers written in Go, want equal hashes for one version and different hashes for two versions")
	}
	if c := one.Classify(&failure.Evidence{Message: "ours"}, "render"); c.Class != failure.NotFound || !strings.Contains(string(one.Source()), "ours@1") {
		t.Errorf("got the classification %+v and the policy source %s, want the class NotFound and the matcher ours@1", c, one.Source())
	}
}
