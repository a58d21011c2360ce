package failure_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
)

// full has a value in each field.
func full() failure.Evidence {
	return failure.Evidence{
		Message: "busy\n\"quoted\" é", Code: "FFMPEG_ERROR", Class: "Storage", Permanent: true,
		RetryAfter: 90 * time.Second, NotBefore: noon, Dependency: "s3", Snooze: time.Hour, Cancel: true, Timeout: true,
		Canceled: true, HTTPStatus: 503, GRPC: "UNAVAILABLE", SQLState: "40001", Errno: "ECONNRESET",
		ServiceCode: "SlowDown", Types: []string{"net.OpError", "main.StorageError"}, Sent: failure.NotSent,
		Exit: new(137), Signal: "SIGKILL", Details: []byte(`{"clip":4,"id":9007199254740993}`), Stderr: []byte("frame=1\nkilled\n"),
	}
}

// part of: F1
func TestF1_EvidenceAsJSON(t *testing.T) {
	t.Parallel()
	const want = `{"v":1,"message":"busy\n\"quoted\" é","code":"FFMPEG_ERROR","class":"Storage","permanent":true,` +
		`"retry_after_us":90000000,"not_before":"2026-11-20T12:00:00Z","dependency":"s3","snooze_us":3600000000,` +
		`"cancel":true,"timeout":true,"canceled":true,"http_status":503,"grpc":"UNAVAILABLE","sql_state":"40001",` +
		`"errno":"ECONNRESET","service_code":"SlowDown","types":["net.OpError","main.StorageError"],"sent":"not_sent",` +
		`"exit_code":137,"signal":"SIGKILL","details":{"clip":4,"id":9007199254740993},"stderr":"frame=1\nkilled\n"}`
	in := full()
	if got := string(encode(t, in)); got != want {
		t.Errorf("the wire format has changed:\n got %s\nwant %s", got, want)
	}
	tests := map[string]failure.Evidence{
		"zero": {}, "full": in, "marks": failure.Of(failure.Code("X", failure.Permanent(errors.New("x")), "k", "v")),
		"longest waits": {RetryAfter: math.MaxInt64 / 1000 * 1000, Snooze: math.MaxInt64 / 1000 * 1000},
		"exit 0":        {Exit: new(0)},
	}
	for name, in := range tests {
		if diff := cmp.Diff(in, decode(t, encode(t, in)), compareEvidence); diff != "" {
			t.Errorf("%s, there and back (-want +got):\n%s", name, diff)
		}
	}
	rounded := decode(t, encode(t, failure.Evidence{RetryAfter: 1, Snooze: math.MaxInt64}))
	if rounded.RetryAfter != time.Microsecond || rounded.Snooze < math.MaxInt64-time.Microsecond {
		t.Errorf("waits are cut short: %+v", rounded)
	}
}

func encode(t *testing.T, e failure.Evidence) []byte {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, b []byte) (e failure.Evidence) {
	t.Helper()
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatalf("%.200s: %v", b, err)
	}
	return e
}

// part of: X3
func TestX3_EvidenceThatIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // the JSON and a part of the error
		`{"message":"x"}`:             "format 0, this program reads 1",
		`{"v":2,"message":"x"}`:       "format 2",
		`{"v":1,"retry_after":5}`:     `unknown field "retry_after"`,
		`{"v":1,"message":5}`:         "cannot unmarshal number",
		`[]`:                          "cannot unmarshal array",
		`{"v":1,"retry_after_us":-1}`: "retry_after_us is -1: must be 0 to",
		`{"v":1,"retry_after_us":9223372036854776}`:             "retry_after_us is 9223372036854776",
		`{"v":1,"snooze_us":-1}`:                                "snooze_us is -1",
		`{"v":1,"http_status":99}`:                              "http_status is 99: must be 100 to 599",
		`{"v":1,"http_status":600}`:                             "http_status is 600",
		`{"v":1,"grpc":"Unavailable"}`:                          `grpc is "Unavailable": must be the canonical name`,
		`{"v":1,"grpc":"OK"}`:                                   `grpc is "OK"`,
		`{"v":1,"sql_state":"4000"}`:                            `sql_state is "4000"`,
		`{"v":1,"sql_state":"00000"}`:                           `sql_state is "00000"`,
		`{"v":1,"errno":"connection reset"}`:                    `errno is "connection reset"`,
		`{"v":1,"service_code":"too many"}`:                     `service_code is "too many"`,
		`{"v":1,"service_code":"404"}`:                          `service_code is "404"`,
		`{"v":1,"sent":"yes"}`:                                  `sent is "yes": must be "not_sent"`,
		`{"v":1,"types":["a","b","c","d","e","f","g","h","i"]}`: "9 types: at most 8",
		`{"v":1,"types":[""]}`:                                  "an empty name in types",
		`{"v":1,"exit_code":-1}`:                                "exit_code is negative",
		`{"v":1,"details":[1]}`:                                 "details must be an object",
		`{"v":1,"details":"x"}`:                                 "details must be an object",
		`{"v":1,"details":{"a":"` + strings.Repeat("x", failure.DetailsMax) + `"}}`: "details of 65544 bytes: at most 65536",
	}
	for in, want := range tests {
		e := failure.Evidence{Message: "before"}
		err := json.Unmarshal([]byte(in), &e)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", in, err, want)
		}
		if e.Message != "before" {
			t.Errorf("%.100s: refused, and yet the evidence has changed", in)
		}
	}
	err := json.Unmarshal([]byte(`{"v":1,"http_status":1,"sent":"no","exit_code":-5}`), new(failure.Evidence))
	for _, part := range []string{"http_status", "sent", "exit_code"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: does not name the mistake in %s", err, part)
		}
	}
	if e := decode(t, []byte(`{"v":1,"message":"x","details":null,"exit_code":null}`)); e.Details != nil || e.Exit != nil {
		t.Errorf("null is not taken for nothing: %+v", e)
	}
}

// part of: X3
func TestX3_LongTextsOfOthersAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	in, err := json.Marshal(map[string]any{
		"v": 1, "message": long, "code": long, "class": long, "dependency": long, "signal": long, "types": []string{long}, "stderr": long,
	})
	if err != nil {
		t.Fatal(err)
	}
	e := decode(t, in)
	checkEvidence(t, "long", e)
	for name, text := range map[string]string{"message": e.Message, "code": e.Code, "type": e.Types[0]} {
		if !strings.Contains(text, "…") {
			t.Errorf("%s was cut and doesn't show it: %.80s", name, text)
		}
	}
}

func FuzzEvidenceJSON(f *testing.F) {
	b, err := json.Marshal(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for _, seed := range []string{
		`{"v":1,"message":"\ud800","details":{"a":"` + "\xff" + `"},"not_before":"9999-12-31T23:59:59-01:00"}`,
		`{"v":1,"details":{"a":{"b":[1,2,{}]}},"stderr":"\u0000","types":["a","a"]}`, `null`, `{"V":1}`, `{"v":1}{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var e failure.Evidence
		if json.Unmarshal(in, &e) != nil {
			return
		}
		checkEvidence(t, string(in), e)
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q: what was read cannot be written: %v", in, err)
		}
		var again failure.Evidence
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%q: what was written cannot be read: %v", b, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(second) != string(b) {
			t.Fatalf("not the same again: %v\n%s\n%s", err, b, second)
		}
	})
}
