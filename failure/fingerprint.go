package failure

import (
	"fmt"
	"strings"
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
	h := hashPart(hashStart, kind)
	h = hashPart(h, string(class))
	h = hashPart(h, code)
	h = hashPart(h, p.Shape)
	key := [...]byte{'0' + FingerprintVersion, ':', 17: 0}
	for i := len(key) - 1; i > 1; i-- {
		key[i] = "0123456789abcdef"[h&15]
		h >>= 4
	}
	p.Key = string(key[:])
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

const hashStart = 14695981039346656037

// hashPart takes a part and its length into a hash, eight bytes at a time.
func hashPart(h uint64, part string) uint64 {
	h = mix(h ^ uint64(len(part)))
	for ; len(part) >= 8; part = part[8:] {
		h = mix(h ^ (uint64(part[0]) | uint64(part[1])<<8 | uint64(part[2])<<16 | uint64(part[3])<<24 |
			uint64(part[4])<<32 | uint64(part[5])<<40 | uint64(part[6])<<48 | uint64(part[7])<<56))
	}
	last := uint64(0)
	for i := range len(part) {
		last |= uint64(part[i]) << (8 * i)
	}
	return mix(h ^ last)
}

// mix spreads the bits of a hash over all of it. No two values give the same.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
