package classify_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

const shopRules = `# what the warehouse says
shop.stock StockMissing strong+2
	no stock left
	(article|item) ...2 sold out
shop.weak StockMissing faint
	warehouse
shop.earlier - said history
	earlier order failed
`

// proves: F9
func TestF9_RulesInTheLanguageOfTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	c, problems := classify.NewClassifier(classify.Rules{Text: shopRules})
	if len(problems) > 0 {
		t.Fatalf("got the problems %v, want none", problems)
	}
	for text, want := range map[string]struct {
		class failure.Class
		rule  string
	}{
		"order 12: item 7 is sold out":                     {"StockMissing", "policy.shop.stock"},
		"connection refused by the warehouse":              {failure.TemporaryServiceError, "transport.refused"}, // the weak rule gives way
		"no stock left, earlier order failed: bad gateway": {failure.TemporaryServiceError, ""},
		"connection refused":                               {failure.TemporaryServiceError, "transport.refused"},
	} {
		got := c.Classify(&failure.Evidence{Message: text}, "")
		if got.Class != want.class || want.rule != "" && got.Rule != want.rule {
			t.Errorf("%q: got the class %s by %s, want %s by %s", text, got.Class, got.Rule, want.class, want.rule)
		}
	}
	if got, _ := c.Phrases(); got < 3000 {
		t.Errorf("got %d phrases, want the built-in ones and 4 more", got)
	}
	rules := classify.Rules{Text: shopRules}
	if got := rules.TextClasses(); len(got) != 1 || got["StockMissing"] == 0 {
		t.Errorf("got the classes %v, want StockMissing with its line", got)
	}
}

// proves: F9
func TestF9_MistakesInRulesOfATextNameLineAndCure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a.b NetworkTimeout storng\n\tlost link\n":         `line 1: unknown weight "storng": one of code, decides,`,
		"a.b NetworkTimeout strong\nthe link is lost\n":    "line 2: unknown weight \"is\": one of code, decides, faint, generic, nothing, said, status, strong, weak, also with +n or -n, or a number from 1 to",
		"a.b NetworkTimeout strong\nlost the link\n":       "indent the line if it is a phrase",
		"E,F NetworkTimeout strong\n\tlost link\n":         "line 1: the id \"E,F\"",
		"# x\n\nlost link\n":                               "line 3: a rule begins with its id",
		"\tlost link\n":                                    "line 1: a phrase without a rule",
		"a.b NetworkTimeout strong\n\tlost (link\n":        `line 2: phrase "lost (link": a parenthesis is not closed`,
		"a.b NetworkTimeout strong\n\t...2\n":              "line 2: phrase",
		"a.b NetworkTimeout strong\n\t<number>\n":          "needs at least one word",
		"a.b NetworkTimeout strong\nc.d NotFound said\n":   "has no phrases: write them on the next lines",
		strings.Repeat("#", classify.TextMax+1):            "at most 65536 are allowed",
		"a.b C strong\n\t" + strings.Repeat("lost ", 2000): "use several phrases",
	} {
		c, problems := classify.NewClassifier(classify.Rules{Text: text})
		all := ""
		for _, p := range problems {
			all += p.Path + ": " + p.Message + "\n"
		}
		if !strings.Contains(all, want) || !strings.HasPrefix(all, "rules: ") {
			t.Errorf("%.60q: got the problems %q, want %q", text, all, want)
		}
		if got := c.Classify(&failure.Evidence{Message: "connection refused"}, ""); got.Class != failure.TemporaryServiceError {
			t.Errorf("%.60q: got the class %s, want the built-in rules to count on", text, got.Class)
		}
	}
}

// Whatever a text of rules is, it gives a classifier that can be used, or problems, and no panic.
func FuzzRulesOfAText(f *testing.F) {
	f.Add(shopRules, "no stock left")
	f.Add("a.b - 90 history ing-form read-status\n\t!(a|b) ... c <number> !d\n", "a c 404 d")
	f.Add("a NetworkTimeout strong+99999999999999999999\n\tx\n", "x")
	f.Add("a\x00b c d\n \t(((((\n", "(")
	f.Fuzz(func(t *testing.T, rules, message string) {
		c, problems := classify.NewClassifier(classify.Rules{NoBuiltin: true, Text: rules})
		for _, p := range problems {
			if p.Path != "rules" || p.Message == "" {
				t.Errorf("got the problem %+v, want one of the rules", p)
			}
		}
		got := c.Classify(&failure.Evidence{Message: message}, "")
		if got.Class == "" || got.Verdict == "" {
			t.Errorf("got %+v, want a class and a verdict", got)
		}
	})
}
