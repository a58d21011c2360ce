package classify

import (
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/phrase"
)

// matches turns what the machine has found into hits.
func (r *reader) matches(m *phrase.Matcher, set *ruleset) {
	r.unnamed = notLooked
	r.regions(m, set)
	for i := range m.Found {
		f := &m.Found[i]
		rule := &set.rules[f.Rule]
		if !forKind(rule.kinds, r.kind) || set == r.c.structured && rule.trait&(readStatus|readExit) == 0 {
			continue
		}
		place := r.place(f)
		if place <= -inNoise || rule.trait&codesOnly != 0 && place < inCode && !r.coded {
			continue
		}
		if rule.trait&ingForm != 0 && !strings.Contains(strings.ToLower(m.Saw(f)), "ing") {
			continue
		}
		switch {
		case rule.trait&(readStatus|readReply|readExit|readErrno|readWinError|readSQLState|readMySQL|readCurl) != 0:
			from := len(r.hits)
			r.number(m, f, rule, m.Saw(f))
			for k := from; k < len(r.hits); k++ {
				r.hits[k].weight += place
				r.hits[k].offset = m.Offset(f)
			}
		case rule.trait&readHint != 0:
			r.readHint(m, f)
		case rule.trait&readLimit != 0:
			if m.Number(f.Held[1]) > m.Number(f.Held[0]) && m.Number(f.Held[0]) > 0 {
				r.add(hit{rule: rule.id, class: rule.class, rank: RankText, weight: rule.weight, saw: m.Saw(f), at: f.End, offset: m.Offset(f)})
			}
		case rule.rank == RankType && !wholeName(m, f):
		default:
			r.traits |= rule.trait
			r.say(m, f, rule, place)
		}
	}
}

// wholeName reports whether what was found is one name and not some words of a sentence, or a part of a longer name.
func wholeName(m *phrase.Matcher, f *phrase.Match) bool {
	saw, start := m.Saw(f), int(m.Offset(f))
	if strings.ContainsAny(saw, " \t\r\n") {
		return false
	}
	inName := func(i int) bool {
		if i < 0 || i >= len(m.Text) {
			return false
		}
		c := m.Text[i]
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
	}
	return !inName(start-1) && !inName(start+len(saw))
}

// say adds what a phrase says.
func (r *reader) say(m *phrase.Matcher, f *phrase.Match, rule *textRule, place int) {
	if rule.class == "" || len(r.hits) >= hitsMax || rule.class == failure.ContentViolation && notice(m, f) {
		return
	}
	if rule.weight < wOwnPattern && partOfName(m, f) {
		place -= inQuote
	}
	r.hits = append(r.hits, hit{})
	h := &r.hits[len(r.hits)-1] // in place: to copy it would cost as much as to make it
	h.rule, h.class, h.rank, h.trait, h.saw, h.at, h.order = rule.id, rule.class, rule.rank, rule.trait, m.Saw(f), f.End, rule.order
	if rule.trait&readName != 0 {
		h.code, h.rank = rule.id, RankText
	}
	h.from, h.offset = r.from, m.Offset(f)
	h.final = !rule.passes
	h.weight = rule.weight + place - r.denied(m, f, rule) - r.doubted(rule)
	r.ordered = r.ordered || h.order > 0
	if rule.class == failure.NotFound && rule.weight < wOwnPattern && r.nameless(m) {
		h.withoutName()
	}
}

// denied returns how much less a phrase is worth that the text denies, or uses
// as the name of a setting: "no timeout", "timeout=30".
func (r *reader) denied(m *phrase.Matcher, f *phrase.Match, rule *textRule) int {
	if !rule.passes || rule.weight >= wOwnPattern {
		return 0
	}
	less := 0
	switch is, number := setting(m, f); {
	case is && number: // rate_limit=100
		return inNoise
	case is && rule.weight <= wSaid+4:
		less = inQuote
	}
	if denies(m, f) {
		return inHistory
	}
	for i := f.Start - 1; i >= 0 && i >= f.Start-2 && m.Syms[i+1].Gap == phrase.NoGap; i-- {
		switch m.Word(int(i)) {
		case "no", "not", "without", "isn't", "wasn't", "non", "never":
			return inHistory
		case "a", "an", "the", "any", "due", "because":
		default:
			return less
		}
	}
	return less
}

// number reads what a held number says.
func (r *reader) number(m *phrase.Matcher, f *phrase.Match, rule *textRule, saw string) {
	held := f.Held[1]
	n := m.Number(held)
	if held < 0 && rule.trait&readStatus != 0 { // the status is a word of the phrase
		for i := f.Start; i < f.End && n < 0; i++ {
			n = m.Number(i)
		}
	}
	at := f.End
	switch {
	case rule.trait&readStatus != 0:
		if n >= 400 && n < 600 {
			if r.mailReply(m, f) {
				r.mailStatus(int(n), RankText, at, saw)
			} else {
				r.status(int(n), RankText, at, saw)
			}
		}
	case rule.trait&readReply != 0:
		if enhanced(m.TextOf(held)) {
			r.mailStatus(int(m.Number(f.Held[0])), RankText, at, saw)
		}
	case rule.trait&readExit != 0:
		r.exit(n, RankText, at, saw)
	case rule.trait&readErrno != 0:
		r.errnoNumber(n, RankText, at, saw, 0)
	case rule.trait&readWinError != 0:
		if name := winErrors[n]; name != "" && n >= 2 {
			r.errno(name, RankText, at, saw, 0)
		}
	case rule.trait&readCurl != 0:
		if x, ok := statusOf(curlExits, int(n)); ok {
			r.add(hit{rule: "curl", class: x.class, rank: RankText, weight: x.weight, at: at, saw: saw})
		}
	case rule.trait&readSQLState != 0:
		if f.Held[0] != held && !m.InParens(held) {
			return // ERROR 1213 (40001)
		}
		r.sqlState(m.TextOf(held), at, saw)
		if f.Held[0] != held {
			r.sqlState(m.TextOf(f.Held[0]), at, saw)
		}
	case rule.trait&readMySQL != 0:
		r.vendor(m, f, n, saw)
	}
}

// sqlState reads five characters of a text as a SQLSTATE.
func (r *reader) sqlState(code string, at int32, saw string) {
	if len(code) != 5 || strings.ToUpper(code) != code || !strings.ContainsAny(code, "0123456789") {
		return
	}
	if s, ok := sqlClassOf(code); ok {
		r.add(hit{rule: s.rule, class: s.class, rank: RankText, weight: s.weight, at: at, saw: saw, code: code})
	}
}

// vendor reads an error number of a database; the phrase says of which.
func (r *reader) vendor(m *phrase.Matcher, f *phrase.Match, n int64, saw string) {
	table, rule := mysqlErrors, "mysql"
	switch word := strings.ToLower(m.Word(int(f.Start))); word {
	case "ora", "oracle":
		table, rule = oracleErrors, "oracle"
		if n < 0 {
			n = digits(m.TextOf(f.Held[1]))
		}
	case "msg", "mssql", "sqlserver", "tsql", "sqlclient", "server", "number":
		table, rule = mssqlErrors, "mssql"
	case "error", "errno", "code", "er", "query", "general":
		if n < 1000 || n > 4999 {
			return
		}
		switch own := word == "error" || word == "code"; {
		case own && tellsOfSQL(m, f):
		case len(m.Syms) == 3: // "error code: 1015" is all that a proxy's page says
			table, rule = edgeErrors, "edge"
		case own:
			return // every program numbers its errors
		}
	}
	if v, ok := vendorOf(table, n); ok {
		r.add(hit{rule: rule, class: v.class, rank: RankText, weight: v.weight, at: f.End, saw: saw})
	}
}

// tellsOfSQL reports whether the number of an error is one of a database: a SQLSTATE
// follows in parentheses, or the words around it speak of tables, queries and the like.
func tellsOfSQL(m *phrase.Matcher, f *phrase.Match) bool {
	const around = 40 // words on each side: far ones tell of something else
	held := int(f.Held[0])
	if next := held + 1; next < len(m.Syms) && m.InParens(int32(next)) && len(m.TextOf(int32(next))) == 5 {
		return true
	}
	for i := max(held-around, 0); i < min(held+around, len(m.Syms)); i++ {
		word := m.Word(i)
		if slices.ContainsFunc(wordsOfSQL, func(w string) bool { return strings.EqualFold(w, word) }) {
			return true
		}
	}
	return false
}

// wordsOfSQL are words by which a text tells that it is about a database.
var wordsOfSQL = []string{
	"sql", "mysql", "mariadb", "sqlstate", "innodb", "myisam", "percona", "galera", "database", "db", "table", "column", "query",
	"row", "rows", "record", "transaction", "deadlock", "lock", "duplicate", "foreign", "connections", "binlog", "replica",
}

// digits reads the digits at the end of a name.
func digits(s string) int64 {
	n, any := int64(0), false
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' && n < 1<<40 {
			n, any = n*10+int64(c-'0'), true
		}
	}
	if !any {
		return -1
	}
	return n
}
