// Package redact takes out of texts what a log or a user must not see. In comes the text of an error, the output of a
// process or a JSON value, as it was; out goes valid UTF-8 of a bounded length, with marks in place of secrets, paths of
// files and addresses. It must never let half of a secret pass at a cut, never take time or memory that grows faster than the
// length of the text, and never read anything but its arguments.
package redact

import (
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// The marks for what is taken out.
const (
	Path   = scan.MarkPath   // of a file
	IP     = scan.MarkIP     // version 4 and 6
	Secret = scan.MarkSecret // passwords, keys, tokens
	Email  = scan.MarkEmail  // where Emails asks for it
)

// Limits of the results, in bytes.
const (
	OutputMax = 64 << 10 // of the tail of an output
	JSONMax   = 64 << 10 // of a JSON value
)

// Options changes what Text takes out. The zero value is the
// default.
type Options struct {
	Emails        bool     // takes out e-mail addresses as well
	Keep          []string // stay whatever they look like, such as the job's own id
	KeepPaths     bool     // leaves the paths of files: for operators, who need them to find a cause
	KeepAddresses bool     // leaves IP addresses, for the same reason
	Max           int      // bytes of the result; 0 is 64 KiB, which is also the most
}

// rest returns what was written and what follows it.
func rest(b *strings.Builder, text string) string {
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}
