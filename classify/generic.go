package classify

import (
	"strings"

	"github.com/redrive/redrive/failure"
)

// genericTypes are the names of types that stand for any failure, without what is before the last dot and in small letters.
// Beside a message they say little; alone they say nothing, whatever words they are made of.
var genericTypes = map[string]bool{
	"sqlexception": true, "sqlerror": true, "mysqlerror": true, "uncategorizedsqlexception": true, "dataerror": true, "programmingerror": true,
	"dataaccessexception": true, "undeclaredthrowableexception": true, "domainexception": true, "coreerror": true, "clienterror": true,
	"interfaceerror": true, "databaseerror": true, "operationalerror": true, "serviceexception": true, "dbexception": true,
}

// nothingSaid reports whether a text is nothing but the name of a generic type.
func nothingSaid(text string) bool {
	name := strings.TrimRight(text, ": \t\r\n")
	if len(name) > 80 || strings.ContainsAny(name, " \t\n") {
		return false
	}
	return genericTypes[strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])]
}

// unsaid takes back what words of a generic type's name alone have decided.
func (r *reader) unsaid(out *Classification, best int) bool {
	if best < 0 || r.hits[best].rank != RankPattern || strings.HasPrefix(out.Rule, ownPrefix) || len(r.e.Stderr)+len(r.e.Stdout)+len(r.e.Details) > 0 ||
		!nothingSaid(r.e.Message) {
		return false
	}
	*out = Classification{
		Class: failure.UnknownError, Verdict: failure.UnknownError.Verdict(), Rank: RankPattern, Rule: "type.generic", Saw: r.e.Message, Code: out.Code, Hint: out.Hint,
		Outranked: [3]Outranked{{Rule: out.Rule, Class: out.Class, Rank: out.Rank, Saw: out.Saw}},
	}
	return true
}
