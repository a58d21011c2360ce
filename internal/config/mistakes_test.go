package config_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/testing/mistakes"
	"github.com/redrive/redrive/internal/yamlfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// problemsOf parses text and returns the problems that the parser reports.
func problemsOf(t *testing.T, text string) yamlfile.Problems {
	t.Helper()
	c, err := config.Parse("redrive.yaml", []byte(text), "/srv/app")
	if err != nil && c != nil {
		t.Errorf("got a configuration together with problems, want none")
	}
	return mistakes.Of[config.Problems](t, err)
}

func TestEveryMistakeOfAFileIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load("testdata/mistakes.yaml")
	mistakes.Golden(t, err, "testdata/mistakes.golden", *update)
}

// In these texts, the mark « is at each place where a problem is expected.
func TestMistakesAreReportedWithTheirExactPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		messages   []string // messages holds parts of the expected messages, in the order of the marks.
	}{
		{"as promised", "kinds:\n  a:\n    command: [x]\n    retry:\n        «max_atempts: 3\n",
			[]string{`unknown key "max_atempts", did you mean "max_attempts"?`}},
		{"case and separators", "«Temp-Dir: x\n", []string{`did you mean "temp_dir"?`}},
		{"a former key", "«max_attempts_ceiling: 5\n", []string{`unknown key "max_attempts_ceiling", did you mean "max_attempts"?`}},
		{"swapped letters", "«lesae: 5s\n", []string{`did you mean "lease"?`}},
		{"short words need to be nearer", "kinds: {a: {command: [x], «abc: 1}}", []string{`unknown key "abc"; the keys here are command,`}},
		{"after other characters", "database: 'äöü😀' # ß\nqueues: {default: {rate: «ä, workers: «0}}\n",
			[]string{`found "ä"`, "found 0"}},
		{"after tabs", "log:\t{level:\t«x, format:\t«y}\t# z\nlease:\t\t«1s\t\n", []string{`"x"`, `"y"`, `"1s"`}},
		{"before trailing spaces", "lease: «1s   \n     # c\nlog: «5\t \n", []string{`"1s"`, "found 5"}},
		{"in a CRLF file", "lease: «1s\r\n\r\n# c\r\nlog: {level: «x}\r\n", []string{`"1s"`, `"x"`}},
		{"after a byte order mark", "\ufefflease: «1s\n", []string{`"1s"`}},
		{"after quoted lines", "database: \"a\\\"\\u00e9\\\n  b\"\ntemp_dir: 'it''s\n\n  c'\nlease: «1s\n", []string{`"1s"`}},
		{"after block text", "kinds:\n  a:\n    command:\n    - |\n      x: 1\n\n      \ty\n    - >-\n      z\n    - «[]\n",
			[]string{"command[2] must be text"}},
		{"block text itself", "lease: «|\n  1s\n", []string{`found "1s\n"`}},
		{"a plain text of two lines", "lease: «1s\n  2s\nlog: «7", []string{`found "1s 2s"`, "found 7"}},
		{"a missing value is at its key", "«lease:\nlog:\n  «level:\nkinds: {a: {command: [x], «dir: , env: [A, «~]}}",
			[]string{"lease has no value", "log.level has no value", "dir has no value", "env[1] has no value"}},
		{"a missing item is at its dash", "kinds:\n  a:\n    command:\n    - x\n    «-\n    «-\n",
			[]string{"command[1] has no value", "command[2] has no value"}},
		{"a key twice", "lease: 5s\n«lease: 6s\n«'lease': 7s", []string{"already set on line 1", "already set on line 1"}},
		{"a missing command is at the kind", "kinds:\n  «a: {}\n  b: {command: [x]}\n  «c:\n", []string{"kinds.a has no command", "kinds.c has no command"}},
		{"a missing queue is at the kind", "queues: {mail: {}}\nkinds: {«a: {command: [x]}}",
			[]string{`kinds.a names no queue and the queue "default" is not defined under "queues" (defined: mail); use one of them or define it`}},
		{"an undefined queue", "kinds: {a: {command: [x], queue: «mial}}\nqueues: {mail: {}, default: {}}",
			[]string{`kinds.a.queue "mial" is not defined under "queues" (defined: mail, default), did you mean "mail"?`}},
		{"queues of a wrong type blame no kind", "queues: «[mail]\nkinds: {a: {command: [x], queue: mail}}", []string{"queues must be a mapping"}},
		{"a schema of a text", "kinds: {a: {command: [x], payload: text, schema: «a.json}}",
			[]string{`kinds.a.schema checks JSON, and kinds.a has "payload: text"; remove one of them`}},
		{"retries and attempts at odds", "kinds: {a: {command: [x], retry: {max_attempts: «3, max_retries: 3}}}",
			[]string{"kinds.a.retry.max_attempts is 3, but \"max_retries: 3\" means 4 executions; keep one of the two"}},
		{"waits over the ceiling", "max_attempts: 2\nkinds: {a: {command: [x], retry: {waits: «[1s, 1s]}}}",
			[]string{"kinds.a.retry.waits gives 2 retries, but \"max_attempts: 2\" allows 1"}},
		{"a duration without a unit", "lease: «10\nshutdown_grace: «'0'\n", []string{
			"lease must be a duration from 3s to 1h, found 10 without a unit; write 10s, 10m or 10h",
			`found "0" without a unit`}},
		{"behind an alias once", "queues: {default: {rate: &r «x}, mail: {rate: *r}}\nkinds: {a: &a {command: [x], «tmeout: 1s}, b: *a}",
			[]string{"queues.default.rate", `unknown key "tmeout"`}},
		{"an unknown alias", "lease: «*nope\n", []string{"alias *nope has no anchor &nope above it"}},
		{"an alias in its own anchor", "kinds: {a: &a {command: [«*a]}}", []string{"alias *a has no anchor &a above it"}},
		{"an alias between two anchors of its name", "kinds: {a: {command: [&x y]}, b: {command: &x [«*x]}}", []string{"alias *x has no anchor &x above it"}},
		{"a tag", "lease: «!!str 5s", []string{`tag "!!str" is not used here; remove it`}},
		{"a merge of no mapping", "log: {<<: «5}", []string{"<< must be an alias of a mapping such as *base, found 5"}},
		{"no mapping at all", "«- a\n- b\n", []string{`the file must be a mapping of settings such as "database: jobs.db", found a list`}},
		{"a long text is cut", "«" + strings.Repeat("k", 1000) + ": 1", []string{`"` + strings.Repeat("k", 60) + `…"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, marks := mistakes.Cut(tt.text)
			mistakes.AtMarks(t, problemsOf(t, text), marks, tt.messages)
		})
	}
}
