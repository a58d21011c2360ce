package words

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// AuditLine is an action in words, in the order of its fields: who did what to which object, and what it changed.
type AuditLine struct {
	Who  string // "" if a redrive or the retention acted by itself
	Did  string // the verb
	Of   string // the object
	What string // the sort of the object: job, redrive, group, queue, batch, or "" for others
	More string // what was changed, with the separator before it
}

// auditVerbs are the verbs of actions on one object, before the object.
var auditVerbs = map[string]string{
	"job.cancel": "cancelled", "job.retry": "retried", "job.alter": "changed", "job.note": "added a note to", "job.feedback": "gave feedback on",
	"dead_letter.retry": "retried", "dead_letter.resolve": "resolved the dead letter of", "dead_letter.ignore": "ignored the dead letter of",
	"dead_letter.reopen": "reopened the dead letter of", "dead_letter.purge": "removed for good",
	"redrive.start": "started", "redrive.pause": "paused", "redrive.resume": "resumed", "redrive.proceed": "ended the canary of", "redrive.cancel": "cancelled",
	"queue.set": "set", "group.set": "changed", "group.merge": "merged", "group.unmerge": "took out of its set", "group.note": "added a note to", "group.feedback": "gave feedback on",
	"policy.publish": "published", "schedule.pause": "paused", "schedule.resume": "resumed", "schedule.run": "ran", "process.quiet": "quieted", "process.wake": "resumed",
	"access.create": "created", "access.change": "changed", "access.rotate": "replaced the secret of", "access.revoke": "revoked",
	"webhook.add": "added", "webhook.change": "changed", "webhook.rotate": "replaced the secret of", "webhook.off": "turned off", "webhook.on": "turned on", "webhook.remove": "removed",
	"batch.create": "created", "batch.publish": "published", "batch.discard": "discarded", "batch.cancel": "cancelled", "batch.set": "changed",
}

// auditObjects are the names of the objects of actions, by the first part of the action.
var auditObjects = map[string]string{
	"job": "job", "dead_letter": "job", "redrive": "redrive", "queue": "queue", "group": "cause", "policy": "policy", "schedule": "schedule", "process": "process",
	"access": "access key", "webhook": "webhook", "batch": "batch",
}

// AuditOf returns an action in words. An action that it does not know is named as it is stored.
func AuditOf(e *store.Audit) AuditLine {
	family, _, _ := strings.Cut(e.Action, ".")
	l := AuditLine{Who: e.Actor, Did: auditVerbs[e.Action], Of: auditObjects[family] + " " + e.Target, More: changes(e.Before, e.After)}
	switch family {
	case "job", "redrive", "queue":
		l.What = family
	case "batch": // its target has the word
		l.What, l.Of = family, e.Target
	case "dead_letter":
		l.What = "job"
	case "group":
		l.What, l.Of = "group", "cause "+ShortGroup(e.Target)
	case "policy":
		l.Of = "policy " + e.Target[:min(len(e.Target), shortGroupLen)]
		if e.After != "" {
			l.More = " (" + e.After + ")"
		}
	}
	switch {
	case strings.HasPrefix(e.Target, "{"): // a filter: the action was on many
		return manyOf(e, l)
	case strings.HasPrefix(e.Action, "redrive."):
		return redriveLine(e, l)
	case e.Action == "retention.remove":
		var n struct{ N int64 }
		_ = json.Unmarshal([]byte(e.After), &n) // 0 if it is not a number
		return AuditLine{Of: "Retention", More: " removed " + Number(n.N) + bracketed(strings.ReplaceAll(e.Target, "_", " "))}
	case l.Did == "":
		l.Did, l.Of = e.Action, e.Target
	}
	return l
}

// redriveLine returns an action on a redrive. What a redrive does by itself has the redrive as its subject.
func redriveLine(e *store.Audit, l AuditLine) AuditLine {
	self := AuditLine{Of: "Redrive " + e.Target, What: "redrive"}
	switch e.Action {
	case "redrive.release":
		var step struct{ Done int64 }
		_ = json.Unmarshal([]byte(e.After), &step) // 0 if it is not a step
		self.More = " went on with " + Count(step.Done, "job")
	case "redrive.complete":
		self.More = " has completed"
	case "redrive.end":
		self.More = " has ended; not all of its jobs completed"
	case "redrive.stop":
		self.More = " has stopped by itself"
	case "redrive.start":
		var spec struct {
			Total  int64
			Filter json.RawMessage
		}
		if l.More = ""; json.Unmarshal([]byte(e.After), &spec) == nil {
			l.More = " of " + Count(spec.Total, "job") + bracketed(storedFilter(spec.Filter))
		}
		return l
	default:
		if l.More = ""; l.Did == "" {
			l.Did = e.Action
		}
		return l
	}
	return self
}

// manyOf returns an action on all that a filter selects.
func manyOf(e *store.Audit, l AuditLine) AuditLine {
	var step struct{ Done int64 }
	_ = json.Unmarshal([]byte(e.After), &step) // 0 if it is not a step
	_, verb, _ := strings.Cut(e.Action, ".")
	l.Did, l.What, l.More = map[string]string{"retry": "retried", "resolve": "resolved", "ignore": "ignored", "reopen": "reopened", "purge": "removed for good", "cancel": "cancelled", "alter": "changed"}[verb], "", ""
	if l.Did == "" {
		l.Did = e.Action
	}
	what := ""
	if strings.HasPrefix(e.Action, "dead_letter.") {
		l.Of, what = Count(step.Done, "dead letter"), storedFilter([]byte(e.Target))
	} else {
		var f store.Filter
		if l.Of = Count(step.Done, "job"); json.Unmarshal([]byte(e.Target), &f) == nil {
			what = JobFilter(&f)
		}
	}
	l.More = bracketed(what)
	return l
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// storedFilter describes a stored filter of dead letters. It is "" for anything else.
func storedFilter(text []byte) string {
	var f struct {
		store.DeadFilter
		Statuses []string `json:"statuses"` // by their names
	}
	if json.Unmarshal(text, &f) != nil {
		return ""
	}
	for _, s := range job.Statuses {
		if slices.Contains(f.Statuses, s.String()) {
			f.DeadFilter.Statuses = append(f.DeadFilter.Statuses, s)
		}
	}
	return Filter(&f.DeadFilter)
}

// changes says how the values before and after an action differ: the members of JSON objects, or the texts as they are.
func changes(before, after string) string {
	var b, a map[string]any
	if before != "" && json.Unmarshal([]byte(before), &b) != nil || after != "" && json.Unmarshal([]byte(after), &a) != nil {
		switch {
		case before != "" && after != "":
			return ", was " + before + ", is " + after
		case after != "":
			return ": " + after
		}
		return ", was " + before
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(merged(b, a))) {
		was, is := valueText(b[name]), valueText(a[name])
		label := strings.ReplaceAll(name, "_", " ")
		switch {
		case was == is || name == "once":
		case is == "":
			parts = append(parts, "no "+label)
		case was == "":
			parts = append(parts, label+" "+is)
		default:
			parts = append(parts, fmt.Sprintf("%s %s, was %s", label, is, was))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string]any)
	}
	maps.Copy(all, b)
	return all
}

// valueText writes a value of JSON for people.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strings.TrimSuffix(fmt.Sprintf("%.3f", v), ".000")
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
