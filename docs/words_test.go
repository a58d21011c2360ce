package docs_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// banned are words that this project once used in senses of its own. Plain terms
// have replaced them: see CONTRIBUTING.md.
var banned = regexp.MustCompile(`(?i)\b(graves?|graveless|newsroom|hearers?|bulletins?|crowds?|judges?|told|dear|whoever|` +
	`by heart|(?:is|are|be) none)\b`)

// keptTexts may have a banned word: they are quoted, or name an option of package retry.
var keptTexts = append([]string{
	"`other processes are not told …`", "`nothing is heard of other processes …`", "Options.Judge",
	"o.Judge", "Judge: ", "Judge func(", "// Judge, if not nil", "retry.judge",
}, operatorTexts()...)

// operatorTexts returns what the built-in classes say to operators. Pages show these
// texts; tests/golden holds them as they are.
func operatorTexts() (texts []string) {
	for _, class := range failure.Classes() {
		texts = append(texts, class.Operator)
	}
	return texts
}

// keptFolders have an issue of their own for their words.
var keptFolders = []string{"failure", "store/postgres"}

// openFolders have banned words that are still to be replaced.
var openFolders = []string{
	"bench/retries",
}

// testLists are the generated lines of requirements.md that name the tests of all packages.
var testLists = regexp.MustCompile(`(?m)^  Tests: .*$`)

// bannedIn returns the banned words in a text, with the lines they are in. Names in
// code are read word by word.
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

// camel is where one word of a name in code ends and the next begins.
var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func TestContributing_WordsArePlain(t *testing.T) {
	t.Parallel()
	open := map[string]int{}
	for path, text := range files(t, ".go", ".md", ".sh", ".txtar") {
		folder := filepath.ToSlash(filepath.Dir(path))
		if path == "docs/words_test.go" || slices.ContainsFunc(keptFolders, func(kept string) bool {
			return folder == kept || strings.HasPrefix(folder, kept+"/")
		}) {
			continue
		}
		lines := bannedIn(testLists.ReplaceAllString(text, ""))
		if slices.Contains(openFolders, folder) {
			open[folder] += len(lines)
			continue
		}
		for _, line := range lines {
			t.Errorf("%s: %s", path, line)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(open)) {
		t.Logf("%s has %d lines with banned words; without any it leaves openFolders", folder, open[folder])
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
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
