package scan

import "strings"

// harmless reports whether a text is not a secret value: it is a word such as null or
// expired, the beginning of a sentence, or stars that hide a value.
func (s *scanner) harmless(i int) bool {
	j := i
	for j < i+16 && (s.is(j)&cLetter != 0 || s.at(j) == '\'' && s.is(j+1)&cLetter != 0) {
		j++
	}
	if j == i {
		if s.variable(i) {
			return true
		}
		for s.at(j) == '*' {
			j++
		}
		return j > i+2 && s.is(j)&cAlnum == 0 && (s.is(j+1)&cAlnum == 0 || isQuote(s.at(j)))
	}
	switch c := s.at(j); {
	case classOf[c]&(cAlnum|cHigh|cJoin) != 0, c == '@', c == '!', c == '#', c == '$', c == '%', c == '+', c == '/', c == '=', c == '.' && s.is(j+1)&cAlnum != 0:
		return false
	}
	var buf [16]byte
	for k := i; k < j; k++ {
		buf[k-i] = lower(s.text[k])
	}
	return harmlessWords[string(buf[:j-i])]
}

// variable reports whether a value is a place for a value: ${NAME}, $NAME, $1, %s, {password},
// {{ x }}, #{x}, ?, or a note in brackets, such as (hidden).
func (s *scanner) variable(i int) bool {
	next := s.at(i + 1)
	switch s.at(i) {
	case '$', '#':
		j := i + 1
		for s.is(j)&(cUpper|cDigit) != 0 || s.at(j) == '_' {
			j++
		}
		return next == '{' || s.at(i) == '$' && (next == '(' || j > i+1 && s.is(j)&cAlnum == 0 && (allDigits(s.text[i+1:j]) || strings.IndexByte(s.text[i:j], '_') > 0 || strengthOf(s.text[i+1:j]) != noKey))
	case '%':
		return next == '(' || strings.IndexByte("sdvqx", next) >= 0 && next != 0 && s.is(i+2)&(cAlnum|cHigh) == 0
	case '{':
		j := i + 1
		for s.is(j)&cLetter != 0 || s.at(j) == '_' {
			j++
		}
		return next == '{' || j > i+1 && s.at(j) == '}' && strengthOf(s.text[i+1:j]) != noKey
	case '?':
		return s.is(i+1)&(cAlnum|cHigh) == 0
	case '(':
		return s.harmless(i + 1)
	}
	return false
}

var harmlessWords = wordSet("null none nil true false undefined missing empty required invalid incorrect wrong expired mismatch denied " +
	"failed failure error errors not is was are were has have had must can't can cannot could couldn't should shouldn't will won't would too " +
	"unauthorized rejected revoked unknown unsupported malformed unexpected bad no yes forbidden disabled this that the your you " +
	"please field value does doesn't did didn't do don't use used using got expected authentication string hidden omitted masked " +
	"or and with to in on of for from by as at via be been contains contain length minimum maximum only enter provide provided need needs unable " +
	"verification validation check checking hash matches match if when while after before because but header signature token secret key " +
	"password xxx xxxx xxxxx xxxxxx xxxxxxx xxxxxxxx " +
	"falsch abgelaufen fehlt leer erforderlich gesperrt incorrecta incorrecto caducada duplicada duplicado obligatoria obligatorio requerida vacía " +
	"requis requise invalide incorrecte manquant obligatoire errata scaduta mancante richiesta onjuist vereist verlopen incorreta obrigatória expirada " +
	"nieprawidłowe wymagane felaktigt fel forkert påkrævet virheellinen hatalı geçersiz")

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
