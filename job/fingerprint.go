package job

import "github.com/redrive/redrive/failure"

// Fingerprint names the group of a failure that has no message of its own, such
// as a crash: the key of failure.Fingerprint for no text. It is stored with
// failure records and is what dead letters are grouped by.
func Fingerprint(kind, class, code string) string {
	return failure.Fingerprint(kind, failure.Class(class), code, "").Key
}
