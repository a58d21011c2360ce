package postgres

import (
	"slices"
)

// token is one word, number, literal or sign of a statement; text between tokens
// is white space.
type token struct {
	kind tokenKind
	text string
}

type tokenKind uint8

const (
	space tokenKind = iota
	word
	number
	literal // in quotes of either kind
	param
	sign
)

// tokenize splits a statement. Its concatenated texts are the statement.
func tokenize(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		from, kind := i, sign
		switch c := s[i]; {
		case isSpace(c):
			kind = space
			for i < len(s) && isSpace(s[i]) {
				i++
			}
		case isLetter(c):
			kind = word
			for i < len(s) && (isLetter(s[i]) || isDigit(s[i])) {
				i++
			}
		case isDigit(c):
			kind = number
			for i < len(s) && isDigit(s[i]) {
				i++
			}
		case c == '\'' || c == '"':
			kind = literal
			for i++; i < len(s) && s[i] != c; i++ {
			}
			i = min(i+1, len(s))
		case c == '?':
			kind = param
			for i++; i < len(s) && isDigit(s[i]); i++ {
			}
		default:
			i++
			if i < len(s) && slices.Contains(longSigns, s[from:i+1]) {
				i++
			}
		}
		out = append(out, token{kind, s[from:i]})
	}
	return out
}

var longSigns = []string{"<<", ">>", "<=", ">=", "<>", "!=", "||", "::"}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
