// Package fingerprint makes of the message of a failure what failures of one cause have in common. In comes a text, clean
// or not; out goes its shape, and of that and other parts a key. It must never give the same failure another key because
// secrets were taken out of it, and a change of a shape or key is a new version of fingerprints.
package fingerprint

// Key returns the key of parts, which begins with the digit of the version: "2:0123456789abcdef".
func Key(version byte, parts ...string) string {
	h := uint64(hashStart)
	for _, part := range parts {
		h = hashPart(h, part)
	}
	key := [...]byte{'0' + version, ':', 17: 0}
	for i := len(key) - 1; i > 1; i-- {
		key[i] = "0123456789abcdef"[h&15]
		h >>= 4
	}
	return string(key[:])
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
