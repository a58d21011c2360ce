package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The statements that both SQL stores share are written for SQLite. This file
// turns one into PostgreSQL's words. It is no parser: it knows the forms that the
// shared statements use, and TestEveryStatementIsUnderstood has a server check
// every one. What it cannot translate is in overrides.go.
//
//	?1, ?                      $1, $2 …
//	+?1, +column               without the plus, which is a hint to SQLite's planner
//	INDEXED BY x, NOT INDEXED  nothing
//	INSERT OR FAIL, UPDATE OR FAIL  INSERT, UPDATE
//	redrive_x                  "schema".redrive_x, where it names a table
//	max(a, b), min(a, b)       greatest, least; parameters in them are bigint
//	WHEN ?1 THEN               WHEN $1::bigint <> 0 THEN
//	?1 IS NULL                 $1::text IS NULL: only filters by a text ask for it
//	1 << 62                    the number
//	json_each(?1) i            json_array_elements_text($1::text::json) i(value)
//	FROM (SELECT …)            with a name, which older servers want
//	DO UPDATE SET n = n + ?3   SET n = redrive_x.n + $3

// translate returns a shared statement in PostgreSQL's words, for tables of the
// given schema.
func translate(text, schema string) string {
	t := &translation{tokens: tokenize(text)}
	t.dropHints()
	t.numberParams()
	t.functions()
	t.shifts()
	t.arrays()
	t.updates()
	t.nameSubqueries()
	t.qualify(schema)
	var b strings.Builder
	for _, k := range t.tokens {
		b.WriteString(k.text)
	}
	return strings.TrimSpace(b.String())
}

// qualified returns a statement that is PostgreSQL's already, with the schema
// before the names of tables.
func qualified(text, schema string) string {
	t := &translation{tokens: tokenize(text)}
	t.qualify(schema)
	var b strings.Builder
	for _, k := range t.tokens {
		b.WriteString(k.text)
	}
	return b.String()
}

type translation struct{ tokens []token }

// is reports whether a token is a word, whatever its case, or a sign.
func (t *translation) is(i int, text string) bool {
	return i >= 0 && i < len(t.tokens) && (t.tokens[i].kind == word || t.tokens[i].kind == sign) &&
		strings.EqualFold(t.tokens[i].text, text)
}

// after returns the next token that is no space, before the one in front.
func (t *translation) after(i int) int {
	for i++; i < len(t.tokens) && t.tokens[i].kind == space; i++ {
	}
	return i
}

func (t *translation) before(i int) int {
	for i--; i >= 0 && t.tokens[i].kind == space; i-- {
	}
	return i
}

// closing returns the place of the bracket that closes the one at i.
func (t *translation) closing(i int) int {
	depth := 0
	for ; i < len(t.tokens); i++ {
		if t.is(i, "(") {
			depth++
		} else if t.is(i, ")") {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(t.tokens)
}

// blank removes tokens from i up to, and without, to.
func (t *translation) blank(i, to int) {
	for ; i < to && i < len(t.tokens); i++ {
		t.tokens[i] = token{kind: space}
	}
}

func (t *translation) dropHints() {
	for i := range t.tokens {
		next := t.after(i)
		switch {
		case t.is(i, "INDEXED") && t.is(next, "BY"):
			t.blank(i, t.after(next)+1)
		case t.is(i, "NOT") && t.is(next, "INDEXED"):
			t.blank(i, next+1)
		case t.is(i, "OR") && t.is(next, "FAIL"):
			t.blank(i, next+1)
		case t.is(i, "+") && t.unary(i):
			t.blank(i, i+1)
		}
	}
}

// unary reports whether a plus has nothing before it that it could add to.
func (t *translation) unary(i int) bool {
	b := t.before(i)
	if b < 0 {
		return true
	}
	switch k := t.tokens[b]; k.kind {
	case number, literal, param:
		return false
	case word:
		return keyword(k.text)
	default:
		return k.text != ")"
	}
}

func (t *translation) numberParams() {
	last := 0
	for i, k := range t.tokens {
		if k.kind != param {
			continue
		}
		n, err := strconv.Atoi(k.text[1:])
		if err != nil { // a bare one follows the highest before it
			n = last + 1
		}
		last = max(last, n)
		t.tokens[i].text = "$" + strconv.Itoa(n)
		if t.is(t.before(i), "WHEN") && t.is(t.after(i), "THEN") {
			t.tokens[i].text += "::bigint <> 0"
		}
		if next := t.after(i); t.is(next, "IS") && t.is(t.after(next), "NULL") {
			t.tokens[i].text += "::text"
		}
	}
}

// functions gives max and min of several values the names that PostgreSQL has
// for them.
func (t *translation) functions() {
	for i := range t.tokens {
		name := ""
		switch {
		case t.is(i, "max"):
			name = "greatest"
		case t.is(i, "min"):
			name = "least"
		}
		open := t.after(i)
		if name == "" || !t.is(open, "(") {
			continue
		}
		end, depth, several := t.closing(open), 0, false
		for j := open; j < end; j++ {
			switch {
			case t.is(j, "("):
				depth++
			case t.is(j, ")"):
				depth--
			case t.is(j, ",") && depth == 1:
				several = true
			}
		}
		if !several {
			continue
		}
		t.tokens[i].text = name
		for j := open; j < end; j++ {
			if t.tokens[j].kind == param {
				t.tokens[j].text += "::bigint"
			}
		}
	}
}

// shifts computes what overflows PostgreSQL's integers.
func (t *translation) shifts() {
	for i := range t.tokens {
		left, right := t.before(i), t.after(i)
		if !t.is(i, "<<") || t.tokens[left].kind != number || t.tokens[right].kind != number {
			continue
		}
		a, err1 := strconv.ParseInt(t.tokens[left].text, 10, 64)
		b, err2 := strconv.Atoi(t.tokens[right].text)
		if err1 != nil || err2 != nil {
			continue
		}
		t.tokens[left].text = strconv.FormatInt(a<<b, 10)
		t.blank(left+1, right+1)
	}
}

// arrays replaces SQLite's function for the elements of a JSON array. Its argument is a
// parameter, and an alias follows.
func (t *translation) arrays() {
	for i := range t.tokens {
		open := t.after(i)
		if !t.is(i, "json_each") || !t.is(open, "(") {
			continue
		}
		t.tokens[i].text = "json_array_elements_text"
		t.tokens[t.after(open)].text += "::text::json"
		t.tokens[t.after(t.closing(open))].text += "(value)"
	}
}

// updates names the table before the columns that a DO UPDATE reads, which could
// be those of the row that was to be inserted.
func (t *translation) updates() {
	table, from := "", -1
	for i := range t.tokens {
		switch next := t.after(i); {
		case t.is(i, "INTO"):
			table = t.tokens[min(next, len(t.tokens)-1)].text
		case t.is(i, "DO") && t.is(next, "UPDATE"):
			from = t.after(t.after(next)) // behind SET
		}
	}
	if from < 0 {
		return
	}
	target, depth := true, 0 // a column that is set follows
	for i := from; i < len(t.tokens); i++ {
		switch k := t.tokens[i]; {
		case t.is(i, "RETURNING"):
			return
		case t.is(i, "("):
			depth++
		case t.is(i, ")"):
			depth--
		case t.is(i, ",") && depth == 0:
			target = true
		case t.is(i, "=") && target:
			target = false
		case t.is(i, "WHERE"):
			target = false
		case k.kind == word && !target && !keyword(k.text) && !t.is(t.after(i), "(") &&
			!t.is(t.after(i), ".") && !t.is(t.before(i), "."):
			t.tokens[i].text = table + "." + k.text
		}
	}
}

func (t *translation) nameSubqueries() {
	n := 0
	for i := range t.tokens {
		open := t.after(i)
		if !t.is(open, "(") || !t.is(i, "FROM") && !t.is(i, "JOIN") && !t.is(i, ",") || !t.is(t.after(open), "SELECT") {
			continue
		}
		if t.is(i, ",") && !t.inFrom(i) {
			continue
		}
		end := t.closing(open)
		if end >= len(t.tokens) {
			continue
		}
		next := t.after(end)
		if next < len(t.tokens) && t.tokens[next].kind == word && (!keyword(t.tokens[next].text) || t.is(next, "AS")) {
			continue
		}
		n++
		t.tokens[end].text += fmt.Sprintf(" AS part%d", n)
	}
}

// inFrom reports whether the comma at i is between tables.
func (t *translation) inFrom(i int) bool {
	depth := 0
	for i--; i >= 0; i-- {
		switch {
		case t.is(i, ")"):
			depth++
		case t.is(i, "("):
			if depth--; depth < 0 {
				return false
			}
		case depth > 0:
		case t.is(i, "FROM"):
			return true
		case t.is(i, "SELECT"), t.is(i, "WHERE"), t.is(i, "SET"), t.is(i, "BY"), t.is(i, "VALUES"), t.is(i, "HAVING"):
			return false
		}
	}
	return false
}

// qualify writes the schema before the names of tables: redrive_ words behind
// FROM, JOIN, INTO, UPDATE, USING, or a comma between tables.
func (t *translation) qualify(schema string) {
	prefix := quote(schema) + "."
	for i, k := range t.tokens {
		if k.kind != word || !strings.HasPrefix(k.text, "redrive_") || t.is(t.after(i), ".") {
			continue
		}
		b := t.before(i)
		if t.is(b, "FROM") || t.is(b, "JOIN") || t.is(b, "INTO") || t.is(b, "UPDATE") || t.is(b, "USING") || t.is(b, "ONLY") ||
			t.is(b, "TABLE") || t.is(b, ",") && t.inFrom(b) {
			t.tokens[i].text = prefix + k.text
		}
	}
}

// quote returns an identifier in quotes.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// keyword reports whether a word belongs to the language, of those that shared
// statements use.
func keyword(s string) bool {
	_, found := slices.BinarySearch(keywords, strings.ToUpper(s))
	return found
}

var keywords = []string{
	"ALL", "AND", "AS", "ASC", "BETWEEN", "BY", "CASE", "CONFLICT", "CROSS", "DELETE", "DESC", "DISTINCT", "DO", "ELSE", "END",
	"EXCLUDED", "EXISTS", "FALSE", "FILTER", "FOR", "FROM", "GROUP", "HAVING", "IN", "INNER", "INSERT", "INTO", "IS", "JOIN",
	"LEFT", "LIKE", "LIMIT", "NOT", "NOTHING", "NULL", "OFFSET", "ON", "OR", "ORDER", "RETURNING", "SELECT", "SET", "THEN",
	"TRUE", "UNION", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "WITH",
}
