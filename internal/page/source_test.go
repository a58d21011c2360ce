package page

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sources returns the files of the package that match a pattern, by name.
func sources(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(text)
		}
	}
	return texts
}

// unescaped matches what carries a text into a page without escaping it. A URL is made by queryOf
// only, from values that it encodes.
var unescaped = regexp.MustCompile(`template\.(HTML|HTMLAttr|JS|JSStr|CSS|Srcset)\b|template\.URL\(`)

// part of: U4
//
// No value comes into a page without being escaped.
func TestTrap1_NoValueIsUnescaped(t *testing.T) {
	t.Parallel()
	for name, text := range sources(t, "*.go") {
		for _, found := range unescaped.FindAllString(text, -1) {
			if found != "template.URL(" || strings.Count(text, found) != strings.Count(text, "{ return template.URL(q.Encode()) }") {
				t.Errorf("%s has %s, by which a text could come into a page as it is", name, found)
			}
		}
		if strings.Contains(text, "text/template") {
			t.Errorf("%s uses text/template, which does not escape", name)
		}
	}
	if !unescaped.MatchString(`template.HTML(x)`) {
		t.Error("the pattern does not find template.HTML")
	}
}

// colour matches colours, and attributes that could have one.
var colour = regexp.MustCompile(`(?i)#[0-9a-f]{6}\b|\brgba?\(|\bhsla?\(|\boklch\(|style="|(fill|stroke|color|bgcolor)="[^"nu]`) // none, and the pattern of url(#id)

// part of: U4
//
// A colour is in one place: a line at the top of the style sheet.
func TestU4_ColoursAreInTheStyleSheet(t *testing.T) {
	t.Parallel()
	texts := sources(t, "*.go", "templates/*.html", "assets/page.js")
	for name, text := range texts {
		for _, found := range colour.FindAllString(text, -1) {
			t.Errorf("%s has the colour or style %q: name it in assets/page.css", name, found)
		}
	}
	sheet := sources(t, "assets/page.css")["assets/page.css"]
	_, rest, found := strings.Cut(sheet, "/* ---- base ---- */")
	if !found {
		t.Fatal("the style sheet has no part that is called base")
	}
	for line := range strings.Lines(rest) {
		for _, c := range colour.FindAllString(strings.ReplaceAll(line, "rgb(0 0 0 /", ""), -1) { // a shadow
			t.Errorf("the style sheet has the colour %q outside of its first part: %s", c, line)
		}
	}
}

// part of: U2
//
// The script, as it is served, and the style sheet are small.
func TestU2_FilesAreSmall(t *testing.T) {
	t.Parallel()
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, most := range map[string]int{"page.js": 10_000, "page.css": 40_000, "mark.svg": 2_000} {
		if n := len(p.assets[name].body); n == 0 || n > most {
			t.Errorf("%s has %d bytes, want at most %d", name, n, most)
		}
	}
}
