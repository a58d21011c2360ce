package preset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

// proves: P1
func TestP1_Transcribe(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	percent20 := spread(0.2)
	for _, f := range []figures{
		{"NetworkTimeout", life{}, []run{
			failing("Connection timeout"), failing("download timed out"), failing("read tcp 10.0.0.5:52144->142.250.1.1:443: read: connection reset by peer"),
			failing("upstream said no", status(504)), failing("upstream said no", status(408)),
		}, failure.NetworkTimeout, seconds(30, 60, 120), percent20, exhausted},
		{"TemporaryServiceError", life{}, []run{
			failing("upstream said no", status(503)), failing("Service Unavailable"), failing("the model is temporarily unavailable"),
			failing(`{"error":{"code":503,"message":"overloaded"}}`), failing("dial tcp: connection refused"),
		}, failure.TemporaryServiceError, seconds(30, 60, 120), percent20, exhausted},
		{"RateLimitExceeded", life{}, []run{
			failing("upstream said no", status(429)), failing("Rate limit exceeded"), failing("Too many requests, slow down"),
		}, failure.RateLimitExceeded, seconds(60, 180, 540, 1620, 4860), percent20, exhausted},
		{"ResourceConstraint", life{}, []run{
			failing("out of memory"), failing("Resource exhausted: not enough memory"), failing("write /tmp/v.mp4: no space left on device"),
		}, failure.ResourceConstraint, seconds(30, 45), percent20, exhausted},
		{"UnknownError", life{}, []run{
			failing("something odd happened"), failing(""),
		}, failure.UnknownError, seconds(30, 60), percent20, exhausted},
		{"AttemptTimeout", life{}, []run{timeLimit()}, failure.AttemptTimeout, seconds(30), percent20, exhausted},
		{"Panic", life{}, []run{{failure.Evidence{Message: "index out of range"}, job.ByPanic}}, failure.Panic, seconds(30, 60), percent20, exhausted},
		{"a class that has no schedule", life{}, []run{
			{failure.Evidence{Message: "x", Class: "Weather"}, job.ByError},
		}, "Weather", seconds(60, 300, 900), percent20, exhausted},

		{"InvalidInput", life{}, []run{
			failing("The video is private"), failing("This is a private video"), failing("ERROR: This video has been deleted"),
		}, failure.InvalidInput, nil, nil, permanent},
		{"NotFound or InvalidInput", life{}, []run{failing("no such object", status(404))}, failure.NotFound, nil, nil, permanent},
		{"AuthenticationFailure", life{}, []run{failing("upstream said no", status(401)), failing("invalid API key")}, failure.AuthenticationFailure, nil, nil, permanent},
		{"PaymentRequired", life{}, []run{failing("upstream said no", status(402)), failing("billing account is not active: payment required")}, failure.PaymentRequired, nil, nil, permanent},
		{"ContentViolation", life{}, []run{failing("blocked: violates the terms of service"), failing("copyright claim by the owner")}, failure.ContentViolation, nil, nil, permanent},
		{"InputExceedsLimits", life{}, []run{
			failing("video exceeds maximum duration"), failing("the video is over 6 hours long"), failing("file is over 10 GB"),
		}, failure.InputExceedsLimits, nil, nil, permanent},
		{"QuotaExceeded", life{}, []run{failing("daily limit reached"), failing("monthly quota exceeded"), failing("You exceeded your current quota", code2("insufficient_quota"), status(429))}, failure.QuotaExceeded, nil, nil, permanent},
	} {
		f.check(t, p)
	}
}

// code2 sets the error code that another service has given.
func code2(c string) func(*failure.Evidence) { return func(e *failure.Evidence) { e.ServiceCode = c } }

// Each class is counted separately: failures of other classes do not use up its retries,
// and its escalation begins with its first failure.
// proves: P1, R6
func TestP1_ClassesCountByThemselves_R6(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	all := life{u: 0.5}.execute(t, p, failing("Connection timeout"), failing("out of memory"), failing("Connection timeout"), failing("out of memory"),
		failing("Connection timeout"), failing("Connection timeout"))
	want := seconds(30, 30, 60, 45, 120)
	if got := nominal(all); len(got) != len(want) {
		t.Fatalf("got the nominal waits %v, want %v", got, want)
	}
	for i, d := range all[:len(all)-1] {
		if d.Nominal != want[i] {
			t.Errorf("nominal wait %d is %v, want %v", i+1, d.Nominal, want[i])
		}
		escalated := d.Class == failure.ResourceConstraint
		if (d.Priority == 1) != escalated || d.Queue != "" {
			t.Errorf("failure %d: got the queue %q and the priority %d, want no queue and priority 1 only for ResourceConstraint", i+1, d.Queue, d.Priority)
		}
	}
	info := p.Info(failure.ResourceConstraint)
	if !strings.Contains(info.Retrying, "priority queue") {
		t.Errorf("the user message does not mention the priority queue, want it mentioned: %q", info.Retrying)
	}
}

// Waits do not count towards the duration of a run. The sum of the waits may exceed the time
// limit of a run, but it is below every limit on the age of a job.
// proves: P1
func TestP1_TheWaitsAfterARateLimitAreLongerThanARun(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	var sum time.Duration
	for _, w := range nominal(life{u: 0.5}.execute(t, p, failing("upstream said no", status(429)))) {
		sum += w
	}
	if sum != 7260*time.Second {
		t.Errorf("the sum of the waits is %v, want 2h1m", sum)
	}
	if limits := p.Limits(); limits.MaxAge < 24*time.Hour || limits.MaxWait < 4860*time.Second*12/10 {
		t.Errorf("the limits %+v are below the waits of the schedule, want higher limits", limits)
	}
}

// part of: R5
func TestR5_VideosByLength(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	for seconds, want := range map[string]string{
		"21599": "", "21599.999": "", "21600": "long-video", "28799": "long-video", "28799.999": "long-video", "28800": "too-long-video", "360000": "too-long-video",
		`"21600"`: "", "null": "", // a text is no number, so no rule matches
	} {
		a := p.Admit(&policy.RuleInput{Kind: "transcribe", Queue: "default", Priority: 2, Attrs: []byte(`{"duration_seconds":` + seconds + `}`)})
		got := ""
		if a != nil {
			got = strings.Join(a.Rules, ",")
		}
		if got != want {
			t.Errorf("a video of %s seconds: got the matching rules %q, want %q", seconds, got, want)
		}
		switch want {
		case "long-video":
			if a.Queue != "compute-engine-high-memory" || a.Overrides["chunk_strategy"] != "adaptive" || a.Overrides["model"] != "gemini-flash" || len(a.Overrides) != 2 || a.Hold != nil {
				t.Errorf("a video of %s seconds: got the admission %+v, want the queue and the settings for long videos", seconds, a)
			}
		case "too-long-video":
			if a.Hold == nil || a.Hold.Message != "Please contact support for videos over 8 hours" || a.Hold.Notify != "administrator" || a.Queue != "" {
				t.Errorf("a video of %s seconds: got the admission %+v, want the job held", seconds, a)
			}
		}
	}
}

// A long video has at most one retry over all classes. The wait is the wait of its class.
// part of: R5
func TestR5_LongVideosHaveOneRetryOverAllClasses(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	l := life{u: 0.5, attrs: `{"duration_seconds": 25200}`}
	for _, runs := range [][]run{
		{failing("Connection timeout")},
		{failing("upstream said no", status(429)), failing("Connection timeout")},
		{failing("Connection timeout"), failing("out of memory")},
	} {
		all := l.execute(t, p, runs...)
		if len(all) != 2 || all[1].Reason != exhausted || all[1].Rule != policy.RuleTotal {
			t.Errorf("%s: got %d attempts, the last decision by the rule %s; want 2 attempts and the limit over all classes", runs[0].evidence.Message, len(all), all[len(all)-1].Rule)
		}
	}
	if all := l.execute(t, p, failing("Video is private")); len(all) != 1 {
		t.Errorf("a private video: got %d attempts, want 1", len(all))
	}
}

// Each class of each preset has a user message for retries and one for dead jobs. The
// messages only promise what the policy does.
// proves: F10
func TestF10_Messages(t *testing.T) {
	t.Parallel()
	for _, name := range policyfile.Presets() {
		p := load(t, name, "").Policy
		for _, class := range p.Classes() {
			info := p.Info(class)
			if info.Retrying == "" || info.Dead == "" || info.Operator == "" {
				t.Errorf("preset %s, class %s: want all three texts, got %+v", name, class, info)
			}
			dead := strings.ToLower(info.Dead)
			for _, promise := range []string{"retry", "retri", "tried again", "will be processed", "attempt is scheduled", "soon", "by itself"} {
				if strings.Contains(dead, promise) {
					t.Errorf("preset %s: the message for dead jobs of class %s promises another attempt, want no promise: %q", name, class, info.Dead)
				}
			}
			if strings.Contains(dead+strings.ToLower(info.Retrying), "notified") {
				t.Errorf("preset %s, class %s: a message claims that someone was notified, want no such claim: %+v", name, class, info)
			}
			if priority := strings.Contains(info.Retrying, "priority queue"); priority != (name == "transcribe" && class == failure.ResourceConstraint) {
				t.Errorf("preset %s, class %s: want a mention of the priority queue only for ResourceConstraint in transcribe, got the message %q", name, class, info.Retrying)
			}
		}
	}
	p := load(t, "transcribe", "").Policy
	for _, class := range []failure.Class{failure.InputExceedsLimits, "VideoExceedsLimits"} {
		info := p.Info(class)
		if !strings.Contains(info.Dead, "6+ hours") || !strings.Contains(info.Dead, "10 GB+") || info.Verdict != failure.VerdictPermanent {
			t.Errorf("class %s: got the class with its texts %+v, want a permanent class with a text about both limits", class, info)
		}
	}
}

// Handlers may use the class name that users of the system know.
// part of: F4
func TestF4_VideoExceedsLimits(t *testing.T) {
	t.Parallel()
	p := load(t, "transcribe", "").Policy
	all := life{}.execute(t, p, run{failure.Evidence{Message: "x", Class: "VideoExceedsLimits"}, job.ByError})
	if len(all) != 1 || all[0].Reason != permanent {
		t.Errorf("got %d attempts with the reason %s, want one attempt and a permanent failure", len(all), all[0].Reason)
	}
}

// part of: R8
func TestR8_StagesOfTranscribe(t *testing.T) {
	t.Parallel()
	for stage, enforced := range map[string]map[string]bool{
		"alpha":      {"Connection timeout": true, "Service Unavailable": false},
		"beta":       {"Connection timeout": true, "Service Unavailable": true},
		"production": {"Connection timeout": true, "Service Unavailable": true},
	} {
		p := load(t, "transcribe", "rollout: {stage: "+stage+"}").Policy
		for message, want := range enforced {
			all := life{u: 0.5}.execute(t, p, failing(message))
			if got := len(all) == 4; got != want || all[0].Observed == want {
				t.Errorf("stage %s, failure %s: got %d attempts and observed %v, want observed %v", stage, message, len(all), all[0].Observed, !want)
			}
			if !want && (len(all) != 1 || all[0].Would.Action != policy.Retry || all[0].Would.Of != 3) {
				t.Errorf("stage %s, failure %s: got %+v as the decision of the policy, want 3 retries", stage, message, all[0].Would)
			}
		}
	}
}

// part of: Q14
func TestQ14_WordsOfTranscribe(t *testing.T) {
	t.Parallel()
	w := load(t, "transcribe", "").Spec.Words
	states(t, w, map[string]string{"retrying": "RETRYING", "dead": "FAILED", "dead/manual_review": "MANUAL_REVIEW", "dead/max_retries_exceeded": "FAILED"})
	at := time.Date(2026, 11, 20, 14, 3, 0, 0, time.UTC)
	errorObject(t, w, policy.ErrorValues{Class: failure.InputExceedsLimits, Message: "over 6 hours", Permanent: true, At: at, Code: "x", Stack: "y"},
		`{"type":"VideoExceedsLimits","message":"over 6 hours","is_permanent":true,"timestamp":"2026-11-20T14:03:00Z"}`)
}

func states(t *testing.T, w policy.Words, want map[string]string) {
	t.Helper()
	for state, word := range want {
		name, reason, _ := strings.Cut(state, "/")
		parsed, err := job.ParseState(name)
		if got := w.State(parsed, job.Reason(reason)); err != nil || got != word {
			t.Errorf("the state %s has the name %s, want %s (error: %v)", state, got, word, err)
		}
	}
}

func errorObject(t *testing.T, w policy.Words, values policy.ErrorValues, want string) {
	t.Helper()
	if got := string(w.ErrorObject(&values)); got != want {
		t.Errorf("got the error object  %s\nwant the error object %s", got, want)
	}
}
