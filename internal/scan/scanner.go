package scan

func (s *scanner) run(i int) {
	for i < len(s.text) {
		c := classOf[s.text[i]]
		switch {
		case c&cSpace != 0:
			i = s.space(i)
		case c&cNewline != 0:
			i = s.newline(i)
		default:
			if i >= s.chunkEnd {
				if s.chunk(i); s.mask == cLower && s.plain(i) {
					i = s.chunkEnd
					continue
				}
			}
			if c&(cAlnum|cHigh) != 0 {
				i = s.name(i)
			} else {
				i = s.punct(i)
			}
		}
	}
}

// chunk reads the characters up to the next white space.
func (s *scanner) chunk(i int) {
	var mask class
	for ; i < len(s.text); i++ {
		c := classOf[s.text[i]]
		if c&cBlank != 0 {
			break
		}
		mask |= c
	}
	s.chunkEnd, s.mask = i, mask
}

// secret adds the text between i and a secret, and then the secret. If the sanitiser has
// already replaced the value by a mark, the mark becomes the secret.
func (s *scanner) secret(i, from, to int) int {
	if end, kind := s.placeholder(from); end > from && kind == Secret {
		to = end
	}
	text, end, mask := s.text, s.chunkEnd, s.mask
	s.text, s.chunkEnd = text[:from], i
	s.run(i)
	s.text, s.chunkEnd, s.mask = text, end, mask
	s.add(Secret, from, to)
	return to
}

// space skips white space, control characters and escape sequences for terminal
// colours.
func (s *scanner) space(i int) int {
	s.glued = false
	if s.text[i] == 0x1b && s.at(i+1) == '[' {
		for j := i + 2; j < min(len(s.text), i+16); j++ {
			if classOf[s.text[j]]&cLetter != 0 {
				return j + 1
			}
		}
	}
	return i + 1
}

func (s *scanner) newline(i int) int {
	start := i
	for i < len(s.text) && classOf[s.text[i]]&cNewline != 0 {
		i++
	}
	s.addNewline(start, i)
	return i
}
