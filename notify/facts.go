package notify

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// factNames are the facts that the data of a webhook can have.
var factNames = []string{
	"at", "link",
	"job.id", "job.kind", "job.queue", "job.owner", "job.correlation", "job.key", "job.life", "job.attempts", "job.crashes",
	"job.reason", "job.class", "job.code", "job.group", "job.message", "job.at", "job.link",
	"batch.id", "batch.key", "batch.name", "batch.owner", "batch.state", "batch.outcome", "batch.total", "batch.completed", "batch.dead",
	"batch.cancelled", "batch.link",
	"redrive.id", "redrive.by", "redrive.reason", "redrive.why", "redrive.total", "redrive.released", "redrive.completed", "redrive.dead",
	"redrive.cancelled", "redrive.link",
	"digest.n", "digest.items", "digest.batches", "digest.more", "digest.causes", "digest.since", "digest.until",
}

// FactNames returns the names of the facts that the data of a webhook can have. Each attribute is one
// more: AttrFacts and its name.
func FactNames() []string { return slices.Clone(factNames) }

// attrFacts begin the names of facts that are attributes.
var attrFacts = []string{"job.attrs.", "batch.attrs."}

func knownFact(name string) bool {
	attr := slices.ContainsFunc(attrFacts, func(prefix string) bool { return len(name) > len(prefix) && strings.HasPrefix(name, prefix) })
	return attr || slices.Contains(factNames, name)
}

// value returns the fact with the given name; nil if the notice does not have it.
func value(all map[string]any, name string) any {
	parts := strings.SplitN(name, ".", 3)
	for i, part := range parts {
		if i == len(parts)-1 {
			return all[part]
		}
		all, _ = all[part].(map[string]any)
	}
	return nil
}

// envelope returns the bytes that a webhook sends. If they would be too many, the lists of a digest
// are shortened.
func envelope(event string, data map[string]string, f *Facts) json.RawMessage {
	for {
		var body any = f
		if len(data) > 0 {
			var all map[string]any
			_ = json.Unmarshal(encode(f), &all)
			fields := make(map[string]any, len(data))
			for field, fact := range data {
				fields[field] = value(all, fact)
			}
			body = fields
		}
		packed := encode(struct {
			Type      string `json:"type"`
			Timestamp string `json:"timestamp"`
			Data      any    `json:"data"`
		}{event, f.At, body})
		if d := f.Digest; len(packed) < WebhookMax || d == nil || len(d.Items)+len(d.Ended) == 0 {
			return packed
		}
		f.Digest.shorten()
	}
}

func stamp(at job.Micros) string { return at.Time().UTC().Format(time.RFC3339) }

func link(base, page string, id int64) string {
	if base == "" {
		return ""
	}
	return strings.TrimRight(base, "/") + "/ui/" + page + "/" + strconv.FormatInt(id, 10)
}

// texts returns the attributes that are texts, numbers or truth values, the first in the order of
// their names.
func texts(attrs []byte) map[string]string {
	var all map[string]any
	if len(attrs) == 0 || json.Unmarshal(attrs, &all) != nil {
		return nil
	}
	kept := make(map[string]string, min(len(all), AttrsMax))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := failure.Sanitize(scalar(all[name]), &failure.SanitizeOptions{KeepPaths: true, KeepAddresses: true, Max: 4 * lineMax})
		if text != "" && len(kept) < AttrsMax && len(name) <= nameMax {
			kept[line(name)] = line(text)
		}
	}
	return kept
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// attribute returns one attribute that is a text, as it is, or "". A text that is too
// long for an address stays too long.
func attribute(attrs []byte, name string) string {
	var all map[string]json.RawMessage
	if len(attrs) == 0 || json.Unmarshal(attrs, &all) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(all[name], &text) != nil {
		return ""
	}
	return text[:min(len(text), 2*AddressMax)]
}

// message returns a text about a failure as the readers of a notice see it. Readers who are no
// operators see neither paths nor IP addresses.
func message(text string, team bool, id job.ID) string {
	if text == "" {
		return ""
	}
	if !team {
		text = failure.Sanitize(text, &failure.SanitizeOptions{Keep: []string{id.String()}, Max: 4 * messageMax})
	}
	return Clip(text, messageMax)
}

// Clip removes invisible characters from a text and shortens it to at most limit bytes.
func Clip(text string, limit int) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c < ' ', c >= 0x7f && c < 0xa0, c == '\u200e', c == '\u200f', c == '\u061c', c >= '\u202a' && c <= '\u202e',
			c >= '\u2066' && c <= '\u2069', c == '\ufeff', c == '\ufffd':
			return -1
		}
		return c
	}, text)
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}

// line is Clip for a text that must have one line.
func line(text string) string { return Clip(strings.Join(strings.Fields(text), " "), lineMax) }

// Death is a death of a job, with all that rules and notices need.
type Death struct {
	Job                     job.ID
	Number                  int64 // the number of the death
	Batch                   int64 // 0 for a job of no batch; below 0 for a member that is not counted
	Kind, Queue             string
	Owner, Correlation, Key string
	Life, Attempts, Crashes int32
	Class, Code, Group      string
	Reason                  job.Reason
	Message, UserMessage    string
	HoldNotify              string // the people whom the policy names, if a rule of it holds the job
	First                   bool   // whether the death is the first of its group in the sense of GroupFirst
	NoRetry                 bool   // whether the kind is not retried
	At                      job.Micros

	attrs, batchAttrs []byte
	read              bool // whether attrs was read
}

// readAttrs reads the attributes of the job.
func (d *Death) readAttrs(subjects Subjects) (err error) {
	if !d.read {
		d.attrs, err = subjects.Attrs(d.Job)
		d.read = err == nil
	}
	return err
}

// cause returns the class and the code as readers see them.
func (d *Death) cause(team bool) (class, code string) {
	return line(d.Class), message(d.Code, team, d.Job)
}

// Outcome is the end or the expiry of a batch, with all that rules and notices need.
type Outcome struct {
	Batch            int64
	Number           int64 // the number of the outcome
	On               Event // BatchReady, BatchPartial, BatchFailed or BatchExpired
	Owner, Key, Name string
	State            string
	Attrs            []byte
	Total, Completed int64
	Dead, Cancelled  int64
	At               job.Micros
}

func (s *Set) jobFacts(rule *Rule, d *Death) *JobFacts {
	text := d.UserMessage
	if rule.Team {
		text = d.Message
	}
	class, code := d.cause(rule.Team)
	return &JobFacts{ID: d.Job.String(), Kind: d.Kind, Queue: d.Queue, Owner: line(d.Owner), Correlation: line(d.Correlation), Key: line(d.Key),
		Life: d.Life, Attempts: d.Attempts, Crashes: d.Crashes, Reason: string(d.Reason), Class: class, Code: code,
		Group: d.Group, Message: message(text, rule.Team, d.Job), Attrs: texts(d.attrs), At: stamp(d.At), Link: link(s.rules.BaseURL, "jobs", int64(d.Job))}
}

func (s *Set) batchFacts(o *Outcome) *BatchFacts {
	id := strconv.FormatInt(o.Batch, 10)
	return &BatchFacts{ID: id, Key: line(o.Key), Name: line(cmp.Or(o.Name, o.Key, "batch "+id)), Owner: line(o.Owner), State: o.State,
		Outcome: o.Number, Total: o.Total, Completed: o.Completed, Dead: o.Dead, Cancelled: o.Cancelled, Attrs: texts(o.Attrs),
		Link: link(s.rules.BaseURL, "batches", o.Batch)}
}
