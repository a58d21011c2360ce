package words

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Facts is a list of labels with texts. A fact without a text is left out.
type Facts []policy.Fact

// Add adds a fact, unless the text of the fact is empty.
func (f *Facts) Add(name, text string) {
	if text != "" {
		*f = append(*f, policy.Fact{Name: name, Text: text})
	}
}

func (f *Facts) addNumber(name string, n int64) {
	if n > 0 {
		f.Add(name, strconv.FormatInt(n, 10))
	}
}

// Facts returns those facts about the job that are not in the text of Standing.
func (d *Details) Facts() Facts {
	j := &d.Job
	f := Facts{}
	f.Add("queue", place(j.Queue, j.Priority))
	f.Add("attempts", Attempts(j, d.MaxAttempts()))
	f.Add("runs", runs(j)+Counters(&j.Counters))
	f.Add("created", Time(j.CreatedAt))
	if j.ClaimedAt > 0 {
		f.Add("last run", fmt.Sprintf("%s on %s", Time(j.ClaimedAt), j.Holder))
	}
	f.Add("deadline", deadline(j))
	f.Add("owner", j.Owner)
	f.Add("correlation", j.Correlation)
	f.Add("key", j.Key)
	f.Add("attributes", string(j.Attrs))
	if pr := j.Progress; pr.At > 0 {
		f.Add("progress", strings.TrimSpace(progress(pr)+"  "+pr.Note))
	}
	f.Add("cost", Dollars(j.Cost))
	f.addNumber("sends", j.Sends)
	if d.Letter != nil {
		f.Add("dead letter", fmt.Sprintf("%s, since %s", d.Letter.Status, Time(d.Letter.DiedAt)))
	}
	return f
}

// deadline describes the deadline of a job, and what a retry of a dead job does to it. It is "" if the
// job has none.
func deadline(j *job.Job) string {
	switch {
	case j.Deadline <= 0:
		return ""
	case j.State == job.Dead:
		return Time(j.Deadline) + "; a retry after this time removes it"
	}
	return Time(j.Deadline)
}

func place(queue string, priority int8) string {
	return fmt.Sprintf("%s, priority %d", queue, priority)
}

func runs(j *job.Job) string { return fmt.Sprintf("%d in %s", j.Token, Count(int64(j.Life), "life")) }

// Dollars returns the text of a cost. The cost is in millionths of a US dollar. It returns
// "" for 0.
func Dollars(microusd int64) string {
	if microusd <= 0 {
		return ""
	}
	return fmt.Sprintf("$%.6f", float64(microusd)/1e6)
}

func progress(p job.Progress) string {
	if p.Total <= 0 {
		return Number(p.Done)
	}
	return fmt.Sprintf("%s of %s (%d%%)", Number(p.Done), Number(p.Total), 100*p.Done/p.Total)
}

// FailureFacts returns the facts about a failed run, without long texts such as the
// message.
func FailureFacts(f *job.Failure) Facts {
	out := Facts{}
	out.Add("when", fmt.Sprintf("%s, after %s, on %s", Time(f.EndedAt), Took(f), f.Holder))
	out.Add("build", f.Build)
	out.Add("how", string(f.How))
	out.Add("class", f.Class)
	out.Add("code", f.Code)
	if f.Exit != nil {
		out.Add("exit code", strconv.Itoa(*f.Exit))
	}
	out.addNumber("sends", int64(f.Sends))
	out.Add("signal", f.Signal)
	out.addNumber("HTTP status", int64(f.HTTPStatus))
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		out.Add("decision", r.Reason())
	}
	out.Add("details", string(f.Details))
	return out
}

// Took describes how long a failed run took.
func Took(f *job.Failure) string { return Span(max(0, f.EndedAt.Sub(f.StartedAt))) }

// Decision describes the decision about a failed run. It returns the reason, or, if no
// decision is stored, how the run ended.
func Decision(f *job.Failure) string {
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		return r.Reason()
	}
	return string(f.How)
}

// RunFacts returns the facts of the decision about a failed run, followed by the evidence.
func RunFacts(f *job.Failure) Facts {
	out := Facts{}
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		for _, fact := range r.Facts() {
			out.Add(fact.Name, fact.Text)
		}
	}
	if len(out) == 0 {
		out.Add("class", f.Class)
	}
	out.Add("evidence", Evidence(f))
	out.Add("worker", f.Holder)
	out.Add("details", string(f.Details))
	return out
}

// ended says how a run ended.
func ended(how job.How) string {
	switch how {
	case job.ByError:
		return "ended with an error"
	case job.ByPanic:
		return "ended with a panic"
	case job.ByTimeout:
		return "ran out of time"
	case job.ByCrash:
		return "crashed"
	case job.ByHold:
		return "held by a rule before it ran"
	}
	return string(how)
}

// Evidence lists the evidence of a failure, except its message.
func Evidence(f *job.Failure) string {
	parts := []string{ended(f.How)}
	if f.HTTPStatus > 0 {
		parts = append(parts, "HTTP status "+strconv.Itoa(f.HTTPStatus))
	}
	if f.Exit != nil {
		parts = append(parts, "exit code "+strconv.Itoa(*f.Exit))
	}
	if f.Signal != "" {
		parts = append(parts, "signal "+f.Signal)
	}
	if f.Code != "" {
		parts = append(parts, "code "+f.Code)
	}
	return strings.Join(parts, ", ")
}

// Facts returns those facts about the dead letter that are not in the text of Standing.
func (d *DeadDetails) Facts() Facts {
	l, j := d.Letter, &d.Job
	f := Facts{}
	f.Add("reason", string(l.Reason))
	f.Add("class", l.Class)
	f.Add("code", l.Code)
	f.Add("group", l.Fingerprint)
	f.Add("queue", d.changed(place(j.Queue, j.Priority), func(o *store.Original) string { return place(o.Queue, o.Priority) }))
	f.Add("settings", d.changed(string(j.Override), func(o *store.Original) string { return string(o.Override) }))
	f.Add("owner", l.Owner)
	f.Add("correlation", j.Correlation)
	f.Add("key", j.Key)
	f.Add("attributes", string(j.Attrs))
	f.Add("created", Time(j.CreatedAt))
	f.Add("deadline", deadline(j))
	f.Add("runs", runs(j))
	f.Add("cost", Dollars(j.Cost))
	f.addNumber("sends", j.Sends)
	f.Add("note", l.Note)
	f.addNumber("redrive", l.Redrive)
	return f
}

// changed returns the current value of a fact. If a retry has changed the job, it adds the
// value from before the retry.
func (d *DeadDetails) changed(now string, before func(*store.Original) string) string {
	if d.Original == nil || before(d.Original) == now {
		return now
	}
	or := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
	return or(now) + "; was " + or(before(d.Original))
}
