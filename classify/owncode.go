package classify

import "strings"

// codesIn looks for the codes of the policy in a text: a code that the text contains as a whole
// word, and codes that the built-in rules have found there, such as pg.40001. before is the number of
// hits before the text was read.
func (r *reader) codesIn(text string, before int) {
	for i := range r.c.rules.Codes {
		rule := &r.c.rules.Codes[i]
		if rule.Code == "" || !forKind(rule.Kinds, r.kind) {
			continue
		}
		if at := codeIn(text, rule.Code); at >= 0 {
			r.foundCode(i, rule.Code, int32(at), 0)
			continue
		}
		for h := before; h < len(r.hits); h++ {
			if r.hits[h].code != "" && isOwnCode(r.hits[h].rule, rule.Code) {
				r.foundCode(i, r.hits[h].saw, r.hits[h].offset, r.hits[h].weight)
				break
			}
		}
	}
}

// foundCode adds a hit for a code of the policy. It takes precedence over the built-in hit of the given weight.
func (r *reader) foundCode(i int, saw string, offset int32, builtin int) {
	r.add(hit{rule: r.c.ids.codes[i], class: r.c.rules.Codes[i].Class, rank: RankText, weight: max(wOwnCode, builtin+1), saw: saw, order: int32(i + 1), offset: offset})
}

// isOwnCode reports whether the rule of a code, such as pg.40001, is the wanted one, with or without its
// family.
func isOwnCode(found, wanted string) bool {
	_, name, _ := strings.Cut(found, ".")
	return strings.EqualFold(found, wanted) || strings.EqualFold(name, wanted)
}

// codeIn returns where a text contains a code as a whole word, or -1. A code of small letters alone, or
// of digits alone, is a word or a number of prose as well; it counts only as a quoted text or after '='.
func codeIn(text, code string) int {
	plain := strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") == "" || strings.Trim(code, "0123456789") == ""
	for from := 0; ; {
		i := strings.Index(text[from:], code)
		if i < 0 {
			return -1
		}
		start, end := from+i, from+i+len(code)
		before, after := byte(' '), byte(' ')
		if start > 0 {
			before = text[start-1]
		}
		if end < len(text) {
			after = text[end]
		}
		switch {
		case isCodeByte(before) || isCodeByte(after) && (after != '.' || end+1 < len(text) && isCodeByte(text[end+1])):
		case !plain, before == '"' && after == '"', before == '=':
			return start
		}
		from = start + 1
	}
}

// isCodeByte reports whether a byte can be a part of a longer code.
func isCodeByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
