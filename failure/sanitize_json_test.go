package failure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// part of: F11
func TestF11_JSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ value, want string }{
		{``, ``},
		{`{"url":"http://10.0.0.1/x","n":12345678901234567890,"ok":true}`, `{"url":"http://[IP]/x","n":12345678901234567890,"ok":true}`},
		{`{ "password" : "x b" , "x" : [ 1 , "/srv/x/y" ] }`, `{ "password" : "[REDACTED]" , "x" : [ 1 , "[PATH]" ] }`},
		{`{"password":1234,"secret":{"id":7,"v":["x"],"n":null}}`, `{"password":"[REDACTED]","secret":{"id":"[REDACTED]","v":["[REDACTED]"],"n":null}}`},
		{`{"token":null,"max_tokens":5,"password":"required"}`, `{"token":null,"max_tokens":5,"password":"required"}`},
		{`[{"name":"DB_PASSWORD","value":"x"},{"name":"DB_HOST","value":"db"}]`, `[{"name":"DB_PASSWORD","value":"[REDACTED]"},{"name":"DB_HOST","value":"db"}]`},
		{`{"headers":{"Authorization":["Bearer abc"],"Accept":["*/*"]}}`, `{"headers":{"Authorization":["[REDACTED]"],"Accept":["*/*"]}}`},
		{`"password=\"x\""`, `"password=\"[REDACTED]\""`},
		{`{"/srv/a/b":1}`, `{"[PATH]":1}`},
		{`{"a":"\u003c\ud800 10.0.0.1"}`, `{"a":"\u003c� [IP]"}`},
		{`not json 10.0.0.1`, `"not json [IP]"`},
		{`12`, `12`},
	} {
		got := string(failure.SanitizeJSON([]byte(tt.value), nil))
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.value, got, tt.want)
		}
		if again := string(failure.SanitizeJSON([]byte(got), nil)); again != got {
			t.Errorf("%s: got %s, again %s", tt.value, got, again)
		}
	}
	long := []byte(`["` + strings.Repeat(`pwd=x `, 10_000) + `","` + strings.Repeat("x", 5000) + `"]`)
	if got := failure.SanitizeJSON(long, nil); len(got) > failure.DetailsMax || !json.Valid(got) {
		t.Errorf("%d bytes of JSON", len(got))
	}
}

// part of: F11
func TestF11_StandardError(t *testing.T) {
	t.Parallel()
	whole := []byte("password=x\nopen /srv/a/b")
	if got := string(failure.SanitizeStderr(whole, nil)); got != "password=[REDACTED]\nopen [PATH]" {
		t.Errorf("got %q", got)
	}
	if got := failure.SanitizeStderr([]byte("plain"), nil); string(got) != "plain" {
		t.Errorf("got %q", got)
	}
	cut := append([]byte("secondhalfofasecret here\n"), strings.Repeat("frame dropped\n", failure.StderrMax)...)[:failure.StderrMax]
	if got := failure.SanitizeStderr(cut, nil); strings.Contains(string(got), "secondhalf") {
		t.Errorf("the rest of a cut line stays: %q", got[:80])
	}
	if got := failure.SanitizeStderr([]byte(strings.Repeat("x", failure.StderrMax)), nil); len(got) != 0 {
		t.Errorf("the rest of a cut word stays: %d bytes", len(got))
	}
}
