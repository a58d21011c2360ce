package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// proves: X3
func TestX3_EveryBoundHolds(t *testing.T) {
	t.Parallel()
	const kind = "kinds: {a: {command: [x], %s: %s}}"
	const queue = "queues: {default: {%s: %s}}"
	const retry = "kinds: {a: {command: [x], retry: {%s: %s}}}"
	waits := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1s, ", n), ", ") + "]" }
	for _, tt := range []struct {
		in, key string
		bad     []string // values just below the lowest and just above the highest allowed value
		good    []string // values at both limits and close to them
		bound   string   // the part of the message that names the limits
	}{
		{"%s: %s", "lease", []string{"2.999s", "1h1ms", "-1s"}, []string{"3s", "3.001s", "59m59s", "1h"}, "from 3s to 1h"},
		{"%s: %s", "rescue_interval", []string{"999ms", "10m1ms"}, []string{"1s", "1.001s", "9m59s", "10m"}, "from 1s to 10m"},
		{"%s: %s", "shutdown_grace", []string{"-1ns", "1h1ns"}, []string{"0s", "1ns", "59m59s", "1h"}, "from 0s to 1h"},
		{"%s: %s", "max_attempts", []string{"0", "1001", "-1"}, []string{"1", "2", "999", "1000"}, "from 1 to 1000"},
		{"limits: {%s: %s}", "payload", []string{"0B", "17MiB", "16385KiB", "16777217B", "99999999999999999999B"},
			[]string{"1B", "2B", "16383KiB", "16777216B", "16MiB"}, "from 1B to 16MiB"},
		{"postgres: {%s: %s}", "max_conns", []string{"4", "1001"}, []string{"5", "6", "999", "1000"}, "from 5 to 1000"},
		{"postgres: {%s: %s}", "statement_timeout", []string{"99ms", "1h1ms"}, []string{"100ms", "101ms", "59m59s", "1h"}, "from 100ms to 1h"},
		{"postgres: {%s: %s}", "schema", []string{"1a", "pg_x", "Jobs", "a-b", strings.Repeat("a", 49)},
			[]string{"a", "_", strings.Repeat("a", 48)}, "1 to 48 lower-case letters"},
		{queue, "workers", []string{"0", "5001", "99999999999999999999", "010", "+5", "4.0"}, []string{"1", "2", "4999", "5000"}, "from 1 to 5000"},
		{queue, "limit", []string{"0", "1000001"}, []string{"1", "2", "999999", "1000000"}, "from 1 to 1000000"},
		{queue, "rate", []string{"0/s", "1000001/s", "-1/m"}, []string{"1/s", "2/m", "999999/h", "1000000/h"}, "from 1 to 1000000 per s, m or h"},
		{"kinds: {a: {command: [x], owner: {retry: true, %s: %s}}}", "max_retries", []string{"0", "1001"}, []string{"1", "2", "999", "1000"}, "from 1 to 1000"},
		{kind, "workers", []string{"0", "5001"}, []string{"1", "2", "4999", "5000"}, "from 1 to 5000"},
		{kind, "limit", []string{"0", "1000001"}, []string{"1", "2", "999999", "1000000"}, "from 1 to 1000000"},
		{kind, "rate", []string{"0/h", "1000001/h"}, []string{"1/h", "1000000/s"}, "from 1 to 1000000 per s, m or h"},
		{kind, "timeout", []string{"999ms", "168h0m1s"}, []string{"1s", "1.001s", "167h59m", "168h"}, "from 1s to 168h"},
		{kind, "kill_grace", []string{"-1ms", "10m1ms"}, []string{"0s", "1ms", "9m59s", "10m"}, "from 0s to 10m"},
		{kind, "priority", []string{"0", "5"}, []string{"1", "2", "3", "4"}, "from 1 to 4"},
		{kind, "max_crashes", []string{"0", "6"}, []string{"1", "2", "4", "5"}, "from 1 to 5"},
		{kind, "permanent_exit_codes", []string{"[0]", "[256]"}, []string{"[1]", "[2]", "[254]", "[255]"}, "from 1 to 255"},
		{retry, "max_retries", []string{"-1", "100"}, []string{"0", "1", "98", "99"}, "from 0 to 99 (the file's max_attempts is 100)"},
		{retry, "max_attempts", []string{"0", "101"}, []string{"1", "2", "99", "100"}, "from 1 to 100 (the file's max_attempts is 100)"},
		{retry, "waits", []string{"[-1ms]", "[720h0m1s]"}, []string{"[0s]", "[1ms]", "[719h]", "[720h]"}, "from 0s to 720h"},
		{retry, "max_retries: 1, waits", []string{waits(0), waits(101)}, []string{waits(1), waits(2), waits(99), waits(100)}, "1 to 100 durations"},
		{"retention: {%s: %s}", "completed", []string{"59s", "3650d1s", "3651d", "1", "-1h", "forevr", "d", "[]"},
			[]string{"1m", "61s", "3649d23h", "3650d", "forever"}, "from 1m to 3650d such as 12h or 30d, or forever"},
		{"kinds: {a: {command: [x]}}\ncron: {b: {kind: a, schedule: '@daily', %s: %s}}", "catch", []string{"999ms", "720h1s"},
			[]string{"1s", "2s", "719h", "720h"}, "from 1s to 720h"},
		{retry, "waits", []string{waits(100)}, []string{waits(98), waits(99)}, `"max_attempts: 100" allows 99`},
	} {
		for _, v := range tt.bad {
			problems := problemsOf(t, fmt.Sprintf(tt.in, tt.key, v))
			if len(problems) != 1 || !strings.Contains(problems[0].Message, tt.bound) {
				t.Errorf("setting %s with the value %s: got the problems %v, want one problem that names the bound %q", tt.key, clip(v), problems, tt.bound)
			}
		}
		for _, v := range tt.good {
			if problems := problemsOf(t, fmt.Sprintf(tt.in, tt.key, v)); problems != nil {
				t.Errorf("setting %s with the value %s: got the problems %v, want none", tt.key, clip(v), problems)
			}
		}
	}
}

// proves: X3
func TestX3_NamesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for name, ok := range map[string]bool{
		"a": true, "0": true, "a_.-": true, long: true, long + "b": true, long + "bc": false,
		"''": false, "_a": false, ".a": false, "-a": false, "A": false, "ä": false, "'a b'": false, "a/b": false, `"a\n"`: false,
	} {
		for thing, text := range map[string]string{
			"kind":  "kinds: {%s: {command: [x]}}",
			"queue": "queues: {%s: {}}",
		} {
			problems := problemsOf(t, fmt.Sprintf(text, name))
			if (len(problems) == 0) != ok {
				t.Errorf("%s name %s: got the problems %v; want no problems: %v", thing, name, problems, ok)
			}
			if !ok && len(problems) > 0 && !strings.Contains(problems[0].Message, thing+" name ") {
				t.Errorf("%s name %s: the problems do not mention the name: %v", thing, name, problems)
			}
		}
	}
}

func TestVariableNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"A": true, "_": true, "a_9": true, "9A": false, "''": false, "A-B": false, "A=B": false, "Ä": false,
	} {
		if got := problemsOf(t, "kinds: {a: {command: [x], env: ["+name+"]}}") == nil; got != ok {
			t.Errorf("variable %s in env: got a name without problems: %v, want %v", name, got, ok)
		}
		if got := problemsOf(t, "kinds: {a: {command: [x], set_env: {"+name+": x}}}") == nil; got != ok {
			t.Errorf("variable %s in set_env: got a name without problems: %v, want %v", name, got, ok)
		}
	}
}

func clip(s string) string { return s[:min(len(s), 40)] }
