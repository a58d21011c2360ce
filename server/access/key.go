package access

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
)

// A key is written as
//
//	rdk_ID_SECRETSUM
//
// with an id of 10 characters, a secret of 43 and a sum of 6. The prefix and the sum let programs
// that look for leaked secrets find keys. The sum also shows, without the store, that a key was
// mistyped.
const (
	keyPrefix = "rdk_"
	idLen     = 10 // of a-z and 2-7: 50 random bits
	secretLen = 43 // of 0-9, A-Z and a-z: 256 random bits
	sumLen    = 6  // the CRC-32 of everything before it, in base 62

	// KeyLen is the number of characters of a key.
	KeyLen = len(keyPrefix) + idLen + 1 + secretLen + sumLen
)

const digits62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Secret is a text that must not be printed: a whole key, or the secret part of one. All ways of
// formatting and encoding print "[secret]"; Reveal returns the text.
type Secret struct{ text string }

const hidden = "[secret]"

// Reveal returns the text. Give it to nobody but the person who has just made the key.
func (s Secret) Reveal() string { return s.text }

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// Format implements fmt.Formatter, so that no verb prints the text.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) } // a fmt.State reports its errors itself

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// hash returns what the store keeps of a secret. A secret has 256 random bits, so it needs no salt
// and no slow hash.
func (s Secret) hash() []byte {
	sum := sha256.Sum256([]byte(s.text))
	return sum[:]
}

// NewKey makes a key: its id, the hash of its secret for the store, and the whole key for its user.
func NewKey() (id string, hash []byte, key Secret) { return newSecret(newID()) }

// RotatedKey makes a new secret for the key with an id.
func RotatedKey(id string) (hash []byte, key Secret, err error) {
	if !isID(id) {
		return nil, Secret{}, fmt.Errorf("key %.80q: an id has %d characters of a-z and 2-7", id, idLen)
	}
	_, hash, key = newSecret(id)
	return hash, key, nil
}

func newID() string { return strings.ToLower(rand.Text()[:idLen]) }

func newSecret(id string) (string, []byte, Secret) {
	secret := Secret{randomDigits(secretLen)}
	head := keyPrefix + id + "_" + secret.text
	return id, secret.hash(), Secret{head + sum(head)}
}

// randomDigits returns n random digits in base 62, each with the same probability.
func randomDigits(n int) string {
	text, random := make([]byte, 0, n), make([]byte, 2*n)
	for len(text) < n {
		_, _ = rand.Read(random) // rand.Read never returns an error
		for _, b := range random {
			if b < 4*62 && len(text) < n {
				text = append(text, digits62[b%62])
			}
		}
	}
	return string(text)
}

// sum returns the CRC-32 of a text as sumLen digits in base 62.
func sum(text string) string {
	var b [sumLen]byte
	n := crc32.ChecksumIEEE([]byte(text))
	for i := sumLen - 1; i >= 0; i-- {
		b[i], n = digits62[n%62], n/62
	}
	return string(b[:])
}

// ErrKeyFormat says that a text is not a key: it has another form, or it was mistyped or cut. The
// text is not part of the error.
var ErrKeyFormat = errors.New("this is not an access key: a key begins with rdk_ and has 64 characters; copy it whole")

// ParseKey returns the id and the secret of a key. It checks the form and the sum, so most typing
// mistakes are found without the store. The error is ErrKeyFormat.
func ParseKey(text string) (id string, secret Secret, err error) {
	if len(text) != KeyLen || !strings.HasPrefix(text, keyPrefix) {
		return "", Secret{}, ErrKeyFormat
	}
	head, check := text[:KeyLen-sumLen], text[KeyLen-sumLen:]
	id, rest := head[len(keyPrefix):len(keyPrefix)+idLen], head[len(keyPrefix)+idLen:]
	if !isID(id) || rest[0] != '_' || strings.Trim(rest[1:], digits62) != "" || sum(head) != check {
		return "", Secret{}, ErrKeyFormat
	}
	return id, Secret{rest[1:]}, nil
}

func isID(id string) bool {
	if len(id) != idLen {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
