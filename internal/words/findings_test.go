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
		{words.OverviewLead(1, 1, 1), "In the last hour 1 job completed, 1 attempt failed and got a retry, 1 job ended dead."},
		{words.OverviewLead(8412, 561, 43), "In the last hour 8,412 jobs completed, 561 attempts failed and got a retry, 43 jobs ended dead."},
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
		{words.RedriveFinding(&store.Redrive{ID: 7, State: store.RedriveEnded, RedriveSpec: store.RedriveSpec{Total: 5}, Released: 3, Refused: 1, Completed: 2, Dead: 1}), "Redrive 7: 2 of 4 jobs completed, 1 dead again, 1 had left the set"},
		{words.RedriveFinding(&store.Redrive{ID: 7, State: store.RedrivePaused, RedriveSpec: store.RedriveSpec{Total: 5}, Released: 3}), "Redrive 7: 0 of 5 jobs completed"},
		{words.LeftSentence(&store.Redrive{State: store.RedriveCompleted, RedriveSpec: store.RedriveSpec{Total: 5}, Released: 5}), ""},
		{words.LeftSentence(&store.Redrive{State: store.RedriveCompleted, RedriveSpec: store.RedriveSpec{Total: 5}, Released: 4}), "1 job had left the set before its turn: it was retried, resolved or ignored otherwise."},
		{words.LeftSentence(&store.Redrive{State: store.RedriveCompleted, RedriveSpec: store.RedriveSpec{Total: 5}}), "5 jobs had left the set before their turn: they were retried, resolved or ignored otherwise."},
		{words.LeftSentence(&store.Redrive{State: store.RedriveCompleted, RedriveSpec: store.RedriveSpec{Total: 5, Live: &store.LiveSpec{}}}), "5 jobs had left the set before their turn: they had moved on."},
		{words.RedriveStarted(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 5}}, 5), "Redrive 7 has started with 5 jobs."},
		{words.RedriveStarted(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 1}}, 3), "Redrive 7 has started with 1 job. The page had shown 3: 2 have been retried, resolved or ignored since."},
		{words.RedriveNotStarted(1, 0), "Nothing was done: the job that the page had shown cannot be retried any more. It has been retried, resolved or ignored since."},
		{words.RedriveNotStarted(2, 3), "Nothing was done: the set has grown from 2 to 3 jobs since the page was read. Look at it and start again."},
		{words.RedriveTooEarly(1), "Nothing was done: 1 job of the set needs something changed first. Change it and tick that it is changed, or leave these jobs out."},
		{words.RedriveKnown(&store.Redrive{ID: 7, State: store.RedriveRamping}), "This form has started redrive 7 already, which is ramping."},
		{words.RedriveControlled(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 1}}, store.RedriveCancel), "Redrive 7 is cancelled: its job had not been retried."},
		{words.RedriveControlled(&store.Redrive{ID: 7, RedriveSpec: store.RedriveSpec{Total: 33}, Released: 10}, store.RedriveCancel), "Redrive 7 is cancelled: 10 of its 33 jobs had been retried."},
		{words.RedriveStanding(&store.Redrive{State: store.RedriveCanary, RedriveSpec: store.RedriveSpec{Total: 1, Canary: 10}}), "Canary: the first job has no result yet"},
		{words.RedriveStanding(&store.Redrive{State: store.RedriveCanary, RedriveSpec: store.RedriveSpec{Total: 33, Canary: 10}, Answered: 2}), "Canary: 2 of the first 10 jobs have a result"},
		{words.CauseIdle(&store.Group{}), "There is nothing to do now. To see it if jobs die of it again, resolve the cause: it is then shown as regressed"},
		{words.CauseIdle(&store.Group{Pending: 1}), ""},
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
		{words.AuditFinding(0, false, false), "Nobody has done anything yet"},
		{words.AuditFinding(1, true, false), "1 action"},
		{words.AuditFinding(50, false, true), "The last 50 actions"},
		{words.AuditFinding(0, true, false), "No action matches"},
		{words.TotalFinding(1406, []string{"completed"}, false), "1,406 completed jobs"},
		{words.TotalFinding(2000, nil, true), "More than 2,000 jobs"},
		{words.DeadListFinding(0, 0, nil, false), "No dead letter is in this list"},
		{words.DeadListFinding(0, 0, []job.Status{job.Resolved}, false), "No resolved dead letter is in this list"},
		{words.DeadListFinding(1, 1, nil, false), "1 dead letter, all pending"},
		{words.DeadListFinding(364, 120, nil, false), "364 dead letters, 120 pending"},
		{words.DeadListFinding(244, 0, []job.Status{job.Redriven}, false), "244 retried dead letters"},
		{words.DeadListFinding(2000, 3, []job.Status{job.Pending, job.Ignored}, true), "More than 2,000 pending or ignored dead letters"},
		{words.CausesListFinding(0, "resolved"), "No resolved cause is in this list"},
		{words.CausesListFinding(1, "regressed"), "1 regressed cause"},
		{words.CausesListFinding(7, "all"), "7 causes"},
		{words.CausesListFinding(2, ""), "2 causes with pending dead jobs"},
		{words.EventsTotal(0, now, now, false), "No event matches"},
		{words.EventsTotal(937, now.Add(-time.Hour), now, false), "937 events in the last 1h"},
		{words.EventsTotal(2000, now.Add(-time.Hour), now, true), "More than 2,000 events in the last 1h"},
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
		{words.NextStep(&store.Group{Pending: 1, Class: "QuotaExceeded", Retried: 10, Helped: 9}), "Redrive: 9 of 10 retries have helped"},
		{words.CausesLead([]store.Group{{Pending: 3, Class: "QuotaExceeded"}}, 3, 1), "Each row is one cause. One needs a person to change something first; retries cannot help before."},
		{words.CausesLead([]store.Group{{Pending: 3, Class: "QuotaExceeded"}, {Pending: 3, Class: "Panic"}}, 6, 2), "Each row is one cause. 2 need a person to change something first; retries cannot help before."},
		{words.NextStep(&store.Group{Pending: 1, Assignee: "mira"}), "Wait for mira, then redrive"},
		{words.NextStep(&store.Group{Pending: 1, Retried: 10, Helped: 9}), "Redrive: 9 of 10 retries have helped"},
		{words.NextStep(&store.Group{Pending: 1, Retried: 10, Helped: 1}), "Mend the cause: 1 of 10 retries has helped"},
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
