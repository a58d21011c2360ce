package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/config"
)

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const empty = `1:1: the file is empty; define at least one kind under "kinds"`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", empty},
		{"white space", " \n\n", empty},
		{"comments", "# nothing\n", empty},
		{"byte order mark", "\ufeff", empty},
		{"no body", "---\n", empty},
		{"null", "~\n", empty},
		{"two documents", "lease: 5s\n---\nlease: 6s\n", "2:1: a second document starts here; keep one document in the file"},
		{"an empty second document", "---\nlease: 5s\n---\n# more\n", "3:1: a second document starts here"},
		{"a document after the end", "lease: 5s\n...\nlog: {}\n", "3:1: a second document starts here"},
		{"tab indent", "log:\n\tlevel: info\n", "2:1: a tab cannot stand here; use spaces"},
		{"tab after spaces", "log:\n  level: info\n  \tformat: text\n", "3:3: a tab cannot stand here; use spaces"},
		{"tab in the middle", "log:\n  level: info\n\tformat: text\n", "3:1: a tab cannot stand here; use spaces"},
		{"tab before a key", "log: {level: info,\tformat: text}\n", "1:19: a tab cannot stand here; use spaces"},
		{"Latin-1", "lease: 5s\ndatabase: \xe4.db\n", "2:11: byte 0xE4 is not UTF-8; save the file as UTF-8"},
		{"UTF-16", "\xff\xfel\x00", "1:1: byte 0xFF is not UTF-8; save the file as UTF-8"},
		{"cut character", "a: \xe2\x82", "1:4: byte 0xE2 is not UTF-8"},
		{"control character", "lease: 5s\n\x1b", `2:1: control character U+001B; remove it, or write it as the escape "\x1b" in double quotes`},
		{"NUL", "a\x00", "1:2: control character U+0000"},
		{"old Mac line ends", "lease: 5s\rlog: {}", "1:10: carriage return without a line feed; save the file with LF or CRLF line ends"},
		{"open bracket", "log: {level: info\n", "1:6: not valid YAML: could not find flow mapping end token '}'; check the indentation, quotes and brackets here"},
		{"open quote", "lease: 5s\ndatabase: \"x\n", "2:11: not valid YAML"},
		{"stray quote", "&\"\tB\n\"6o:", "2:2: not valid YAML: these characters make no sense"},
		{"two colons", "log: level: info\n", "1:6: not valid YAML"},
		{"lost indent", "log:\n    level: info\n  format: text\n", "3:3: not valid YAML"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems := problemsOf(t, tt.text)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "redrive.yaml:"+tt.want) {
				t.Errorf("got the problems %v\nwant redrive.yaml:%s", problems, tt.want)
			}
		})
	}
}

func TestReplacementCharacterIsAllowed(t *testing.T) {
	t.Parallel()
	if c := mustParse(t, "database: \ufffd.db"); c.Database != "/srv/app/\ufffd.db" {
		t.Errorf("got the database %q, want the replacement character in it", c.Database)
	}
}

func TestDirectivesAreIgnored(t *testing.T) {
	t.Parallel()
	mustParse(t, "%YAML 1.2\n---\nlease: 5s\n...\n")
}

// proves: X3
func TestX3_FileLimits(t *testing.T) {
	t.Parallel()
	tooLarge := "1:1: the file is larger than 1 MiB"
	tooMany := "the file has more than 50000 keys, values, signs and comments up to here"
	tooDeep := "nested more than 32 levels deep"
	tooBlank := "more than 100 blank lines in a row"
	repeats := "aliases repeat more than 50000 values"
	sized := func(bytes int) string {
		const text = "lease: 5s\n#"
		return text + strings.Repeat("x", bytes-len(text))
	}
	// The key, the colon and the brackets are 4 tokens. Each item and its comma are 2 tokens.
	tokens := func(n int) string { return "x: [" + strings.Repeat("y, ", (n-4)/2) + strings.Repeat("y", n%2) + "]" }
	flow := func(depth int) string {
		return "x: " + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1)
	}
	dashes := func(depth int) string { return strings.Repeat("- ", depth) + "x" }
	indented := func(depth int) string {
		var text strings.Builder
		for i := range depth {
			fmt.Fprintf(&text, "%sk:\n", strings.Repeat(" ", i))
		}
		return text.String()
	}
	// The anchor is on a list of 99 items. Each alias repeats 100 values: the list and its items.
	aliased := func(values int) string {
		return "x: &x [" + strings.Repeat("y, ", 99) + "]\nz: [" + strings.Repeat("*x, ", values/100) + "]"
	}
	// Each line of this text repeats the line above it ten times.
	bomb := func(line string) string {
		text := "a: &a {k: v}\n"
		for c := 'b'; c <= 'z'; c++ {
			text += fmt.Sprintf(line, c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10))
		}
		return text
	}
	for _, tt := range []struct {
		name, text, complaint string
		want                  bool
	}{
		{"size below", sized(config.MaxFileBytes - 1), tooLarge, false},
		{"size on", sized(config.MaxFileBytes), tooLarge, false},
		{"size above", sized(config.MaxFileBytes + 1), tooLarge, true},
		{"tokens below", tokens(49_999), tooMany, false},
		{"tokens on", tokens(50_000), tooMany, false},
		{"tokens above", tokens(50_001), tooMany, true},
		{"tokens far above", strings.Repeat("[", config.MaxFileBytes), tooMany, true},
		{"many keys", strings.Repeat("k: v\n", config.MaxFileBytes/5), tooMany, true},
		{"brackets below", flow(31), tooDeep, false},
		{"brackets on", flow(32), tooDeep, false},
		{"brackets above", flow(33), tooDeep, true},
		{"dashes below", dashes(31), tooDeep, false},
		{"dashes on", dashes(32), tooDeep, false},
		{"dashes above", dashes(33), tooDeep, true},
		{"indented below", indented(31), tooDeep, false},
		{"indented on", indented(32), tooDeep, false},
		{"indented above", indented(33), tooDeep, true},
		{"blank lines below", "lease: 5s\n" + strings.Repeat(" \n", 99) + "log: {}", tooBlank, false},
		{"blank lines on", "lease: 5s\n" + strings.Repeat("\r\n", 100) + "log: {}", tooBlank, false},
		{"blank lines above", "lease: 5s\n" + strings.Repeat("\n", 101) + "log: {}", tooBlank, true},
		{"aliases below", aliased(49_900), repeats, false},
		{"aliases on", aliased(50_000), repeats, false},
		{"aliases above", aliased(50_100), repeats, true},
		{"bomb", bomb("%c: &%c [%s]\n"), repeats, true},
		{"merged bomb", bomb("%c: &%c {<<: [%s]}\n"), repeats, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("redrive.yaml", []byte(tt.text), "/srv/app")
			if got := err != nil && strings.Contains(err.Error(), tt.complaint); got != tt.want {
				message := []rune(fmt.Sprint(err))
				t.Errorf("the limit refuses the file: got %v, want %v; the error: %s", got, tt.want, string(message[:min(len(message), 300)]))
			}
		})
	}
}
