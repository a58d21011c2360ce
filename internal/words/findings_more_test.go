package words_test

import (
	"testing"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

// The headings of lists, of the policy and of the charts are right for none, one and many.
func TestMoreFindingsForNoneOneAndMany(t *testing.T) {
	t.Parallel()
	one, many := store.Figures{Completed: 1, Failed: 1, Dead: 1}, store.Figures{Completed: 8412, Failed: 561, Crashed: 2, Dead: 43}
	for _, c := range []struct{ got, want string }{
		{words.SchedulesFinding(0, 0), "No schedule is configured"},
		{words.SchedulesFinding(1, 0), "1 schedule"},
		{words.SchedulesFinding(1, 1), "1 schedule, paused"},
		{words.SchedulesFinding(2, 2), "2 schedules, all paused"},
		{words.SchedulesFinding(3, 1), "3 schedules, 1 paused"},
		{words.WebhooksFinding(0, 0, 0), "No receiver of webhooks is configured"},
		{words.WebhooksFinding(1, 0, 0), "1 receiver of webhooks"},
		{words.WebhooksFinding(4, 1, 2), "4 receivers of webhooks, 1 off, 2 failing"},
		{words.EventsFinding(0, false, false, false), "Nothing has happened yet"},
		{words.EventsFinding(0, true, true, false), "No event matches"},
		{words.EventsFinding(1, false, false, false), "1 event"},
		{words.EventsFinding(100, false, true, false), "The last 100 events"},
		{words.FoundFinding("a\u202eb", 0), "Nothing is called “a\\u202eb”"},
		{words.FoundFinding("acme", 1), "“acme” was found in 1 place"},
		{words.FoundFinding("acme", 2), "“acme” was found in 2 places"},
		{words.ThroughputFinding(&store.Figures{}, "the last day"), "Nothing ran in the last day"},
		{words.ThroughputFinding(&one, "the last day"), "1 job completed in the last day"},
		{words.ThroughputFinding(&many, "the last day"), "8,412 jobs completed in the last day"},
		{words.ThroughputLead(&store.Figures{Completed: 3}), "No attempt failed."},
		{words.ThroughputLead(&one), "1 attempt failed, which is 50.0 % of all; 1 job ended dead."},
		{words.ThroughputLead(&many), "561 attempts failed, which is 6.3 % of all; 2 runs crashed; 43 jobs ended dead."},
		{words.PolicyFinding("default", 0, 20), "Policy default: 0 of 20 classes are retried"},
		{words.PolicyFinding("default", 1, 20), "Policy default: 1 of 20 classes is retried"},
		{words.PlannedSentence(0, 0), ""},
		{words.PlannedSentence(1, 1), "1 job may be retried by 1 redrive."},
		{words.PlannedSentence(801, 2), "801 jobs may be retried by 2 redrives."},
		{words.StopShare(store.RedriveStop{Rule: store.StopAgain, Limit: 0.2}), "No first attempt has ended yet. It stops by itself above 20 %."},
		{words.StopShare(store.RedriveStop{Rule: store.StopOther, N: 1, Of: 1, Limit: 0.5}), "1 of 1 first attempt failed by another cause, 100.0 %. It stops by itself above 50 %."},
		{words.StopShare(store.RedriveStop{Rule: store.StopDead, N: 13, Of: 553, Limit: 1}), "13 of 553 jobs dead again, 2.4 %. This does not stop it."},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
