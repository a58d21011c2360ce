package failure

import (
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// readTexts looks at the message, at what a process has written, and, if neither
// says much, at the details.
func (r *reader) readTexts() {
	r.readText(r.e.Message)
	if len(r.e.Stderr) > 0 {
		r.readOutput(fromStderr, tail(r.e.Stderr))
	}
	if len(r.e.Stdout) > 0 {
		r.readStdout(tail(r.e.Stdout))
	}
	if len(r.e.Details) > 0 {
		if best := r.best(); best < 0 || r.hits[best].weight < wGeneric {
			r.readText(tail(r.e.Details))
		}
	}
}

// readOutput reads what a process has written.
func (r *reader) readOutput(from source, text string) {
	text = withoutNoise(text)
	r.from, r.output[from] = from, text
	r.readText(text)
	r.from = fromElsewhere
}

// readStdout reads what a process has written to its standard output. That is mostly its work
// and not a report of the failure. So it counts as any text only where nothing else says much;
// otherwise only what is said of one cause alone counts.
func (r *reader) readStdout(text string) {
	least := 0
	if best := r.best(); best >= 0 && r.hits[best].weight >= wWeak {
		least = wStrong
	}
	had, hint, traits := len(r.hits), r.hint, r.traits
	r.readOutput(fromStdout, text)
	if least == 0 {
		return
	}
	kept := r.hits[:had]
	for _, h := range r.hits[had:] {
		if h.weight >= least {
			kept = append(kept, h)
		}
	}
	if r.hits = kept; len(kept) == had {
		r.hint, r.traits = hint, traits
	}
}

// line returns the line that a hit is from, if a process wrote it and the line is no frame.
func (r *reader) line(h *hit) string {
	if h.from == fromElsewhere {
		return ""
	}
	line, worth := lineAt(r.output[h.from], int(h.offset))
	if worth <= lineFrame {
		return ""
	}
	return line
}

// tail returns the end of bytes, where errors say what happened.
func tail(b []byte) string { return string(b[max(0, len(b)-scan.Max):]) }

// readText finds the phrases of one text, and what its patterns say.
func (r *reader) readText(text string) {
	if text == "" {
		return
	}
	before := len(r.hits)
	r.forget()
	r.read = scan.Read(text)
	if r.c.builtin != nil {
		r.matcher.Run(r.c.builtin.machine, text, r.read.Tokens)
		r.context(&r.matcher)
		r.leading(&r.matcher)
		r.matches(&r.matcher, r.c.builtin)
	}
	if r.c.own != nil {
		r.own.Run(r.c.own.machine, text, r.read.Tokens)
		r.context(&r.own)
		r.matches(&r.own, r.c.own)
	}
	r.patterns(text)
	if len(r.c.rules.Codes) > 0 {
		r.codesIn(text, before)
	}
}

// leading reads a status at the beginning of a text: clients put it in front of
// the body, "429 {…}", and mail servers begin their replies with it.
func (r *reader) leading(m *phrase.Matcher) {
	if len(m.Syms) < 2 {
		return
	}
	first := &m.Tokens[m.Syms[0].Token]
	if first.Kind != scan.Number || first.Num < 400 || first.Num >= 600 || first.Glued && first.Start > 0 {
		return
	}
	saw := first.Text(m.Text)
	next := &m.Tokens[m.Syms[0].Token+1]
	code := int(first.Num)
	switch {
	case enhanced(m.TextOf(1)), code == 450, code >= 452 && code <= 454, code >= 534 && code <= 538, code >= 550 && code <= 556,
		code == 421, code == 451 && m.Word(1) != "Unavailable", code == 530 && m.Word(1) != "Site":
		r.mailStatus(code, RankText, 1, saw)
	case next.Kind == scan.Punct && strings.IndexByte("{[:<", m.Text[next.Start]) >= 0:
		r.status(code, RankText, 1, saw)
	}
}

// enhanced reports whether a word is the enhanced status code of a mail server,
// such as 5.7.1.
func enhanced(code string) bool {
	return len(code) >= 5 && (code[0] == '4' || code[0] == '5') && code[1] == '.' && strings.Count(code, ".") == 2
}

// patterns runs the policy's regular expressions.
func (r *reader) patterns(text string) {
	for i, re := range r.c.pats {
		rule := &r.c.rules.Patterns[i]
		if re == nil || !forKind(rule.Kinds, r.kind) {
			continue
		}
		if at := re.FindStringIndex(text[:min(len(text), PatternText)]); at != nil {
			r.add(hit{
				rule: r.c.ids.patterns[i], class: rule.Class, rank: RankPattern, weight: wOwnPattern, saw: text[at[0]:at[1]], order: int32(i + 1),
				offset: int32(at[0]),
			})
		}
	}
}

// matches turns what the machine has found into hits.
func (r *reader) matches(m *phrase.Matcher, set *ruleset) {
	r.regions(m, set)
	for i := range m.Found {
		f := &m.Found[i]
		rule := &set.rules[f.Rule]
		if !forKind(rule.kinds, r.kind) {
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
		default:
			r.traits |= rule.trait
			r.say(m, f, rule, place)
		}
	}
}

// say adds what a phrase says.
func (r *reader) say(m *phrase.Matcher, f *phrase.Match, rule *textRule, place int) {
	if rule.class == "" || len(r.hits) >= hitsMax {
		return
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
}

// denied returns how much less a phrase is worth that the text denies, or uses
// as the name of a setting: "no timeout", "timeout=30".
func (r *reader) denied(m *phrase.Matcher, f *phrase.Match, rule *textRule) int {
	if !rule.passes || rule.weight >= wOwnPattern {
		return 0
	}
	less := 0
	if last := int(m.Syms[f.End-1].Token); last+1 < len(m.Tokens) {
		if next := &m.Tokens[last+1]; next.Kind == scan.Punct && next.Hash == '=' {
			switch {
			case rule.weight <= wSaid+4:
				less = inQuote
			case last+2 < len(m.Tokens) && m.Tokens[last+2].Kind == scan.Number: // rate_limit=100
				return inNoise
			}
		}
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
