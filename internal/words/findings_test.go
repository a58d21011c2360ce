package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A heading is right for none, one and many.
func TestFindingsForNoneOneAndMany(t *testing.T) {
	t.Parallel()
	now := job.At(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))
	alive := store.Process{Slots: 10, Running: 1}
	for _, c := range []struct{ got, want string }{
		{words.OverviewFinding(0, 0, 0, 0), "No job has been enqueued yet"},
		{words.OverviewFinding(0, 0, 0, 3), "Nothing needs a person"},
		{words.OverviewFinding(0, 0, 1, 3), "Nothing needs a person, 1 redrive under way"},
		{words.OverviewFinding(1, 1, 0, 3), "1 dead job by 1 cause"},
		{words.OverviewFinding(1183, 9, 2, 3), "1,183 dead jobs by 9 causes, 2 redrives under way"},
		{words.OverviewFinding(2, 0, 0, 3), "2 dead jobs without a cause"},
		{words.OverviewLead(0, 0, 0), "No job has ended in the last hour."},
		{words.OverviewLead(1, 1, 1), "In the last hour 1 job completed, 1 attempt failed and will be tried again, 1 job ended dead."},
		{words.OverviewLead(8412, 561, 43), "In the last hour 8,412 jobs completed, 561 attempts failed and will be tried again, 43 jobs ended dead."},
		{words.CausesFinding(0, 0), "No dead job needs a person"},
		{words.CausesFinding(1, 1), "1 dead job, 1 cause"},
		{words.CausesFinding(1183, 9), "1,183 dead jobs, 9 causes"},
		{words.CausesLead(nil, 0, 0), "When jobs die, they are grouped here by their cause."},
		{words.CausesLead([]store.Group{{Pending: 3}}, 3, 1), "Each row is one cause. Its page offers the next step."},
		{words.CausesLead([]store.Group{{Pending: 60}, {Pending: 20}, {Pending: 11}, {Pending: 9}}, 100, 4), "The largest 3 causes explain 91 % of them."},
		{words.DeadFinding(0, 0, now), "No dead letter is pending"},
		{words.DeadFinding(1, now.Add(-time.Hour), now), "1 dead letter pending, the oldest died 1h ago"},
		{words.DeadFinding(1200, 0, now), "1,200 dead letters pending"},
		{words.RedriveFinding(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 1}}), "Redrive 7: 0 of 1 job completed"},
		{words.RedriveFinding(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 1200}, Completed: 1100, Dead: 3}), "Redrive 7: 1,100 of 1,200 jobs completed, 3 dead again"},
		{words.RedrivesFinding(0, 0), "No redrive is under way"},
		{words.RedrivesFinding(1, 0), "1 redrive under way"},
		{words.RedrivesFinding(0, 1), "1 redrive stopped by itself"},
		{words.RedrivesFinding(0, 2), "2 redrives stopped by themselves"},
		{words.RedrivesFinding(2, 1), "2 redrives under way, 1 stopped"},
		{words.QueuesFinding(0, 0, 0), "No queue has been used yet"},
		{words.QueuesFinding(1, 0, 0), "1 queue, open"},
		{words.QueuesFinding(3, 0, 0), "3 queues, all open"},
		{words.QueuesFinding(3, 1, 1), "3 queues, 1 paused, 1 draining"},
		{words.WorkersFinding(nil), "No worker is alive"},
		{words.WorkersFinding([]store.Process{alive}), "1 worker alive, 1 of 10 slots busy"},
		{words.WorkersFinding([]store.Process{alive, alive, {Silent: true}, {Slots: 1, Sick: []store.Sickness{{}}}}), "3 workers alive, 2 of 21 slots busy, 1 sick, 1 silent"},
		{words.AuditFinding(0, false), "Nobody has done anything yet"},
		{words.AuditFinding(1, false), "1 action"},
		{words.AuditFinding(50, true), "The last 50 actions"},
		{words.ListFinding(0, nil, false), "No job is in this list"},
		{words.ListFinding(1, []string{"dead"}, false), "1 dead job"},
		{words.ListFinding(50, []string{"waiting", "retrying"}, true), "The first 50 waiting or retrying jobs"},
		{words.AfterLastDeath("render", 0), "Since the last of these deaths no job of kind render has completed"},
		{words.AfterLastDeath("render", 1), "Since the last of these deaths 1 job of kind render has completed"},
		{words.AfterLastDeath("render", 1200), "Since the last of these deaths 1,200 jobs of kind render have completed"},
		{words.NextStep(&store.Group{}), "Nothing is pending"},
		{words.NextStep(&store.Group{Pending: 1}), "Find the cause, then redrive"},
		{words.NextStep(&store.Group{Pending: 1, Class: "TemporaryServiceError"}), "Redrive when the service answers again"},
		{words.NextStep(&store.Group{Pending: 1, Class: "QuotaExceeded"}), "Renew the quota first, then redrive"},
		{words.NextStep(&store.Group{Pending: 1, Class: "QuotaExceeded", Retried: 10, Helped: 9}), "Redrive: retries help"},
		{words.CausesLead([]store.Group{{Pending: 3, Class: "QuotaExceeded"}}, 3, 1), "Each row is one cause. Of 1 a person has to change something first; retries cannot help before."},
		{words.CausesLead([]store.Group{{Pending: 3, Class: "QuotaExceeded"}, {Pending: 3, Class: "Panic"}}, 6, 2), "Each row is one cause. Of 2 a person has to change something first; retries cannot help before."},
		{words.NextStep(&store.Group{Pending: 1, Assignee: "mira"}), "Wait for mira, then redrive"},
		{words.NextStep(&store.Group{Pending: 1, Retried: 10, Helped: 9}), "Redrive: retries help"},
		{words.NextStep(&store.Group{Pending: 1, Retried: 10, Helped: 1}), "Mend the cause: retries do not help"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Each built-in class has a next step that agrees with whether a person comes first.
func TestPersonFirstAgreesWithTheNextStep(t *testing.T) {
	t.Parallel()
	for _, info := range failure.Classes() {
		g := store.Group{Pending: 1, Class: string(info.Class)}
		step, first := words.NextStep(&g), words.PersonFirst(&g)
		if retry := strings.HasPrefix(step, "Redrive"); retry && first || strings.Contains(step, " first") && !first {
			t.Errorf("%s: the next step is %q, a person first: %t", info.Class, step, first)
		}
	}
	if words.PersonFirst(&store.Group{Class: "QuotaExceeded"}) || words.PersonFirst(&store.Group{Pending: 1, Class: "QuotaExceeded", Retried: 10, Helped: 9}) ||
		!words.PersonFirst(&store.Group{Pending: 1, Class: "NetworkTimeout", Retried: 10}) || words.PersonFirst(&store.Group{Pending: 1, Class: "OfMyOwn"}) {
		t.Error("what is pending and whether retries help do not count")
	}
}
