package classify

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// row is a phrase of a rules file.
type row struct {
	rule   *rule
	phrase string
}

func (r row) String() string { return fmt.Sprintf("%s, rule %s: %s", r.rule.file, r.rule.id, r.phrase) }

func rowsOfRules(t *testing.T) []row {
	t.Helper()
	rules, problems := builtinRules()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Path, p.Message)
	}
	var rows []row
	for i := range rules {
		if rules[i].file == "" { // made from a table
			continue
		}
		for _, text := range rules[i].phrases {
			rows = append(rows, row{&rules[i], text})
		}
	}
	return rows
}

// A phrase stands once, unless it means another class, or counts under other conditions. A name of an
// exception may also be a code, so types.rules may repeat what another file has. The phrases in kept
// stand twice, because stored decisions name both rules.
func TestRules_NoDoubles(t *testing.T) {
	t.Parallel()
	kept := []string{"bad gateway", "DeploymentNotFound"}
	const conditions = codesOnly | ingForm | perMoment | perPeriod
	first := map[string]row{}
	for _, r := range rowsOfRules(t) {
		if r.rule.file == "rules/types.rules" || slices.Contains(kept, r.phrase) {
			continue
		}
		key := fmt.Sprint(strings.Join(strings.Fields(r.phrase), " "), r.rule.class, r.rule.trait&conditions)
		if other, twice := first[key]; twice {
			t.Errorf("%v stands also in\n\t%v\n\tdelete the one that weighs less", r, other)
		}
		first[key] = r
	}
}

// Each phrase finds the words that it is made of.
func TestRules_EachPhraseCanBeReached(t *testing.T) {
	t.Parallel()
	m, rows := machineOfRows(t)
	var found phrase.Matcher
	for i, r := range rows {
		text, err := phrase.Sample(r.phrase)
		if err != nil {
			t.Errorf("%v: %v", r, err)
			continue
		}
		found.Run(m, text, scan.Tokens(nil, text))
		if !slices.ContainsFunc(found.Found, func(f phrase.Match) bool { return int(f.Rule) == i }) {
			t.Errorf("%v does not find its own words %q, so it can never be reached", r, text)
		}
	}
}

// The list of phrases that no labelled text hits shows where texts are missing. It is printed with -v.
func TestRules_HitByLabelledTexts(t *testing.T) {
	t.Parallel()
	m, rows := machineOfRows(t)
	hit := make([]bool, len(rows))
	var found phrase.Matcher
	for _, name := range []string{"says.txt", "general.txt", "bugs.txt"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			_, text, _ := strings.Cut(strings.TrimSpace(line), " | ")
			text = strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(text)
			found.Run(m, text, scan.Tokens(nil, text))
			for _, f := range found.Found {
				hit[f.Rule] = true
			}
		}
	}
	without := 0
	for i, r := range rows {
		if !hit[i] {
			without++
			t.Logf("no labelled text: %v", r)
		}
	}
	t.Logf("%d of %d phrases are hit by no labelled text", without, len(rows))
	if without == len(rows) {
		t.Error("no phrase is hit by a labelled text")
	}
}

// machineOfRows makes a machine in which each phrase is a rule of its own.
func machineOfRows(t *testing.T) (*phrase.Machine, []row) {
	t.Helper()
	b, err := phrase.NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOfRules(t)
	for i, r := range rows {
		if err := b.Add(r.phrase, i, r.rule.trait&identifiers != 0); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	return b.Freeze(), rows
}

func TestRules_MistakesHaveALineAndACure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a.b NetworkTimeout strong\n\tlost link\n":                  "",
		"# comment\n\na.b - 1 history\n\tlast time\n":               "",
		"a.b NetworkTimeout strong\n\tlost (link|\\\n\t\tline)\n":   "",
		"a.b NetworkTimeout strong\n\tlost \\\nc.d NotFound said\n": "x.rules:3: the line before ends with \\, so its phrase must go on here: indent",
		"a.b NetworkTimeout strong\n\tlost \\\n":                    "x.rules:2: the last line of the phrases ends with \\",
		"\tlost link\n":                                             "x.rules:1: a phrase without a rule",
		"a.b NetworkTimeout\n":                                      "x.rules:1: a rule begins with its id, its class and its weight",
		"\na.b NetworkTimeout storng\n\tlost link\n":                "x.rules:2: unknown weight \"storng\": one of code, decides,",
		"a.b NetworkTimeout strong+x\n\tlost link\n":                "x.rules:1: unknown weight",
		"a.b NetworkTimeout strong identifier\n\tlost link\n":       "x.rules:1: unknown word \"identifier\" behind the weight: one of cleanup,",
		"a.b NetworkTimeout strong\n\tlost (link\n":                 "x.rules:2: phrase \"lost (link\": a parenthesis is not closed",
		"a.b NetworkTimeout strong\nc.d NotFound said\n\tlost it\n": "x.rules:2: rule a.b has no phrases",
	} {
		_, problems := readRules("x.rules", text, true)
		got := ""
		for _, p := range problems {
			got += p.Path + ": " + p.Message + "\n"
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: got the problems %q, want %q", text, got, want)
		}
	}
}

// A long phrase stands on several lines.
func TestRules_PhraseOnSeveralLines(t *testing.T) {
	t.Parallel()
	rules, problems := readRules("x.rules", "a.b NetworkTimeout strong\n\tlost (the|\\\n\t\ta)? \\\n\t\tlink\n\tno line\n", true)
	if len(problems) > 0 || len(rules) != 1 || !slices.Equal(rules[0].phrases, []string{"lost (the|a)? link", "no line"}) {
		t.Errorf("got %+v and the problems %v, want one rule with the phrases %q", rules, problems, []string{"lost (the|a)? link", "no line"})
	}
}

// Every file is in the list, so that no file is left out.
func TestRules_EveryFileIsRead(t *testing.T) {
	t.Parallel()
	entries, err := ruleFiles.ReadDir("rules")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(subjects, strings.TrimSuffix(e.Name(), ".rules")) {
			t.Errorf("rules/%s is not in the list of subjects in rules.go, so it is not read", e.Name())
		}
	}
}

var updateMachine = flag.Bool("update", false, "write rules/machine.bin anew")

// The stored machine is the one that the rules give.
func TestRules_TheStoredMachineIsCurrent(t *testing.T) {
	t.Parallel()
	rules, _ := builtinRules()
	m, err := buildMachine(rules)
	if err != nil {
		t.Fatal(err)
	}
	want := append(binary.LittleEndian.AppendUint64(nil, rulesSum(rules)), m.Encode()...)
	if *updateMachine {
		if err := os.WriteFile("rules/machine.bin", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(builtMachine, want) {
		t.Errorf("classify/rules/machine.bin (%d bytes) was made from other rules (now %d bytes); make it anew: make docs", len(builtMachine), len(want))
	}
}

func BenchmarkFirstFailure(b *testing.B) {
	for b.Loop() {
		rules, _ := builtinRules()
		if _, err := machineOf(rules); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildMachine(b *testing.B) {
	for b.Loop() {
		rules, _ := builtinRules()
		if _, err := buildMachine(rules); err != nil {
			b.Fatal(err)
		}
	}
}
