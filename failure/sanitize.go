package failure

import "github.com/redrive/redrive/internal/redact"

// What the sanitiser puts in place of what it takes out.
const (
	RedactedPath   = redact.Path   // of a file
	RedactedIP     = redact.IP     // version 4 and 6
	RedactedSecret = redact.Secret // passwords, keys, tokens
	RedactedEmail  = redact.Email  // where Emails asks for it
)

// SanitizeOptions changes what Sanitize takes out. The zero value is the
// default.
type SanitizeOptions struct {
	Emails        bool     // takes out e-mail addresses as well
	Keep          []string // stay whatever they look like, such as the job's own id
	KeepPaths     bool     // leaves the paths of files: for operators, who need them to find a cause
	KeepAddresses bool     // leaves IP addresses, for the same reason
	Max           int      // bytes of the result; 0 is 64 KiB, which is also the most
}

// Sanitize returns text without what a log or a user must not see: the paths of
// files, IP addresses, and secrets, which are passwords, keys and tokens that
// are known by their names (password=…, "api_key": …, Authorization: …), by
// their shapes (AKIA…, sk-…, PEM, JWT) or by their place (in URLs, in DSNs, in
// options of commands). URLs keep their scheme, host, path and the names in
// their query. The marks are RedactedPath, RedactedIP, RedactedSecret and
// RedactedEmail.
//
// The result is valid UTF-8 of at most o.Max bytes. Of longer texts beginning
// and end stay, as Message cuts them; no half of a secret stays at the cut.
// Sanitize is linear and idempotent, and does not allocate for a text that it
// leaves as it is. A nil o stands for the defaults. It goes by looks: a secret
// that looks like a word stays.
func Sanitize(text string, o *SanitizeOptions) string { return redact.Text(text, (*redact.Options)(o)) }

// SanitizeStderr does the same for the tail of a standard error or output. If its
// beginning was cut off, because it is as long as StderrMax allows, the rest of
// its first line goes: it may be the second half of a secret.
func SanitizeStderr(tail []byte, o *SanitizeOptions) []byte {
	return redact.Output(tail, (*redact.Options)(o))
}

// SanitizeJSON does for the strings of a JSON value, and for the names in its
// objects, what Sanitize does for a text. A member that is named like a secret
// loses its value, whatever it is. The result is valid JSON of at most
// DetailsMax bytes, with numbers and the order of names as they were; a value
// that is too long is replaced by a note that says so. What is not JSON becomes
// a string.
func SanitizeJSON(value []byte, o *SanitizeOptions) []byte {
	return redact.JSON(value, (*redact.Options)(o))
}
