// Package suggest finds the known name that is most similar to a misspelled name.
package suggest

import (
	"fmt"
	"strings"
	"unicode"
)

// candidatesMax bounds the time for finding a suggestion. listedMax bounds the length of
// a list in a message.
const (
	candidatesMax = 1_000
	listedMax     = 20
)

// DidYouMean returns `, did you mean "x"?` with the candidate that is most similar to the
// given word. It returns "" if no candidate is similar.
func DidYouMean(word string, candidates []string) string {
	best, distance := "", 0
	word = plain(word)
	for _, c := range candidates[:min(len(candidates), candidatesMax)] {
		d, near := typos(word, plain(c))
		if near && (best == "" || d < distance) {
			best, distance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return Is(best)
}

// Is returns the text `, did you mean "name"?`.
func Is(name string) string { return fmt.Sprintf(", did you mean %q?", name) }

// plain removes differences that are frequent when people write a name: upper case and
// separators.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("_-. ", c) {
			return -1
		}
		return unicode.ToLower(c)
	}, s)
}

// slips returns the largest number of letters in which the two words may differ and still be
// similar.
func slips(a, b string) int {
	switch shorter := min(len(a), len(b)); {
	case shorter < 2:
		return 0
	case shorter < 5:
		return 1
	}
	return 2
}

// typos returns the number of differences between a and b. A difference is a letter that was
// left out, added, changed or swapped with the next letter. ok is false if there are more
// differences than slips allows.
func typos(a, b string) (int, bool) {
	allowed := slips(a, b)
	if max(len(a), len(b))-min(len(a), len(b)) > allowed {
		return 0, false
	}
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			changed := above[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)], above[len(b)] <= allowed
}

// List joins names for a message. If there are many names, it shows only the first names and
// the number of the others.
func List(names []string) string {
	if len(names) <= listedMax {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listedMax], ", "), len(names)-listedMax)
}

// Unknown returns the text of an error about an unknown name. The text suggests the most
// similar known name. If no name is similar, the text lists all known names.
func Unknown(what, name string, known []string) string {
	text := fmt.Sprintf("unknown %s %.64q", what, name)
	if hint := DidYouMean(name, known); hint != "" {
		return text + hint
	}
	if len(known) == 0 {
		return text
	}
	return text + "; known are " + List(known)
}
