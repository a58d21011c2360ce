package scan

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// stemMax is the largest length in bytes of a word whose ending is removed before it is hashed.
const stemMax = 40

// stem holds the lower-case letters of a word while its hash is computed.
type stem struct {
	buf  [stemMax]byte
	n    int
	long bool
	hash uint64 // the hash of a word that is longer than stemMax
}

const (
	hashStart = 14695981039346656037 // offset basis of 64-bit FNV-1a
	hashPrime = 0x9e3779b97f4a7c15   // the factor of the hash: an odd number with evenly spread bits
)

func (w *stem) put(b byte) {
	if w.n < stemMax {
		w.buf[w.n] = b
		w.n++
		return
	}
	if !w.long {
		w.long, w.hash = true, hashBytes(hashStart, w.buf[:])
	}
	w.hash = (w.hash ^ uint64(b)) * hashPrime
}

func (w *stem) putRune(r rune) {
	var b [utf8.UTFMax]byte
	for _, c := range b[:utf8.EncodeRune(b[:], unicode.ToLower(r))] {
		w.put(c)
	}
}

// sum returns the hash. If the argument is true, sum removes the ending of the word first, see
// cut.
func (w *stem) sum(plain bool) uint64 {
	switch {
	case w.long:
		return w.hash
	case plain:
		w.cut()
	}
	return w.hashShort()
}

// hashShort returns the hash of a word of at most stemMax bytes, eight at a time.
func (w *stem) hashShort() uint64 {
	h := hashStart ^ uint64(w.n)
	i := 0
	for ; i+8 <= w.n; i += 8 {
		h = (h ^ binary.LittleEndian.Uint64(w.buf[i:i+8])) * hashPrime
		h ^= h >> 32
	}
	if i < w.n {
		last := binary.LittleEndian.Uint64(w.buf[i:i+8]) & (1<<(8*(w.n-i)&63) - 1) // the last letters of the word, without the removed ending
		h = (h ^ last) * hashPrime
		h ^= h >> 32
	}
	return h
}

func hashBytes(h uint64, bytes []byte) uint64 {
	for _, b := range bytes {
		h = (h ^ uint64(b)) * hashPrime
	}
	return h
}

// HashWord returns the hash that the scanner gives a word. It ignores case, the
// apostrophes in "can't" and "video's" and the endings of plurals and verbs. The stem
// is only used for comparisons; it need not be a real word.
func HashWord(word string) uint64 {
	var w stem
	plain := true
	for _, r := range word {
		switch {
		case r == '\'' || r == '’':
		case r >= utf8.RuneSelf:
			w.putRune(r)
			plain = false
		default:
			plain = plain && classOf[byte(r)]&cLetter != 0
			w.put(lower(byte(r)))
		}
	}
	return w.sum(plain)
}

// cut removes the endings s, es, ed, ing, a silent e and a doubled last consonant, as
// long as three letters with a vowel remain. So limit, limits, limited and limiting get
// one stem, and so do deny, denies, denied and denying.
func (w *stem) cut() {
	b, n := w.buf[:w.n], w.n
	ends := func(suffix string) bool { return len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix }
	keep := func(drop int) bool { return n-drop >= 3 && hasVowel(b[:n-drop]) }
	if n < 4 {
		return
	}
	switch b[n-1] {
	case 's':
		switch {
		case ends("ies") && n > 4:
			n -= 2
			b[n-1] = 'y'
			w.n = n
			return
		case ends("sses"), ends("xes"), ends("shes"), ends("ches"), ends("zes"):
			n -= 2
		case b[n-2] != 's' && b[n-2] != 'u' && b[n-2] != 'i':
			n--
		}
	case 'd':
		switch {
		case ends("ied") && n > 4:
			n -= 2
			b[n-1] = 'y'
			w.n = n
			return
		case ends("ed") && !ends("eed") && keep(2):
			n -= 2
		case ends("ed") && !ends("eed"):
			n--
		}
	case 'g':
		if ends("ing") && keep(3) {
			n -= 3
		}
	}
	if n > 3 && b[n-1] == 'e' && b[n-2] != 'e' && hasVowel(b[:n-1]) {
		n--
	}
	if n > 3 && b[n-1] == b[n-2] && !isVowel(b[n-1]) {
		n--
	}
	w.n = n
}

func hasVowel(b []byte) bool {
	for _, c := range b {
		if isVowel(c) || c == 'y' {
			return true
		}
	}
	return false
}

func isVowel(c byte) bool { return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' }

// word adds one word of ASCII letters and final digits. It may end with a contraction
// and its apostrophe.
func (s *scanner) word(start, end int, plain bool) {
	var w stem
	part := s.text[start:end]
	if len(part) <= stemMax {
		for i := range len(part) {
			w.buf[i] = lower(part[i])
		}
		w.n = len(part)
	} else {
		for i := range len(part) {
			w.put(lower(part[i]))
		}
	}
	s.addWord(start, end, w.sum(plain))
}

// plain adds a word of small letters between two blanks, the most common case, if no
// secret can follow it. Otherwise it does nothing and returns false.
func (s *scanner) plain(start int) bool {
	end := s.chunkEnd
	if end-start >= shapeMin || s.text[start] == localhost[0] && end-start >= len(localhost) {
		return false
	}
	if end < len(s.text) && s.mayAnnounce(start, end) {
		return false
	}
	s.small(start, end)
	return true
}

// mayAnnounce reports whether a secret may follow a word of small letters and a blank,
// see named.
func (s *scanner) mayAnnounce(start, end int) bool {
	if s.text[end] == '\t' {
		return end-start >= 2
	}
	if s.text[end] != ' ' {
		return false // no secret follows, because the blank is not between a name and its value
	}
	switch next := s.at(end + 1); {
	case next == ' ':
		return end-start >= 2
	case classOf[next]&cBlank != 0:
		return false
	case classOf[next]&(cAlnum|cHigh) == 0 || start > s.base && s.text[start-1] == '-':
		return true
	}
	first, last := s.text[start]-'a', s.text[end-1]-'a'
	return schemeEnds[first]>>last&1 != 0 || (last == 'd'-'a' || last == 'e'-'a') && end-start >= len("password")
}

// schemeEnds holds, for each first letter, one bit for each last letter of the words
// that isScheme knows.
var schemeEnds = func() (ends [26]uint32) {
	for _, name := range [...]string{"bearer", "basic", "token", "apikey", "negotiate", "ntlm", "ssws", "key"} {
		ends[name[0]-'a'] |= 1 << (name[len(name)-1] - 'a')
	}
	return ends
}()

// small adds one word of small letters.
func (s *scanner) small(start, end int) {
	if end-start > stemMax {
		s.word(start, end, true)
		return
	}
	var w stem
	w.n = copy(w.buf[:], s.text[start:end])
	s.addWord(start, end, w.sum(true))
}

// contracted adds a word with an apostrophe, which its hash ignores.
func (s *scanner) contracted(start, end int) {
	var w stem
	for i := start; i < end; i++ {
		if c := s.text[i]; classOf[c]&cAlnum != 0 {
			w.put(lower(c))
		}
	}
	s.addWord(start, end, w.sum(true))
}

func (s *scanner) addWord(start, end int, hash uint64) {
	s.dst = append(s.dst, Token{Kind: Word, Glued: s.glued, Start: int32(start), End: int32(end), Hash: hash})
	s.glued = true
}

// letters adds the words of a run of ASCII letters. It splits the run between a small letter
// and a capital, and before the last of several capitals that small letters follow. A single
// first letter stays with the next word, as in gRPC and OAuth, and so does the s of URLs. The
// mask has the classes of the letters.
func (s *scanner) letters(start, end int, mask class) int {
	last := end + s.contraction(end)
	if mask&cUpper == 0 && last == end { // this is the common case: one word in small letters
		s.small(start, end)
		return end
	}
	from := start
	for i := start + 1; i < end; i++ {
		if classOf[s.text[i]]&cUpper == 0 {
			continue
		}
		after := classOf[s.text[i-1]]&cLower != 0
		before := i+1 < end && classOf[s.text[i+1]]&cLower != 0 && (i+2 != end || s.text[i+1] != 's')
		if (after || before) && i-start != 1 {
			s.word(from, i, true)
			from = i
		}
	}
	if last > end {
		s.contracted(from, last)
	} else {
		s.word(from, end, true)
	}
	return last
}

// contraction returns the length of the ending after an apostrophe: the t of can't,
// the s of video's.
func (s *scanner) contraction(i int) int {
	quote := 0
	switch {
	case s.at(i) == '\'':
		quote = 1
	case s.at(i) == 0xe2 && s.at(i+1) == 0x80 && s.at(i+2) == 0x99:
		quote = 3
	default:
		return 0
	}
	j := i + quote
	for j < len(s.text) && j < i+quote+3 && classOf[s.text[j]]&cLetter != 0 {
		j++
	}
	if classOf[s.at(j)]&(cAlnum|cHigh) != 0 {
		return 0
	}
	switch s.text[i+quote : j] {
	case "s", "t", "d", "m", "re", "ve", "ll", "S", "T":
		return j - i
	}
	return 0
}

// foreign adds a character beyond ASCII, or the word that contains it. The ASCII letters of the
// word begin at the given position. In scripts that write without spaces each character is a
// word.
func (s *scanner) foreign(start int) int {
	r, size := utf8.DecodeRuneInString(s.text[start:])
	switch {
	case r >= utf8.RuneSelf && unicode.IsSpace(r):
		s.glued = false
		return start + size
	case r == utf8.RuneError || r >= utf8.RuneSelf && !isLetter(r):
		s.addPunct(start, start+size, uint64(r))
		return start + size
	}
	var w stem
	i, plain := start, true
	for i < len(s.text) {
		if c := classOf[s.text[i]]; c&cAlnum != 0 {
			plain = plain && c&cDigit == 0
			w.put(lower(s.text[i]))
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s.text[i:])
		if r < utf8.RuneSelf || !isLetter(r) || isDense(r) && i > start {
			break
		}
		w.putRune(r)
		i, plain = i+size, false
		if isDense(r) {
			break
		}
	}
	s.addWord(start, i, w.sum(plain))
	return i
}

func isLetter(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

func (s *scanner) addPunct(start, end int, char uint64) {
	if n := len(s.dst); n > 0 && s.glued && s.dst[n-1].Kind == Punct && s.dst[n-1].Hash == char && int(s.dst[n-1].End) == start {
		s.dst[n-1].End = int32(end)
		return
	}
	s.add(Punct, start, end)
	s.dst[len(s.dst)-1].Hash = char
}

// letterAt reports whether a letter beyond ASCII is at i.
func (s *scanner) letterAt(i int) bool {
	r, _ := utf8.DecodeRuneInString(s.text[i:])
	return isLetter(r)
}
