package failure_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
)

// The shape of each group's texts is the first line; the groups are different
// causes, and so are their shapes.
//
// part of: D6
func TestD6_Shapes(t *testing.T) {
	t.Parallel()
	groups := [][]string{
		{"job <n> failed: dial tcp <host>: connect: connection refused",
			"job 14041 failed: dial tcp 10.4.29.5:5030: connect: connection refused",
			"job 7 failed: dial tcp [2001:db8::1]:443: connect: connection refused",
			"job 9 failed: dial tcp db-1.prod.internal:5432: connect: connection refused",
			"job 9 failed: dial tcp [IP]:5432: connect: connection refused"},
		{"open <path>: no such file or directory",
			"open /srv/jobs/a/x.mp4: no such file or directory", "open clip.mp4: no such file or directory",
			`open C:\Users\bob\y.mov: no such file or directory`, "open [PATH]: no such file or directory"},
		{"open <path>: permission denied", "open /srv/jobs/a/x.mp4: permission denied"},
		{"get <url>: context deadline exceeded client.timeout exceeded while awaiting headers",
			`Get "https://api.example.com/v1/x/123?token=abc": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
			`Get "http://10.0.0.1:8099/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`},
		{"timed out after <n>", "timed out after 30s", "timed out after 1m30s", "timed out after 1.5s", "timed out after 500ms"},
		{"timed out after <n> second", "timed out after 1 second", "timed out after 30 seconds"},
		{"http 503: service unavailable", "HTTP 503: Service Unavailable"},
		{"http 502: bad gateway", "HTTP 502: Bad Gateway"},
		{"429 too many requests retry in <n>", "429 Too Many Requests, retry in 53s", "429 Too Many Requests, retry in 7s"},
		{"exit status 1", "exit status 1"},
		{"exit status 137", "exit status 137"},
		{"error: deadlock detected sqlstate 40p01", "ERROR: deadlock detected (SQLSTATE 40P01)"},
		{"error 1213 40001: deadlock found", "Error 1213 (40001): Deadlock found"},
		{"error 2002 hy000: can't connect to server on <host> <n>", "ERROR 2002 (HY000): Can't connect to server on '127.0.0.1' (115)",
			"ERROR 2002 (HY000): Can't connect to server on '10.0.0.9' (111)"},
		{"ora-00942: table or view does not exist", "ORA-00942: table or view does not exist"},
		{"e11000 duplicate key error collection: dup key", "E11000 duplicate key error collection: dup key"},
		{"customer <value> is over the credit limit", `customer "Ann" is over the credit limit`, `customer "Li Wei" is over the credit limit`,
			`customer "Müller GmbH" is over the credit limit`},
		{"cannot open <value>", "cannot open 'final v2.xlsx'", "cannot open 'Q3 numbers.xlsx'", "cannot open 'Übersicht Mai'"},
		{"upload of <n> refused", "upload of 12 MB refused", "upload of 900 kB refused", "upload of 17,345,112 bytes refused", "upload of 12MB refused"},
		{"missing columns: <value>", "missing columns: total", "missing columns: total, vat_id, due_date", "missing columns: 'total', 'vat_id'", "missing columns: ['total', 'vat_id']"},
		{"<binary>", "exit code 1: \x01\x02\ufffd\ufffd\x03\x04\ufffd\x05\x06\ufffd\ufffd", "exit code 1: \ufffd\ufffd\ufffd\ufffd\x03\x04\ufffdPK\x06\ufffd\ufffd"},
		{"server said connection reset by peer", `server said "connection reset by peer"`},
		{"server said gateway timeout", `server said "Gateway Timeout"`},
		{"user <value> not found", `user "bob" not found`, "user 'alice77' not found", "user `carol` not found"},
		{"column email does not exist", `column "email" does not exist`},
		{"column phone does not exist", `column "phone" does not exist`},
		{"died with signals.sigkill: <n>", "died with <Signals.SIGKILL: 9>"},
		{"died with signals.sigsegv: <n>", "died with <Signals.SIGSEGV: 11>"},
		{"keyerror: user_id", "KeyError: 'user_id'"},
		{"keyerror: name", "KeyError: 'name'"},
		{"error: message: bad request type: invalid_request_error code: insufficient_quota",
			`{"error":{"message":"Bad request","type":"invalid_request_error","code":"insufficient_quota"}}`},
		{"error: message: bad request type: invalid_request_error code: invalid_key",
			`{"error":{"message":"Bad request","type":"invalid_request_error","code":"invalid_key"}}`},
		{"rpc error: code unavailable desc connection error: desc transport: error while dialing: dial tcp <host>: connect: connection refused",
			`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:8098: connect: connection refused"`,
			`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 10.9.8.7:1: connect: connection refused"`},
		{"chunks <n> failed", "chunks 1, 2, 3 failed", "chunks 7 failed", "chunks 12, 19 failed"},
		{"pod <id> evicted", "pod web-7d9f8b6c5-x2x4z evicted", "pod web-58c7b4d66f-9w8kk evicted"},
		{"worker<n> died", "worker3 died", "worker12 died"},
		{"request <id> failed", "request req_011CSHoEeqs5C35K2UUqR7Fy failed", "request 123e4567-e89b-12d3-a456-426614174000 failed"},
		{"mail to <email> bounced", "mail to bob@example.com bounced", "mail to carol@example.org bounced"},
		{"login failed password <secret>", "login failed (password=hunter2)", "login failed (password=[REDACTED])"},
		{"503 service temporarily unavailable nginx <id>", "<html>\n<head><title>503 Service Temporarily Unavailable</title></head>\n<body>\n<hr>" +
			"<center>nginx/1.22.1</center>\n</body>\n</html>", "<html><style>a{b:c}</style><body class=\"x\">503 Service Temporarily Unavailable nginx/1.25.0</body>"},
		{"panic: runtime error: index out of range <n> with length <n>",
			"panic: runtime error: index out of range [7] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/worker/main.go:29 +0x473",
			"panic: runtime error: index out of range [12] with length 12\n\ngoroutine 99 [running]:\nmain.f(...)\n\t/src/x.go:1\nmain.main()\n\t/src/y.go:2 +0x4"},
		{"typeerror: fetch failed cause: error: unknown scheme",
			"TypeError: fetch failed\n    at node:internal/deps/undici/undici:14976:13\n    at async T (file:///app/src/worker.mjs:118:21) {\n  [cause]: Error: unknown scheme\n      at x (node:y:1:2)",
			"TypeError: fetch failed\n    at async file:///app/src/other.mjs:1:2 {\n  [cause]: Error: unknown scheme"},
		{"json.decoder.jsondecodeerror: expecting value: line <n> column <n> char <n>",
			"Traceback (most recent call last):\n  File \"/srv/app/x.py\", line 6, in <module>\n    parse(\"{'pages': 12}\")\n    ^^^^^^^^^^^^^^^\n" +
				"  File \"/usr/lib/python3.11/json/decoder.py\", line 355, in raw_decode\n    raise JSONDecodeError(\"Expecting value\", s) from None\n" +
				"json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
			"json.decoder.JSONDecodeError: Expecting value: line 4 column 17 (char 88)"},
		{"java.io.ioexception: server returned http response code: 503 for url: <url>",
			"java.io.IOException: Server returned HTTP response code: 503 for URL: http://127.0.0.1:8099/media/clip.mp4\n" +
				"\tat java.base/sun.net.www.protocol.http.HttpURLConnection.getInputStream0(HttpURLConnection.java:2037)\n\tat O.main(O.java:2)",
			"java.io.IOException: Server returned HTTP response code: 503 for URL: https://x.example/a"},
		{"av_interleaved_write_frame: no space left on device", "av_interleaved_write_frame(): No space left on device"},
		{"нет места на диске", "Нет места на диске"},
	}
	seen := make(map[string]string)
	for _, group := range groups {
		want := group[0]
		if other, ok := seen[want]; ok {
			t.Errorf("the groups of %q and %q are one", other, group[1])
		}
		seen[want] = group[1]
		for _, text := range group[1:] {
			if diff := cmp.Diff(want, failure.Normalize(text)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", text, diff)
			}
			if clean := failure.Sanitize(text, nil); failure.Normalize(clean) != want {
				t.Errorf("%q: sanitised %q, which is %q", text, clean, failure.Normalize(clean))
			}
		}
	}
}

// What is stored must not change: groups that exist would be split. A change of
// these keys needs another FingerprintVersion.
//
// part of: D6
func TestD6_StoredForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind  string
		class failure.Class
		code  string
		text  string
		want  string
	}{
		{"render", failure.Crash, "lease_lost", "", "2:b242050919fdbdf2"},
		{"render", "", "expired", "", "2:10b47344d46ff586"},
		{"render", failure.UnknownError, "", "open /srv/a/b: no such file", "2:c4bdd8dcfd33c189"},
		{"ocr", failure.UnknownError, "http.503", "HTTP 503: Service Unavailable", "2:e4e6310592d2a9cf"},
	} {
		p := failure.Fingerprint(tt.kind, tt.class, tt.code, tt.text)
		if p.Key != tt.want || p.Version != failure.FingerprintVersion {
			t.Errorf("%+v: got %q, version %d", tt, p.Key, p.Version)
		}
	}
}

// part of: D6
func TestD6_EveryPartCounts(t *testing.T) {
	t.Parallel()
	keys := make(map[string]bool)
	for _, parts := range [][4]string{
		{"a", "b", "c", "d"}, {"x", "b", "c", "d"}, {"a", "x", "c", "d"}, {"a", "b", "x", "d"}, {"a", "b", "c", "x"},
		{"ab", "", "c", "d"}, {"", "ab", "c", "d"}, {"a", "bc", "", "d"}, {"a", "b", "cd", ""}, {"", "", "", ""}, {"\xff", "", "", ""},
	} {
		keys[failure.Fingerprint(parts[0], failure.Class(parts[1]), parts[2], parts[3]).Key] = true
	}
	if len(keys) != 11 {
		t.Errorf("%d keys of 11 different failures", len(keys))
	}
}

// part of: D6
func TestD6_ExplainsWhyFailuresAreTheSame(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{failure.Fingerprint("render", "NetworkTimeout", "http.503", "job 7: HTTP 503").Explain(),
			`same because kind render, class NetworkTimeout, code http.503, and the message reads "job <n>: http 503"`},
		{failure.Fingerprint("render", "", "expired", "").Explain(), "same because kind render, code expired, and there is no message"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s\nwant %s", tt.got, tt.want)
		}
	}
}

// part of: D6
func TestD6_ShapesAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("é ", 1<<20), strings.Repeat("word ", 1<<20), strings.Repeat("<b>", 30_000), strings.Repeat("x", 10<<20), "\xff\xfe", ""} {
		shape := failure.Normalize(text)
		if len(shape) > 240 || !utf8.ValidString(shape) {
			t.Errorf("%d bytes: %q", len(shape), shape)
		}
	}
	long := "upload: " + strings.Repeat("frame dropped ", 100) + "no space left on device"
	if shape := failure.Normalize(long); !strings.HasPrefix(shape, "upload: frame") || !strings.HasSuffix(shape, "no space left on device") {
		t.Errorf("got %q", shape)
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("job 7: open /srv/x: <b>no</b> \"value\" http 503")
	f.Fuzz(func(t *testing.T, text string) {
		shape := failure.Normalize(text)
		if len(shape) > 240 || !utf8.ValidString(shape) {
			t.Fatalf("%q: %d bytes, %q", text, len(shape), shape)
		}
		if p := failure.Fingerprint("k", "c", "", text); len(p.Key) != 18 || p.Shape != shape {
			t.Fatalf("%+v", p)
		}
	})
}
