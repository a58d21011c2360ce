// Package canary makes texts with planted secrets, paths and addresses, and harmless texts that
// look similar. Tests of the removal of secrets use them at every exit.
package canary

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Text is a text with planted parts.
type Text struct {
	Row   string   // the kind of the planted parts, such as "dsn" or "path"
	Text  string   // the whole text
	Parts []string // the planted parts, which no exit may show
	Line  string   // the template of the text, for messages
}

//go:embed secrets.txt
var secrets string

//go:embed private.txt
var private string

//go:embed emails.txt
var emails string

//go:embed harmless.txt
var harmless string

// Secrets returns texts with secrets. Each seed gives other secrets.
func Secrets(seed uint64) []Text { return expand(secrets, seed) }

// Private returns texts with paths of files and with addresses of hosts.
func Private(seed uint64) []Text { return expand(private, seed) }

// Emails returns texts with e-mail addresses.
func Emails(seed uint64) []Text { return expand(emails, seed) }

// Harmless returns texts without anything to remove.
func Harmless() []string {
	var all []string
	for line := range strings.Lines(harmless) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, controls.Replace(line))
		}
	}
	return all
}

var controls = strings.NewReplacer("⏎", "\n", "␛", "\x1b", "␀", "\x00", "→", "\t")

func expand(list string, seed uint64) []Text {
	m := maker{rand.New(rand.NewPCG(seed, 1))} // #nosec G404 -- the values only have to look random
	var all []Text
	row := ""
	for line := range strings.Lines(list) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			row = line[3:]
		case line == "" || line[0] == '#':
		default:
			all = append(all, m.text(row, line))
		}
	}
	return all
}

type maker struct{ *rand.Rand }

func (m maker) text(row, line string) Text {
	t := Text{Row: row, Line: line}
	filled := controls.Replace(m.fill(line))
	for rest := filled; ; {
		_, after, found := strings.Cut(rest, "«")
		if !found {
			break
		}
		part, behind, _ := strings.Cut(after, "»")
		t.Parts = append(t.Parts, part)
		rest = behind
	}
	t.Text = strings.NewReplacer("«", "", "»", "").Replace(filled)
	return t
}

// fill replaces each placeholder by random characters.
func (m maker) fill(line string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(line, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		value := ""
		if closed {
			value = m.value(name)
		}
		if value == "" { // no placeholder
			b.WriteByte('{')
			line = after
			continue
		}
		b.WriteString(value)
		line = rest
	}
}

var sets = map[string]string{
	"a": "abcdefghijklmnopqrstuvwxyz0123456789", "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "d": "0123456789", "h": "0123456789abcdef",
	"m": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"u": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
}

var words = map[string][]string{
	"name": {"anna", "bob", "chidi", "dora", "emre", "fatima"},
	"word": {"hunterdog", "swordfish", "letmein", "geheimnis", "correcthorse", "opensesame", "dragonfly", "tigerlily"},
}

// value returns random characters for a placeholder, or "" if the name is no placeholder.
func (m maker) value(name string) string {
	if list := words[name]; list != nil {
		return list[m.IntN(len(list))]
	}
	switch name {
	case "pw":
		return m.password()
	case "ssn":
		return fmt.Sprintf("%03d-%02d-%04d", 100+m.IntN(500), 10+m.IntN(89), 1000+m.IntN(8999))
	case "us":
		return fmt.Sprintf("%d%02d555%04d", 2+m.IntN(7), 10+m.IntN(89), m.IntN(10000))
	case "card":
		return m.card([]string{"4", "51", "55", "2221", "6011", "65", "35"}[m.IntN(7)], 16)
	case "amex":
		return m.card([]string{"34", "37"}[m.IntN(2)], 15)
	case "card4":
		return grouped(m.card("4", 16), " ")
	case "card-":
		return grouped(m.card("53", 16), "-")
	case "iban":
		return m.iban()
	case "iban4":
		return grouped(m.iban(), " ")
	}
	class, count, found := strings.Cut(name, ":")
	set, n := sets[class], 0
	if _, err := fmt.Sscan(count, &n); err != nil || !found || set == "" {
		return ""
	}
	return m.chars(set, n)
}

func (m maker) chars(set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.IntN(len(set))]
	}
	if n >= 8 && !strings.ContainsAny(string(b), sets["d"]) {
		b[n/2] = '7' // nearly every real value has a digit
	}
	return string(b)
}

// password returns a password as people and programs make them.
func (m maker) password() string {
	const symbols = "!$*+_=.~#?"
	switch m.IntN(5) {
	case 0:
		return m.chars(sets["m"], 12) + "7a"
	case 1:
		return strings.Title(words["word"][m.IntN(8)]) + m.chars(sets["d"], 2) + "!" //nolint:staticcheck // only ASCII letters
	case 2:
		return "S3cr" + m.chars(sets["a"], 4) + string(symbols[m.IntN(len(symbols))]) + m.chars(sets["m"], 4) + "9"
	case 3:
		return m.chars(sets["a"], 5) + "-" + m.chars(sets["a"], 5) + "-" + m.chars(sets["a"], 4) + "3x"
	}
	return "Xk9" + string(symbols[m.IntN(len(symbols))]) + m.chars(sets["u"], 9) + "q2"
}

// card returns a card number with a correct last digit (Luhn).
func (m maker) card(prefix string, n int) string {
	digits := prefix + m.chars(sets["d"], n-1-len(prefix))
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return digits + string(rune('0'+(10-sum%10)%10))
}

// iban returns an IBAN with correct check digits (ISO 7064, modulo 97).
func (m maker) iban() string {
	countries := []struct {
		code string
		n    int
	}{{"DE", 18}, {"FR", 23}, {"NL", 14}, {"GB", 18}, {"ES", 20}, {"NO", 11}}
	c := countries[m.IntN(len(countries))]
	account := m.chars(sets["d"], c.n)
	switch c.code {
	case "NL", "GB":
		account = "ACME" + account[4:]
	}
	rest := 0
	for _, r := range account + c.code + "00" {
		if r >= 'A' {
			rest = (rest*100 + int(r-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(r-'0')) % 97
		}
	}
	return fmt.Sprintf("%s%02d%s", c.code, 98-rest, account)
}

// grouped returns digits in groups of four.
func grouped(digits, between string) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && i%4 == 0 {
			b.WriteString(between)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// Leaked returns a planted part of the text that is in an output, or "" if it has no part. Of a
// long part, eight characters in a row are enough, without the characters that only show its kind.
func (t *Text) Leaked(out string) string {
	for _, part := range t.Parts {
		for _, piece := range strings.FieldsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			if found := leaked(out, piece); found != "" {
				return found
			}
		}
	}
	return ""
}

func leaked(out, part string) string {
	const enough = 8
	if len(part) <= 2*enough {
		if len(part) > 2 && strings.Contains(out, part) {
			return part
		}
		return ""
	}
	for i := 0; i+enough <= len(part); i++ {
		if piece := part[i : i+enough]; strings.ContainsAny(piece, sets["d"]) && strings.Contains(out, piece) {
			return piece
		}
	}
	return ""
}
