package page

import (
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/joblink"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// moment is a time in the form in which a page shows it: relative, with the exact time beside it.
type moment struct {
	ISO, Exact, Text string
}

// momentOf returns a time as a page shows it. The zero time is shown as "-".
func momentOf(zone *time.Location, now, at job.Micros) moment {
	if at == 0 {
		return moment{Text: "-"}
	}
	exact := at.Time().In(zone).Format("Mon 2 Jan 2006, 15:04:05 ") + zoneName(zone, at)
	return moment{ISO: at.Time().UTC().Format(time.RFC3339), Exact: exact, Text: words.Away(at, now)}
}

// badge is a state with the symbol that stands beside its word.
type badge struct {
	Word, Symbol, Class string
	Loud                bool
}

// symbols has the names of the symbols, and of the colours, of the words that have others than
// their own.
var symbols = map[string]string{
	"canary": "running", "ramping": "running", "settling": "running", "stopped": "warn", "ended": "warn", "working": "running", "idle": "waiting", "keeping": "waiting",
	"silent": "dead", "sick": "warn", "quiet": "paused", "met": "completed", "missed": "warn", "draining": "draining", "redriving": "running", "assigned": "seen", "on": "completed", "off": "paused",
}

var colours = map[string]string{
	"canary": "redriving", "ramping": "redriving", "settling": "redriving", "stopped": "failed", "ended": "partial", "silent": "dead", "sick": "partial", "quiet": "paused",
	"working": "running", "draining": "paused", "on": "completed", "off": "paused",
}

func badgeOf(word string) badge {
	b := badge{Word: word, Symbol: word, Class: word}
	if s := symbols[word]; s != "" {
		b.Symbol = s
	}
	if c := colours[word]; c != "" {
		b.Class = c
	}
	return b
}

// funcs returns the functions of the templates. Times are written in the zone.
func (p *Pages) funcs(zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"asset":       func(name string) string { return p.o.Base + p.assets[name].path },
		"when":        func(now, at job.Micros) moment { return momentOf(zone, now, at) },
		"links":       func(j *job.Job, now job.Micros) []joblink.Link { return joblink.Of(p.o.Links, j, now) },
		"badge":       badgeOf,
		"batchBadge":  batchBadgeOf,
		"batchName":   words.BatchName,
		"loud":        func(word string) badge { b := badgeOf(word); b.Loud = true; return b },
		"number":      words.Number,
		"count":       words.Count,
		"clean":       words.Clean,
		"slot":        slotTime,
		"priorities":  func() []string { return []string{"1", "2", "3", "4"} },
		"para":        words.CleanBlock,
		"lines":       func(b []byte) string { return words.CleanBlock(string(b)) },
		"short":       func(n int, s string) string { return words.Shorten(words.Clean(words.FirstLine(s)), n) },
		"brief":       func(n int, s string) string { return words.Shorten(words.Clean(s), n) }, // keeps a blank at the beginning
		"dollars":     words.Dollars,
		"span":        words.Span,
		"group":       words.ShortGroup,
		"cause":       func(g redrive.Group) string { return causeOf(&g) },
		"nextStep":    nextStep,
		"personFirst": personFirst,
		"path":        url.PathEscape,
		"pretty":      pretty,
		"lower":       strings.ToLower,
		"i64":         func(n int) int64 { return int64(n) },
		"state":       func(g redrive.Group) string { return string(g.State()) },
		"spark":       sparkOf,
		"clock":       func(at job.Micros) string { return at.Time().In(zone).Format("15:04:05") },
		"len64":       func(list any) int64 { return int64(reflect.ValueOf(list).Len()) },
		"states":      func() []string { return queueStates },
		"dict":        dict,
		"auditLine":   auditLineOf,
		"noteTitle":   func(n redrive.Note, now job.Micros) string { return words.Clean(words.NoteTitle(&n, now)) },
	}
}

// queueStates are the states whose numbers the list of queues shows.
var queueStates = []string{job.Waiting.String(), job.Retrying.String(), job.Running.String(), job.Dead.String()}

// dict returns a map from names and values in turn, for a template that takes several values.
func dict(pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is not a name", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// auditLine is an action in words, with the path of the page about its object.
type auditLine struct {
	words.AuditLine
	Path string
}

// auditLineOf returns an action in words, for templates.
func auditLineOf(e redrive.AuditEntry) auditLine {
	l := auditLine{AuditLine: words.AuditOf(&e)}
	switch l.What {
	case "job":
		l.Path = "/ui/jobs/" + url.PathEscape(e.Target)
	case "redrive":
		l.Path = "/ui/redrives/" + url.PathEscape(e.Target)
	case "group":
		l.Path = "/ui/groups/" + url.PathEscape(e.Target)
	case "queue":
		l.Path = "/ui/queues/" + url.PathEscape(e.Target)
	case "batch":
		l.Path = "/ui/batches/" + url.PathEscape(strings.TrimPrefix(e.Target, "batch "))
	}
	return l
}

// auditRows is a part of a page: actions of people, of redrives and of the retention.
type auditRows struct {
	Base string
	Now  job.Micros
	Rows []redrive.AuditEntry
	List bool // the rows are the list of a page: new ones are counted, not inserted
}

// AuditRows returns the part of the page with the latest actions.
func (v *overviewView) AuditRows() auditRows {
	return auditRows{Base: v.Base, Now: v.Now, Rows: v.Happened}
}

// AuditRows returns the rows of the list of actions.
func (v *auditView) AuditRows() auditRows {
	return auditRows{Base: v.Base, Now: v.Now, Rows: v.Rows, List: true}
}

// AuditRows returns the part of the page with the actions on the cause.
func (v *groupView) AuditRows() auditRows { return auditRows{Base: v.Base, Now: v.Now, Rows: v.Audit} }

// AuditRows returns the part of the page with the actions on the job.
func (v *jobView) AuditRows() auditRows { return auditRows{Base: v.Base, Now: v.Now, Rows: v.Audit} }

// causeOf returns the line that names a cause.
func causeOf(g *store.Group) string {
	return words.Shorten(words.Clean(words.GroupCause(g)), causeMax)
}

// causeMax is the largest number of characters of the name of a cause.
const causeMax = 140

// pretty returns JSON with one member a line, and any other text as it is. Bytes that are not text
// are shown by their codes.
func pretty(b []byte) string {
	if len(b) <= prettyMax && utf8.Valid(b) {
		b = words.Lay(b)
	}
	return words.CleanBlock(string(b))
}

// prettyMax is the largest size in bytes of JSON that is written with one member a line.
const prettyMax = 256 << 10

// nextStep says what a person does about a cause, for templates.
func nextStep(g redrive.Group) string { return words.NextStep(&g) }

// personFirst reports whether a person has to change something before a retry can help, for templates.
func personFirst(g redrive.Group) bool { return words.PersonFirst(&g) }
