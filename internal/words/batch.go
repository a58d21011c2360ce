package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// BatchName returns what people call a batch: its name, otherwise its key, otherwise its number.
func BatchName(b *store.Batch) string {
	switch {
	case b.Name != "":
		return Clean(b.Name)
	case b.Key != "" && !drawn(b.Key):
		return Clean(b.Key)
	}
	return fmt.Sprintf("Batch %d", b.ID)
}

// drawn reports whether a key looks like one that the client has drawn: 26 capital letters and digits.
func drawn(key string) bool {
	return len(key) == 26 && strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// BatchFinding says in a line how far a batch has come.
func BatchFinding(b *store.Batch) string {
	name := BatchName(b)
	if b.Total == 0 {
		return name + ": " + noneOr(b.Drafts+b.AsideDrafts, "draft", "no members yet")
	}
	text := fmt.Sprintf("%s: %s of %s completed", name, Number(b.Completed), Count(b.Total, "member"))
	if b.Dead > 0 {
		text += fmt.Sprintf(", %s dead", Number(b.Dead))
	}
	if b.Cancelled > 0 {
		text += fmt.Sprintf(", %s cancelled", Number(b.Cancelled))
	}
	return text
}

func noneOr(n int64, noun, none string) string {
	if n == 0 {
		return none
	}
	return Count(n, noun)
}

// BatchesFinding says how many batches of a list need a person. More means that the list goes on.
func BatchesFinding(list []store.Batch, more bool) string {
	var open, partial, failed int64
	for i := range list {
		switch list[i].State {
		case job.BatchProcessing:
			open++
		case job.BatchPartial:
			partial++
		case job.BatchFailed:
			failed++
		case job.BatchNone, job.BatchDraft, job.BatchReady, job.BatchExpired:
		}
	}
	var parts []string
	if partial > 0 {
		parts = append(parts, fmt.Sprintf("%s ended in part", Count(partial, "batch")))
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%s failed", countOf(failed, "batch", len(parts) > 0)))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%s under way", countOf(open, "batch", len(parts) > 0)))
	}
	switch {
	case len(list) == 0:
		return "No batches"
	case len(parts) == 0:
		parts = append(parts, Count(int64(len(list)), "batch")+", none under way and none with dead members")
	}
	text := strings.Join(parts, ", ")
	if more {
		text += " on this page"
	}
	return text
}

// countOf counts things, and leaves their noun out if a sentence has it already.
func countOf(n int64, noun string, short bool) string {
	if short {
		return Number(n)
	}
	return Count(n, noun)
}

// BatchStanding returns a sentence with the state of a batch and what it waits for.
func BatchStanding(b *store.Batch, now job.Micros) string {
	if task := batchTask(b); task != "" {
		return task
	}
	switch b.State {
	case job.BatchDraft:
		return draftStanding(b, now)
	case job.BatchProcessing:
		return "Under way: " + batchOpen(b)
	case job.BatchReady:
		return fmt.Sprintf("Ready, ended %s: %s completed%s", Away(b.EndedAt, now), allOf(b.Total), expires(b, now))
	case job.BatchPartial, job.BatchFailed:
		return fmt.Sprintf("%s, ended %s: %s%s", capital(store.StateWord(b.State)), Away(b.EndedAt, now), batchLost(b), expires(b, now))
	case job.BatchExpired:
		return "Expired " + Away(b.ExpiresAt, now) + ": this is final, its dead members cannot be retried"
	case job.BatchNone:
	}
	return b.State.String()
}

func allOf(n int64) string {
	if n == 1 {
		return "its one member has"
	}
	return "all " + Count(n, "member") + " have"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func draftStanding(b *store.Batch, now job.Micros) string {
	switch {
	case b.ExpiresAt != 0 && b.ExpiresAt <= now:
		return "Not published, and its time to expire is over: set a later one before it is published"
	case b.Drafts == 0:
		return "Not published: it has no members that count; add some first"
	}
	return fmt.Sprintf("Not published: %s", isAre(b.Drafts, "draft waits", "drafts wait"))
}

func isAre(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// batchTask says what is done to a batch in steps, and how much of it is left.
func batchTask(b *store.Batch) string {
	drafts := Count(b.Drafts+b.AsideDrafts, "draft")
	switch b.Task {
	case store.Publishing:
		return "Being published: " + drafts + " left; it does not end before"
	case store.Cancelling:
		return "Being cancelled: " + batchOpen(b)
	case store.Discarding:
		return "Its drafts are being thrown away: " + drafts + " left"
	case store.NoTask:
	}
	return ""
}

// batchOpen says for which members a batch waits.
func batchOpen(b *store.Batch) string {
	waiting, running := b.Waiting(), b.Running
	switch {
	case waiting == 0 && running == 0:
		return "all members have ended, and the outcome is being written"
	case running == 0:
		return fmt.Sprintf("%s to run", isAre(waiting, "member waits", "members wait"))
	case waiting == 0:
		return isAre(running, "member runs", "members run")
	}
	return fmt.Sprintf("%s and %s to run", isAre(running, "member runs", "members run"), isAre(waiting, "waits", "wait"))
}

// batchLost says which members of a batch have not completed.
func batchLost(b *store.Batch) string {
	var parts []string
	if b.Dead > 0 {
		parts = append(parts, Number(b.Dead)+" dead")
	}
	if b.Cancelled > 0 {
		parts = append(parts, Number(b.Cancelled)+" cancelled")
	}
	text := fmt.Sprintf("%s of %s", strings.Join(parts, " and "), Count(b.Total, "member"))
	if b.Dead > 0 {
		text += "; a retry of the dead ones reopens it"
	}
	return text
}

func expires(b *store.Batch, now job.Micros) string {
	if b.ExpiresAt == 0 {
		return ""
	}
	return "; it expires " + Away(b.ExpiresAt, now)
}

// BatchBanner is the warning about a batch with dead members that has ended; "" for other batches.
func BatchBanner(b *store.Batch) string {
	switch {
	case b.Dead == 0 || b.State != job.BatchPartial && b.State != job.BatchFailed:
		return ""
	case b.Dead == 1:
		return "Warning: 1 job failed permanently. Use its retry button below to re-attempt it."
	}
	return fmt.Sprintf("Warning: %s failed permanently. Use the retry buttons below to re-attempt individual members.", Count(b.Dead, "job"))
}

// BatchTip is what a badge of a batch says when it is pointed at; "" for most states.
func BatchTip(state job.BatchState) string {
	switch state {
	case job.BatchPartial:
		return "Some jobs failed. Click to review."
	case job.BatchFailed:
		return "No job completed. Click to review."
	case job.BatchNone, job.BatchDraft, job.BatchProcessing, job.BatchReady, job.BatchExpired:
	}
	return ""
}

// BatchSteps returns what a person can do with a batch in its present state.
func BatchSteps(b *store.Batch, now job.Micros) []Step {
	step := func(v Verb, does string) Step { return Step{Verb: v, Batch: b.ID, Does: does} }
	dead := step(ListDeadMembers, "the members that are dead")
	switch {
	case b.Task != store.NoTask || b.State == job.BatchProcessing:
		steps := []Step{step(WaitBatch, "wait for its end")}
		if b.Dead > 0 {
			steps = append(steps, dead)
		}
		return steps
	case b.Expired(now):
		return nil
	case b.State == job.BatchDraft && b.Drafts == 0:
		return []Step{step(AddMembers, "add members")}
	case b.State == job.BatchDraft, b.Drafts > 0:
		return []Step{step(PublishBatch, "make jobs of its drafts")}
	case b.Dead > 0:
		return []Step{step(RetryBatch, "retry the dead members"), dead}
	}
	return nil
}

// BatchRetryQuestion asks whether the dead members of a batch shall be retried.
func BatchRetryQuestion(b *store.Batch) string {
	return fmt.Sprintf("Retry %s of %s?", Count(b.Dead, "dead member"), BatchName(b))
}

// BatchRetried says what a retry of dead members has done.
func BatchRetried(retried, refused int64, more bool) string {
	text := Count(retried, "member") + " retried."
	if refused > 0 {
		text += " " + isAre(refused, "member was", "members were") + " not retried."
	}
	if more {
		text += " More dead members remain: retry again."
	}
	return text
}

// PublishedText says what a publication has begun.
func PublishedText(p *store.Published) string {
	text := Count(p.Drafts, "member") + " published"
	if p.Dead > 0 {
		text += fmt.Sprintf(", %s retried", Count(p.Dead, "dead member"))
	}
	if p.Skipped > 0 {
		text += fmt.Sprintf("; %s skipped, because a person has resolved or ignored them", Count(p.Skipped, "dead member"))
	}
	return text
}

// OutcomeText returns the counts of one end of a batch.
func OutcomeText(o *store.BatchOutcome) string {
	text := fmt.Sprintf("%s of %s completed", Number(o.Completed), Count(o.Total, "member"))
	if o.Dead > 0 {
		text += fmt.Sprintf(", %s dead", Number(o.Dead))
	}
	if o.Cancelled > 0 {
		text += fmt.Sprintf(", %s cancelled", Number(o.Cancelled))
	}
	return text
}

// MemberState returns the state of a member as lists have it: that of its job, or draft.
func MemberState(m *store.Member) string {
	if m.Draft() {
		return "draft"
	}
	return m.State.String()
}

// BatchFacts returns what is known of a batch beyond its state and its counts.
func BatchFacts(b *store.Batch, now job.Micros) Facts {
	f := Facts{}
	at := func(name string, t job.Micros) {
		if t != 0 {
			f.Add(name, fmt.Sprintf("%s (%s)", Time(t), Away(t, now)))
		}
	}
	f.addNumber("number", b.ID)
	f.Add("key", b.Key)
	f.Add("owner", b.Owner)
	f.Add("attributes", string(b.Attrs))
	if n := b.Drafts + b.AsideDrafts; n > 0 {
		f.Add("drafts", Number(n)+" not published")
	}
	if b.AsideDrafts > 0 {
		f.Add("aside", Number(b.AsideDrafts)+" drafts of kinds without retry, which do not count")
	}
	at("created", b.CreatedAt)
	f.Add("created by", b.CreatedBy)
	at("published", b.PublishedAt)
	at("ended", b.EndedAt)
	at("expires", b.ExpiresAt)
	for i := range b.Callbacks {
		c := &b.Callbacks[i]
		f.Add("callback", fmt.Sprintf("%s: a job of the kind %s in the queue %s", callbackOn(c.On), c.Kind, c.Queue))
	}
	return f
}

func callbackOn(on string) string {
	if on == "end" {
		return "at each end"
	}
	return "when it is " + strings.ToUpper(on)
}
