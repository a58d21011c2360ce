package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// part of: P1, P2
func TestP1_RunsOfAKindAndOfTheDefault(t *testing.T) {
	t.Parallel()
	p, err := policy.New(policy.Spec{
		Name: "t", Runs: policy.RunSpec{Timeout: time.Hour, MaxCrashes: 3, Codes: policy.Codes{TimeLimit: "SLOW", Command: "FAILED"}},
		Kinds: map[string]policy.KindSpec{
			"render": {Runs: policy.RunSpec{Timeout: time.Minute, Codes: policy.Codes{Command: "FFMPEG_ERROR"}}},
			"seen":   {Runs: policy.RunSpec{Timeout: time.Second}},
		},
		Rollout: policy.Rollout{Mode: policy.Observe, Kinds: []string{"render", "other"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]policy.RunSpec{
		"render": {Timeout: time.Minute, MaxCrashes: 3, Codes: policy.Codes{TimeLimit: "SLOW", Command: "FFMPEG_ERROR"}},
		"other":  {Timeout: time.Hour, MaxCrashes: 3, Codes: policy.Codes{TimeLimit: "SLOW", Command: "FAILED"}},
		"seen":   {Codes: policy.Codes{TimeLimit: "SLOW", Command: "FAILED"}}, // the policy only observes this kind
	} {
		if diff := cmp.Diff(want, p.RunsOf(kind)); diff != "" {
			t.Errorf("kind %s (-want +got):\n%s", kind, diff)
		}
	}
}

// part of: F9
func TestF9_RunLimitsOutOfBounds(t *testing.T) {
	t.Parallel()
	_, problems := policy.New(policy.Spec{
		Runs:  policy.RunSpec{Timeout: policy.TimeoutMax + time.Second, MaxCrashes: job.MaxCrashes + 1},
		Kinds: map[string]policy.KindSpec{"k": {Runs: policy.RunSpec{Timeout: -1}}},
	})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"default.timeout: 168h0m1s: must be at most 7d, not negative, and whole microseconds",
		"default.max_crashes: 6: must be 1 to 5",
		"kinds.k.timeout: -1ns: must be at most 7d, not negative, and whole microseconds",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// proves: F7, F12, P2, P4
func TestF7_F12_CodesOfFailuresWithoutOne(t *testing.T) {
	t.Parallel()
	codes := policy.Codes{TimeLimit: "FFMPEG_TIMEOUT", MissingInput: "INPUT_MISSING", Command: "FFMPEG_ERROR"}
	p, err := policy.New(policy.Spec{Runs: policy.RunSpec{Codes: codes}})
	if err != nil {
		t.Fatal(err)
	}
	one, zero := 1, 0
	const payload = `{"input":"/data/in.mp4","clips":[{"image":"a b.png","text":"no"}],"output":{"file":"/out/o.mp4"},"tool":"ffmpeg","font":"/f/x.ttf"}`
	for _, tt := range []struct {
		name, stderr string
		payload      string
		exit         *int
		how          job.How
		stop         policy.Stop
		code, want   string
	}{
		{name: "FFmpeg", stderr: "/data/in.mp4: No such file or directory", want: "INPUT_MISSING"},
		{name: "Python", stderr: "FileNotFoundError: [Errno 2] No such file or directory: 'a b.png'", want: "INPUT_MISSING"},
		{name: "Java", stderr: "java.nio.file.NoSuchFileException: /data/in.mp4", want: "INPUT_MISSING"},
		{name: "a resolved path", payload: `{"input":"data/in.mp4"}`, stderr: "open /srv/data/in.mp4: no such file or directory", want: "INPUT_MISSING"},
		{name: "after an output", stderr: "/f/x.ttf does not exist.", want: "INPUT_MISSING"},
		{name: "a text that is a path", payload: "/data/in.mp4\n", stderr: "stat /data/in.mp4: no such file or directory", want: "INPUT_MISSING"},
		{name: "an output", stderr: "/out/o.mp4: No such file or directory", want: "FFMPEG_ERROR"},
		{name: "another file", stderr: "/data/in.mp4.part: No such file or directory", want: "FFMPEG_ERROR"},
		{name: "a longer name", stderr: "/data/in.mp45: No such file or directory", want: "FFMPEG_ERROR"},
		{name: "a part of a name", payload: `{"input":"in.mp4"}`, stderr: "main.mp4: No such file or directory", want: "FFMPEG_ERROR"},
		{name: "the program", stderr: "sh: 1: ffmpeg: No such file or directory", want: "FFMPEG_ERROR"},
		{name: "the word input alone", stderr: "input: Invalid data found when processing input", want: "FFMPEG_ERROR"},
		{name: "other lines", stderr: "reading /data/in.mp4\nlibx.so: no such file", want: "FFMPEG_ERROR"},
		{name: "a path of a URL", payload: `{"input":"https://a/in.mp4"}`, stderr: "https://a/in.mp4: no such file", want: "FFMPEG_ERROR"},
		{name: "no output file", exit: &zero, want: "FFMPEG_ERROR"},
		{name: "time limit", how: job.ByTimeout, stop: policy.TimeLimit, stderr: "/data/in.mp4: No such file", want: "FFMPEG_TIMEOUT"},
		{name: "its own code", code: "OWN", want: "OWN"},
		{name: "shutdown", stop: policy.Shutdown, want: ""},
		{name: "panic", how: job.ByPanic, want: ""},
	} {
		e := &failure.Evidence{Message: "exit code 1", Stderr: []byte(tt.stderr), Exit: &one, Code: tt.code}
		if tt.exit != nil {
			e.Exit = tt.exit
		}
		in := &policy.CodeInput{Kind: "k", Evidence: e, How: job.ByError, Stop: tt.stop, Payload: []byte(payload)}
		if tt.how != "" {
			in.How = tt.how
		}
		if tt.payload != "" {
			in.Payload = []byte(tt.payload)
		}
		got := p.Code(in)
		if tt.code != "" {
			got = tt.code + got
		}
		if got != tt.want {
			t.Errorf("%s: got the code %q, want %q", tt.name, got, tt.want)
		}
	}
	library := &failure.Evidence{Message: "connection refused"}
	if got := p.Code(&policy.CodeInput{Evidence: library, How: job.ByError}); got != "" {
		t.Errorf("an error that is of no command has the code %q, want none", got)
	}
}

func FuzzCode(f *testing.F) {
	p, err := policy.New(policy.Spec{Runs: policy.RunSpec{Codes: policy.Codes{MissingInput: "M"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("/a/b.c: no such file", `{"a":["/a/b.c",{"output":["x/y",{"z":1}]}],"b":null}`)
	f.Add("x.y does not exist", "x.y")
	f.Fuzz(func(t *testing.T, text, payload string) {
		p.Code(&policy.CodeInput{Evidence: &failure.Evidence{Message: text}, How: job.ByError, Payload: []byte(payload)})
	})
}
