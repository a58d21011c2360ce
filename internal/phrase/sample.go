package phrase

import "strings"

// samples are texts that placeholders take.
var samples = [...]string{
	anyToken: "it", aNumber: "7", aStatus: "503", anID: "a1b2c3d4e5f6", aPath: "/srv/a/b.txt", aURL: "https://example.com/a",
	aHost: "db.example.com", aDuration: "7 seconds", aSize: "7 MB", aValue: "7",
}

// Sample returns a text that a phrase is written for: its words in their order, of alternatives the first.
// Tests of rules use it to find phrases that can never be reached.
func Sample(text string) (string, error) {
	p, err := Parse(text)
	if err != nil {
		return "", err
	}
	return strings.Join(sampleOf(nil, p.parts), " "), nil
}

func sampleOf(words []string, parts []part) []string {
	for _, p := range parts {
		switch {
		case p.gap > 0 || p.optional:
		case p.hold != noPlaceholder:
			words = append(words, samples[p.hold])
		case p.word != "":
			words = append(words, p.word)
		default:
			words = sampleOf(words, p.group[0])
		}
	}
	return words
}
