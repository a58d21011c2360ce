package scan

import "strconv"

// Kind is the type of a token.
type Kind uint8

// The kinds of tokens.
const (
	Word    Kind = iota // letters, or letters and then digits: S3, x509, E11000
	Number              // a number, written in digits
	ID                  // a value without meaning for the class: UUID, hexadecimal, request id, version, date, time, port, line
	Path                // path of a file, absolute or with an extension
	File                // name of a file without a folder, recognised by its extension
	URL                 // a whole URL with its user and query
	Host                // a host: a name with dots, or localhost, without its port
	IP                  // an IP address of version 4 or 6, without port or brackets
	Email               // an e-mail address
	Secret              // a password, key or token, without the name before it
	Punct               // one or more of the same punctuation character
	Newline             // one or more line ends
)

var kindNames = [...]string{"word", "number", "id", "path", "file", "url", "host", "ip", "email", "secret", "punct", "newline"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Token is a piece of a text. White space, '_' and the '-' in an identifier belong to no token.
type Token struct {
	Kind Kind
	// Glued means that no white space is before the token: it belongs to the same
	// identifier as the token before, or touches punctuation. A Number that is glued to
	// a Word is part of a name (job-404), not a separate number.
	Glued      bool
	Start, End int32 // the position of the token: byte offsets in the text
	// For a Word, Hash is the hash of its stem, see HashWord. For a Punct, Hash is the character.
	Hash uint64
	// Num is the value of a Number. It is -1 if the number has a fraction or separators, or is too
	// large.
	Num int64
}

// Text returns the token's part of text, the text that was scanned.
func (t *Token) Text(text string) string { return text[t.Start:t.End] }
