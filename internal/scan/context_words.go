package scan

import (
	"strings"
	"unicode/utf8"
)

// directive finds the value in a line of a configuration such as "bindpw secret".
func (s *scanner) directive(k int) (from, to int) {
	end := int(s.dst[k].End)
	if c := s.at(end); c != ' ' && c != '\t' || s.isWord(k, "pw") && (k == 0 || !s.dst[k].Glued || s.at(int(s.dst[k].Start)-1) != '_') {
		return end, end
	}
	from, to = s.next(end)
	if to-from < 3 || s.is(from)&(cAlnum|cHigh) == 0 || s.harmless(from) {
		return end, end
	}
	return from, to
}

// sentence finds the password after the word password, in a sentence or a prompt: "Password for
// anna@db: x", "the password is x", "login anna password x".
func (s *scanner) sentence(k int) (from, to int) {
	end := int(s.dst[k].End)
	if c := s.at(end); c != ' ' {
		if c == ',' || c == ';' || c == '\t' || s.endsLine(end) {
			s.rows(k)
		}
		return end, end
	}
	word, after := s.wordAfter(end)
	switch word {
	case "for", "of", "to", "für", "para", "pour":
		return s.prompt(after)
	case "is", "was", "es", "est", "ist", "war", "set", "é", "=", "lautet", "lautete", "heißt", "era", "fue", "était":
		return s.stated(after)
	}
	from, to = s.next(end)
	switch {
	case to-from == 1 && isDigit(s.text[from]) && s.at(to) == ' ': // the number of an encryption, in the configuration of a router
		from, to = s.next(to)
	case s.afterLogin(k) && !s.harmless(from) && strings.IndexByte("=:{$<%(", s.at(from)) < 0:
	default:
		return end, end
	}
	return from, to
}

// wordAfter returns the word after a blank, in lower case, and its end.
func (s *scanner) wordAfter(i int) (word string, end int) {
	i = s.skipSpaces(i)
	end = i
	for end < len(s.text) && end < i+12 && s.is(end)&(cLetter|cHigh) != 0 {
		end++
	}
	return strings.ToLower(s.text[i:end]), end
}

// prompt finds the value in "password for anna@db: x".
func (s *scanner) prompt(i int) (from, to int) {
	rest := s.lineRest(i)
	n := strings.Index(rest, ": ")
	if at := strings.Index(rest, " = "); at >= 0 && (n < 0 || at < n) {
		n = at + 1
	}
	if n < 0 {
		return i, i
	}
	from, to = s.next(i + n + 1)
	if to-from < 4 || s.harmless(from) || !s.last(to) || strings.ContainsAny(s.text[from:to], " (") {
		return i, i
	}
	return from, to
}

// stated finds the value in "the password is x". Without a ':' it must look like a password.
func (s *scanner) stated(i int) (from, to int) {
	sure := false
	for range 2 {
		if s.at(i) == ':' {
			i, sure = i+1, true
		} else if word, end := s.wordAfter(i); word == "to" || word == "now" {
			i = end
		}
	}
	from, to = s.next(i)
	if !s.harmless(from) && (s.looksSecret(from, to) || sure && s.last(to) && to-from >= 4) {
		return from, to
	}
	return i, i
}

// afterLogin reports whether the words before the token k are those of a .netrc file: login and a
// name.
func (s *scanner) afterLogin(k int) bool {
	for n := k - 1; n >= max(0, k-8); n-- {
		if s.isWord(n, "login") || s.isWord(n, "machine") {
			return true
		}
	}
	return false
}

// foreignNames are the words for a password in other languages, or their first characters in
// scripts without spaces.
const foreignNames = "contraseña пароль парола пароля hasło lösenord şifre jelszó khẩu πρόσβασης κωδικός lozinka סיסמה סיסמא parolă " +
	"비밀번호 암호 密 口 暗 パ รหัสผ่าน ร หรัส clave sandi laluan slaptažodis المرور السر पासवर्ड পাসওয়ার্ড گذرواژه عبور лозинка  პაროლი գաղտնաբառ " +
	"lykilorð fjalëkalim fjalëkalimi şifrə parolul கடவுச்சொல்"

// denseNames are the words for a password in scripts that write without spaces.
var denseNames = [...]string{"密码", "密碼", "口令", "暗証番号", "暗号", "パスワード", "パスフレーズ", "รหัสผ่าน"}

// foreignName finds the value after a name such as contraseña or 密码.
func (s *scanner) foreignName(k int) (from, to int) {
	t := &s.dst[k]
	start, end := int(t.Start), int(t.End)
	if r, _ := utf8.DecodeRuneInString(s.text[start:]); isDense(r) {
		end = 0
		for _, name := range denseNames {
			if strings.HasPrefix(s.text[start:], name) {
				end = start + len(name)
			}
		}
		if end == 0 {
			return start, start
		}
	}
	if strings.HasPrefix(s.text[end:], "「") {
		from = end + len("「")
		if n := strings.Index(s.text[from:min(len(s.text), from+lineMax)], "」"); n >= 4 && s.is(from)&cHigh == 0 {
			return from, from + n
		}
	}
	if s.at(end) == ' ' {
		if from, to = s.next(end); s.is(from)&cHigh == 0 && s.passwordLike(from, to) {
			return from, to
		}
	}
	if from, to = s.linked(start, end); from == to && s.at(end) == ' ' {
		if from, to = s.prompt(end); from < to && s.is(from)&cHigh != 0 {
			return end, end // a sentence in the same language
		}
	}
	return from, to
}

// linked returns the value after a name and a ':', '=' or a verb.
func (s *scanner) linked(start, end int) (from, to int) {
	i := s.skipSpaces(s.afterQuote(end))
	switch {
	case s.at(i) == ':' || s.at(i) == '=':
		i++
	case s.linkWord(i) > 0:
		n := s.linkWord(i)
		if s.text[i] < utf8.RuneSelf && !s.passwordLike(s.next(i+n)) || s.text[i] >= utf8.RuneSelf && !isColon(s.text[i:]) && s.is(i+n)&cHigh != 0 {
			return end, end
		}
		i += n
	default:
		return end, end
	}
	return s.value(start, sureKey, link{value: i, tight: true})
}

// isColon reports whether a text begins with a wide ':' or '='.
func isColon(text string) bool {
	return strings.HasPrefix(text, "：") || strings.HasPrefix(text, "＝")
}

// linkWord returns the length of a foreign ':' or '=' or of a verb at i, or 0.
func (s *scanner) linkWord(i int) int {
	for _, word := range [...]string{"：", "＝", "は", "是", "为", "為", "es ", "est ", "ist ", "é ", "is ", "è "} {
		if strings.HasPrefix(s.text[i:], word) {
			return len(word)
		}
	}
	return 0
}

func (s *scanner) attribute(k int) (from, to int) {
	end := int(s.dst[k].End)
	i := s.skipSpaces(s.afterQuote(end))
	if c := s.at(i); c == '=' || c == ':' {
		i = s.skipSpaces(i + 1)
	} else if c == '>' {
		return s.pairOfElements(i + 1)
	} else if !isQuote(c) || i == end {
		return end, end
	}
	i = s.afterQuote(i)
	j := i
	for j < i+64 && s.is(j)&(cAlnum|cJoin|cDot) != 0 {
		j++
	}
	level := noKey
	if j > i+1 {
		level = strengthOf(s.text[i:j])
	}
	switch level {
	case sureKey, tokenKey, hintKey, pinKey:
	default:
		return end, end
	}
	rest := s.text[j:min(len(s.text), j+160)]
	if n := blankLine(rest); n > 0 && strings.IndexByte(rest[:n], ':') < 0 {
		return s.attributeValue(i, j+n, level)
	}
	if n := strings.IndexByte(rest, '>'); n >= 0 && n <= 4 && s.at(j+n-1) != '/' && s.at(j+n-1) != '=' {
		return s.value(i, level, link{value: j + n + 1, tight: true, element: true})
	}
	for n := 0; n < len(rest)-6; n++ {
		switch rest[n] {
		case '>', '}', '<':
			return end, end
		case 'v', 'V', 'c', 'd':
			if length := valueWord(rest[n:]); length > 0 && (classOf[rest[max(n-1, 0)]]&cAlnum == 0 || rest[n] == 'V') {
				at := s.skipSpaces(s.afterQuote(j + n + length))
				if s.at(at) == '=' || s.at(at) == ':' {
					return s.attributeValue(i, at+1, level)
				}
			}
		}
	}
	return end, end
}

// pairOfElements finds the value in <key>Password</key><string>x</string>; the name begins at i.
func (s *scanner) pairOfElements(i int) (from, to int) {
	j := i
	for j < i+64 && s.is(j)&(cAlnum|cJoin|cDot) != 0 {
		j++
	}
	level := noKey
	if s.at(j) == '<' && s.at(j+1) == '/' && j > i {
		level = strengthOf(s.text[i:j])
	}
	if level == noKey {
		return i, i
	}
	rest := s.text[j:min(len(s.text), j+80)]
	first := strings.IndexByte(rest, '>')
	if first < 0 {
		return i, i
	}
	n := strings.IndexByte(rest[first+1:], '>')
	if n < 0 {
		return i, i
	}
	return s.value(i, level, link{value: j + first + 1 + n + 1, tight: true, element: true})
}

// elementValue finds the value in <Password Value="x"/>.
func (s *scanner) elementValue(k int) (from, to int) {
	t := &s.dst[k]
	start, end := int(t.Start), int(t.End)
	if s.at(end) != '=' || start-2 < s.base || s.text[start-1] != ' ' {
		return end, end
	}
	name := start - 1
	for name > s.base && name > start-48 && s.is(name-1)&(cAlnum|cJoin|cDot|cColon) != 0 {
		name--
	}
	if name == s.base || s.text[name-1] != '<' {
		return end, end
	}
	if level := strengthOf(s.text[name : start-1]); level != noKey {
		return s.attributeValue(name, end+1, level)
	}
	return end, end
}

func (s *scanner) attributeValue(name, i int, level strength) (from, to int) {
	return s.value(name, level, link{value: i, tight: true})
}

// blankLine returns the position after the first empty line in a text that begins at the end of a
// line, or 0.
func blankLine(text string) int {
	for _, gap := range [...]string{"\n\n", "\r\n\r\n", `\r\n\r\n`, `\n\n`} {
		if n := strings.Index(text, gap); n >= 0 && n < 80 {
			return n + len(gap)
		}
	}
	return 0
}

func valueWord(text string) int {
	for _, word := range [...]string{"value", "content", "default"} {
		if hasFoldPrefix(text, word) && (len(text) == len(word) || classOf[text[len(word)]]&cAlnum == 0) {
			return len(word)
		}
	}
	return 0
}
