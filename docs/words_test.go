package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// banned matches words that this project must not use, because plain terms have replaced
// them (see CONTRIBUTING.md).
var banned = regexp.MustCompile(`(?i)\b(graves?|graveless|newsroom|hearers?|bulletins?|crowds?|judges?|told|dear|whoever|` +
	`by heart|(?:is|are|be) none)\b`)

// keptTexts are texts that may contain a banned word: quotations, and the name of an option
// in package retry.
var keptTexts = []string{
	"Options.Judge", "o.Judge", "Judge: ", "Judge func(", "// Judge, if not nil", "retry.judge",
}

// testLists matches the generated lines of requirements.md that list the names of tests.
var testLists = regexp.MustCompile(`(?m)^  Tests: .*$`)

// bannedIn returns the lines of a text that contain banned words, with these words. In
// names such as crowdSize, each word is checked.
func bannedIn(text string) (lines []string) {
	for line := range strings.Lines(text) {
		plain := camel.ReplaceAllString(line, "$1 $2")
		for _, kept := range keptTexts {
			plain = strings.ReplaceAll(plain, kept, "")
		}
		if word := banned.FindString(strings.ReplaceAll(plain, "_", " ")); word != "" {
			lines = append(lines, word+": "+strings.TrimSpace(line))
		}
	}
	return lines
}

// camel matches the end of one word and the beginning of the next in a name such as
// crowdSize.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func TestContributing_WordsArePlain(t *testing.T) {
	t.Parallel()
	for path, text := range files(t, ".go", ".md", ".sh", ".sql", ".txtar") {
		if path == "docs/words_test.go" {
			continue
		}
		for _, line := range bannedIn(testLists.ReplaceAllString(text, "")) {
			t.Errorf("%s has a line with a banned word: %s", path, line)
		}
	}
}

func TestContributing_BannedWordsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"nil is none":                     1,
		"ErrGraves is returned":           1,
		"func toldTwice() {":              1,
		"not_told":                        1,
		"Whoever waits\nis told\n":        2,
		"a judgement, an engraving, gold": 0,
		"none is left":                    0,
	} {
		if got := bannedIn(text); len(got) != want {
			t.Errorf("text %q: got the lines %q, want %d lines with banned words", text, got, want)
		}
	}
}
