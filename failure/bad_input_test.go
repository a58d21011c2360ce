package failure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/processor"
)

// badInputs are texts of megabytes that programs write by mistake, and texts that are made to be
// slow: pieces after which a reader has to look far ahead or back.
func badInputs() map[string]string {
	const size = 10 << 20
	fill := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	inputs := map[string]string{
		"one endless line": fill("frame dropped "), "one endless word": fill("a"), "NUL": fill("\x00"), "invalid UTF-8": fill("\xff\xc3"),
		"colours": fill("\x1b[31m"), "open colours": fill("\x1b["), "invisible": fill("a\u200b"), "invisible alone": fill("\u200b"), "line ends": fill("\n"),
		"blanks": fill(" "), "digits": fill("4"), "nested JSON": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"nested objects": strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
		"nested lists":   strings.Repeat(`["a",`, 10_000) + "1" + strings.Repeat("]", 10_000),
		"long string":    `{"password":"` + fill("a b ") + `"}`,
	}
	for _, piece := range []string{
		"password=<<", "password: |\n ", "$1$", "$6$a$", "login a:b1 ", "login ", "echo x|sudo -S ", "send \"x ", "PASS x\n", "identified by ", "sqlplus a/b@", "name=\"password\" ",
		"Private-Lines: 1\nAAAA\n", "+1 ", "4111 1111 1111 1111 ", "DE89 ", "a@b.c ", "%40", "%25", "\\u0070", "&#112;", "a.b.c.d:", "ip-10-0-0-", "1.2.3.4", "~a/", "%A%\\",
		"a:5432:*:", "x/y1!@z ", "-p ", "-u a:b ", "https://a:", "token ", "-----BEGIN A-----", "-----END A-----", "eyJ", "\"password\": \"", "password\"", "<password a=\"b\">",
		"<key>password</key>", "[\"-p\",", strings.Repeat("a1B2", 20) + "\n",
	} {
		inputs[piece] = fill(piece)
	}
	return inputs
}

// part of: F11
func TestF11_BadInputTakesBoundedTime(t *testing.T) {
	t.Parallel()
	// Each step is measured in the processor time of this thread, so that a busy machine does not
	// make the test fail.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const most = 3 * time.Second // a text of 10 MiB takes some milliseconds; a pass that is not linear takes minutes
	for name, text := range badInputs() {
		for step, do := range map[string]func() string{
			"sanitise": func() string { return failure.Sanitize(text, &failure.SanitizeOptions{Emails: true}) },
			"64 KiB": func() string {
				return failure.Sanitize(text[:min(len(text), 64<<10)], &failure.SanitizeOptions{Emails: true})
			},
			"message": func() string { return failure.Sanitize(failure.Message(text), nil) },
			"output":  func() string { return string(failure.SanitizeStderr(failure.Output([]byte(text)), nil)) },
			"classify": func() string {
				return string(classify.Builtin().Classify(new(failure.Of(errors.New(text))), "").Class)
			},
			"fingerprint": func() string { return failure.Fingerprint("kind", "", "", text).Key },
			"JSON": func() string {
				value := failure.SanitizeJSON([]byte(text), nil)
				if !json.Valid(value) {
					t.Errorf("%.20q: the JSON value is not valid: %.60q", name, value)
				}
				return string(bytes.TrimSpace(value))
			},
		} {
			start := processor.Time(t)
			got := do()
			if took := processor.Time(t) - start; took > most {
				t.Errorf("%.20q: %s took %v, want at most %v", name, step, took, most)
			}
			if len(got) > 65<<10 || !utf8.ValidString(got) {
				t.Errorf("%.20q: %s gives %d bytes, valid UTF-8 %v", name, step, len(got), utf8.ValidString(got))
			}
		}
	}
}
