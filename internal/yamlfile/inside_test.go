package yamlfile_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/yamlfile"
)

var about = yamlfile.About{Noun: "a test", Example: "a: b", Start: "write something", Depth: 3, Days: true}

// In each file, the mark « stands before the character whose position Inside must return.
func TestInside_FindsThePlaceInTheFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":                          "k: ab «% cd\n",
		"plain, first":                   "k:    «a#b\n",
		"plain over two lines":           "k: ab\n    cd «e\n",
		"single quotes":                  "k: 'it''s ''«#'\n",
		"double quotes":                  `k: "a\"\\ \u00e9\x41\t«#"` + "\n",
		"double over two lines":          "k: \"ab  \n\n  cd «#\"\n",
		"block":                          "k: |\n   ab\n\n   c «# d\n",
		"block with spaces":              "k: |\n   ab\n     x   «#\n",
		"folded":                         "k: >-\n   ab\n   c «# d\n",
		"in a list":                      "k: [a, 'b «#']\n",
		"after characters that are wide": "k: 'äöü😀 «#'\n",
		"in a CRLF file":                 "k: |\r\n   ab\r\n   c «# d\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after, _ := strings.Cut(text, "«")
			r := yamlfile.NewReader("f", about)
			root, ok := r.Parse([]byte(before + after))
			if !ok {
				t.Fatal(r.Err())
			}
			v := yamlfile.Value{Node: root.Get("k")}
			if v.Shape == yamlfile.List {
				v = v.Item(1)
			}
			sign := []rune(after)[0]
			offset := -1
			for i, c := range []rune(v.Text) {
				if c == sign {
					offset = i
				}
			}
			line := strings.Count(before, "\n") + 1
			want := yamlfile.Position{Line: line, Col: len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1}
			if got := r.Inside(v, offset); got != want {
				t.Errorf("character %c at offset %d of %q: got the position %v, want %v", sign, offset, v.Text, got, want)
			}
		})
	}
}

func TestInside_BeyondTheEndIsTheEnd(t *testing.T) {
	t.Parallel()
	r := yamlfile.NewReader("f", about)
	root, _ := r.Parse([]byte("k: 'ab'\n"))
	if got := r.Inside(yamlfile.Value{Node: root.Get("k")}, 99); got != (yamlfile.Position{Line: 1, Col: 7}) {
		t.Errorf("Inside with an offset after the end of the text: got the position %v, want the end of the text", got)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7d": "7d", "1w": "7d", "1w1d12h": "204h", "1d": "24h", "1d12h": "36h", "0d": "0s", "90s": "1m30s", "48h": "2d", "30d": "30d", "1.5h": "1h30m", "106751d": "106751d",
		"1.5d": "", "-1d": "", "1d-1h": "", "d": "", "99999999d": "", "106751d24h": "", "7dd": "", "7 d": "", "1h7d": "",
	} {
		d, err := human.ParseDuration(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("the duration %s is accepted as %v, want an error", text, d)
		case want != "" && (err != nil || yamlfile.Span(d) != want):
			t.Errorf("the duration %s is read as %s (error %v), want %s", text, yamlfile.Span(d), err, want)
		case err == nil:
			if again, err := human.ParseDuration(yamlfile.Span(d)); again != d || err != nil {
				t.Errorf("the printed duration %s is read as %v (error %v), want the same duration", yamlfile.Span(d), again, err)
			}
		}
	}
}
