package failure

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/fingerprint"
)

// FingerprintVersion is the version of the rules that make a Print. Prints of
// other versions are of other groups, so it goes up with every change of
// Normalize or of the hash.
const FingerprintVersion = 2

// Print says which failures are the same: those of one kind, class and code
// whose messages have one shape.
type Print struct {
	Version int
	Key     string // that is stored and grouped by, "2:0123456789abcdef"
	Kind    string
	Class   Class
	Code    string
	Shape   string // of the message, see Normalize
}

// Fingerprint returns the print of a failure. The text may be sanitised or not:
// the print is the same, as long as nothing was cut out of it.
func Fingerprint(kind string, class Class, code, text string) Print {
	p := Print{Version: FingerprintVersion, Kind: kind, Class: class, Code: code, Shape: Normalize(text)}
	p.Key = fingerprint.Key(FingerprintVersion, kind, string(class), code, p.Shape)
	return p
}

// Explain says in one sentence what makes failures with this print the same.
func (p Print) Explain() string {
	parts := []string{"kind " + p.Kind}
	if p.Class != "" {
		parts = append(parts, "class "+string(p.Class))
	}
	if p.Code != "" {
		parts = append(parts, "code "+p.Code)
	}
	reads := "there is no message"
	if p.Shape != "" {
		reads = fmt.Sprintf("the message reads %q", p.Shape)
	}
	return "same because " + strings.Join(parts, ", ") + ", and " + reads
}

// Normalize returns the shape of a message, which is what messages of one cause
// have in common: in small letters, without most punctuation, and with marks
// for numbers, sizes, ids, paths, hosts, URLs, e-mail addresses, secrets, values in
// quotes and lists of names. A message that is mostly no text has the shape
// "<binary>". Numbers and values that are codes stay: of statuses, of exits, errno,
// SQLSTATE. Frames of stacks and tags of HTML are left out. It has at most 240
// bytes and is the same for a text and for what Sanitize makes of it.
func Normalize(text string) string { return fingerprint.Shape(text) }
