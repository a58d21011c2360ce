package scan_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/scan"
	"github.com/redrive/redrive/internal/testing/processor"
)

// show writes tokens as <kind text>. A word is written without its kind.
func show(text string) string {
	var out []string
	for _, tok := range scan.Tokens(nil, text) {
		switch part := tok.Text(text); tok.Kind {
		case scan.Word:
			out = append(out, part)
		case scan.Punct:
			out = append(out, part)
		case scan.Newline:
			out = append(out, "/")
		default:
			out = append(out, fmt.Sprintf("<%s %s>", tok.Kind, part))
		}
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"dial tcp 10.0.0.1:8080: connect: connection refused", "dial tcp <ip 10.0.0.1> : <id 8080> : connect : connection refused"},
		{"job 14041 failed", "job <number 14041> failed"},
		{"RateLimitExceeded", "Rate Limit Exceeded"},
		{"rate_limit-exceeded", "rate limit exceeded"},
		{"HTTPError TLSHandshakeTimeout ECONNREFUSED RESOURCE_EXHAUSTED gRPC OAuth URLs",
			"HTTP Error TLS Handshake Timeout ECONNREFUSED RESOURCE EXHAUSTED gRPC OAuth URLs"},
		{"can't doesn’t video's 'quoted'", "can't doesn’t video's ' quoted '"},
		{"S3 x509 E11000 utf8 http2 P2002 HY000", "S3 x509 E11000 utf8 http2 P2002 HY000"},
		{"30s 10GB 500ms 4xx 1h30m 1.5s", "<number 30> s <number 10> GB <number 500> ms <number 4> xx <number 1> h <number 30> m <number 1.5> s"},
		{"28P01 40P01 req_011CSHoEeqs5C35K2UUqR7Fy", "<id 28P01> <id 40P01> <id req_011CSHoEeqs5C35K2UUqR7Fy>"},
		{"123e4567-e89b-12d3-a456-426614174000", "<id 123e4567-e89b-12d3-a456-426614174000>"},
		{"1.2.3 v1.2.3 12:30:01 2026/11/20 2026-11-20T12:30:01.5Z",
			"<id 1.2.3> <id v1.2.3> <id 12:30:01> <id 2026/11/20> <id 2026-11-20T12:30:01.5Z>"},
		{"GET https://user:pw@host.example/v1/x?token=abc: 404", "GET <url https://user:pw@host.example/v1/x?token=abc> : <number 404>"},
		{"HTTP/1.1 503 Service Unavailable", "HTTP / <number 1.1> <number 503> Service Unavailable"},
		{"open /home/bob/x.mp4: no such file", "open <path /home/bob/x.mp4> : no such file"},
		{`open C:\Users\bob\x.mp4: denied`, `open <path C:\Users\bob\x.mp4> : denied`},
		{`\\srv\share\x y`, `<path \\srv\share\x> y`},
		{"and/or n/a application/json I/O TCP/IP", "and / or n / a application / json I / O TCP / IP"},
		{"~/x ./y/z ../w", "<path ~/x> <path ./y/z> <path ../w>"},
		{"main.go:29 worker.mjs:118:21", "<file main.go> : <id 29> <file worker.mjs> : <id 118:21>"},
		{"lookup db-1.prod.internal:5432 on localhost:53", "lookup <host db-1.prod.internal> : <id 5432> on <host localhost> : <id 53>"},
		{"fe80::1%eth0 [2001:db8::2]:443 ::1", "<ip fe80::1%eth0> [ <ip 2001:db8::2> ] : <id 443> <ip ::1>"},
		{"std::bad_alloc Net::ReadTimeout", "std :: bad alloc Net :: Read Timeout"},
		{"mail bob@example.com", "mail <email bob@example.com>"},
		{"Authorization: Bearer abcdef123456", "Authorization : Bearer <secret abcdef123456>"},
		{"password=hunter2, retry", "password = <secret hunter2> , retry"},
		{`{"api_key":"abc def"}`, `{ " api key " : " <secret abc def> " }`},
		{"app:s3cret@tcp(db:3306)/x", "app : <secret s3cret> @ tcp ( db : <number 3306> ) / x"},
		{"unexpected token: <", "unexpected token : <"},
		{"key sk-ant-api03-abcDEF123456 and AKIAIOSFODNN7EXAMPLE", "key <secret sk-ant-api03-abcDEF123456> and <secret AKIAIOSFODNN7EXAMPLE>"},
		{"a\n\n b\\nc \\\"d\\\"", `a / b / c \" d \"`},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- x",
			"<secret -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----> x"},
		{"Нет места", "Нет места"},
		{"连接超时", "连 接 超 时"},
		{"\x1b[31mERROR\x1b[0m", "ERROR"},
		{"\xff\xfe", "\xff\xfe"},
	} {
		if diff := cmp.Diff(tt.want, show(tt.text)); diff != "" {
			t.Errorf("the tokens of %q differ (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestHashWord_Stems(t *testing.T) {
	t.Parallel()
	for _, group := range [][]string{
		{"limit", "limits", "limited", "limiting", "LIMIT"},
		{"deny", "denies", "denied", "denying"},
		{"retry", "retries", "retried", "retrying"},
		{"time", "times", "timed", "timing"},
		{"exceed", "exceeds", "exceeded", "exceeding"},
		{"cancel", "cancelled", "canceled", "cancels"},
		{"throttle", "throttled", "throttling"},
		{"refuse", "refused"},
		{"address", "addresses"},
		{"can't", "cant", "can’t", "CAN'T"},
		{"process", "processes", "processing", "processed"},
		{"drop", "dropped"},
		{"video", "videos", "video's"},
	} {
		for _, word := range group[1:] {
			if scan.HashWord(word) != scan.HashWord(group[0]) {
				t.Errorf("the words %q and %q have different stems, want the same stem", group[0], word)
			}
		}
	}
	for _, pair := range [][2]string{{"status", "statu"}, {"string", "str"}, {"need", "ne"}, {"fail", "file"}, {"this", "thi"}, {"deny", "den"}} {
		if scan.HashWord(pair[0]) == scan.HashWord(pair[1]) {
			t.Errorf("the words %q and %q have the same stem, want different stems", pair[0], pair[1])
		}
	}
}

// nasty contains short texts. A simple scanner would need quadratic time for many repetitions
// of such a text, because it would read ahead again and again and find nothing.
var nasty = []string{
	"a.", "a-", "a/", "a:", "a@", "a=", "x:y@", "ax:y@b ", "x:y@,", "a.b@", "user:p/w@", "https://", "a://b:c", "http://a)", "http://x:y\"", "jdbc:", "jdbc:a://",
	"C:\\a b ", "C:\\)", "\\\\a\\", "\\", "/a", "'/a ", "~/", "./", "../", "1.", "1:", "1-", "1/", "1,234", "::", "fe80::", "a:b:", "password=", "password:", "token=\"a ",
	"token='x'a ", "\"Authorization: ", "Cookie: ", "Cookie:a=", "Bearer ", "pass:is:", "PWD=/", "--token ", "-u ", "-u a:", "mysql -p", "<password>", "-----BEGIN ", "-----END ",
	"-----BEGIN A-----", "-----END A-----", "-----BEGIN A-----\nMIIE\n", "sk-", "eyJ", "AKIA", "Ab1", "AbC1xY2z", "é", "连", "[", "[PATH]", "{\"name\":\"PASSWORD\",\"v\":", "don't ",
	"X", "xX", "1a", "\x1b[", "\xff", "\u2028", "@tcp(", "u:p@tcp(", "a b", "\\n", "\\u0041", "\\\"", "?a=1&", "key AbCdEf1234567890abcd ",
	"auth=basic", "sid=aB1/", "密码错误", "пароль", "?appid=ed7a77874e5faf74bc1ac9f2780a23b6", "passwd,abc\n", "pwd,pw1\nab12,cd34\n", "connect(\"a\",", "mc alias set a", "seed phrase abc",
	"password\t", "password |", "Password:\n", "code: a1-", "a****", "\\\\\\", "\"password\\\\", "(212) 555-", "<password><![CDATA[", "dig -y a:",
}

// A text that is 32 times as long must take about 32 times as long, not 1,024 times.
// The allowed factor is larger, because a busy machine also makes the caches slower. The test measures
// processor time, so it does not matter how long other programs keep the processor.
func TestTokens_TakeLinearTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var dst []scan.Token
	best := func(text string) time.Duration {
		least := time.Hour
		for range 3 {
			start := processor.Time(t)
			dst = scan.Tokens(dst[:0], text)
			least = min(least, processor.Time(t)-start)
		}
		return least
	}
	const short, long, noise = 1 << 10, 32 << 10, 12
	for _, piece := range nasty {
		small, large := strings.Repeat(piece, short/len(piece)), strings.Repeat(piece, long/len(piece))
		ratio := 0.0
		for range 5 {
			ratio = float64(best(large)) / float64(best(small))
			if ratio < noise*long/short {
				break
			}
		}
		if ratio >= noise*long/short {
			t.Errorf("%q: to scan a text that is %d times as long takes %.0f times as much time, want time that grows linearly", piece, long/short, ratio)
		}
	}
}

func TestTokens_ReadsBothEndsOfALongText(t *testing.T) {
	t.Parallel()
	text := "first " + strings.Repeat("x ", 1<<20) + "last"
	tokens := scan.Tokens(nil, text)
	if got := tokens[0].Text(text); got != "first" {
		t.Errorf("the first token is %q, want first", got)
	}
	if got := tokens[len(tokens)-1].Text(text); got != "last" {
		t.Errorf("the last token is %q, want last", got)
	}
	if len(tokens) > scan.Max/2+2 {
		t.Errorf("got %d tokens of a long text, want at most %d", len(tokens), scan.Max/2+2)
	}
	gaps := 0
	for _, tok := range tokens {
		if tok.Kind == scan.Newline {
			gaps++
		}
	}
	if gaps != 1 {
		t.Errorf("got %d Newline tokens for the part that is not read, want 1", gaps)
	}
}

func TestTokens_Numbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"404", 404}, {"(503)", 503}, {"007", 7}, {"1.5", -1}, {"1,234", -1}, {"$404", -1}, {"123456789012345678", 123456789012345678}, {"1234567890123456789", -1},
		{"404.", 404}, {"404:", 404}, {"status=404", 404}, {"status:404", 404}, {"http_404", 404}, {"404s", 404},
	} {
		tokens := scan.Tokens(nil, tt.text)
		i := slices.IndexFunc(tokens, func(tok scan.Token) bool { return tok.Kind == scan.Number })
		if i < 0 || tokens[i].Num != tt.want {
			t.Errorf("%q: want the number %d, got the tokens %+v", tt.text, tt.want, tokens)
		}
	}
	for _, text := range []string{"10.0.0.1:404", "host.example.com:404", "localhost:404", "main.go:404", "/srv/x.py:404:503", "404:503", "1.404.2", "v1.404", "12:30:404",
		"2026-04-04", "2026/404/5", "errors.404.x", "404abcdef", "req_404abc503def", "[::1]:404", "https://x.example/404", "404-503", "x404@example.com"} {
		for _, tok := range scan.Tokens(nil, text) {
			if tok.Kind == scan.Number && tok.Num >= 0 {
				t.Errorf("%q gives the number %d, want no token of kind Number", text, tok.Num)
			}
		}
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("dial tcp 10.0.0.1:8080: https://u:p@h/x?y password=x -----BEGIN A-----")
	f.Fuzz(func(t *testing.T, text string) {
		end := int32(0)
		for _, tok := range scan.Tokens(nil, text) {
			if tok.Start < end || tok.End <= tok.Start || int(tok.End) > len(text) {
				t.Fatalf("token %+v overlaps the token that ends at byte %d, or reaches beyond the text of %d bytes", tok, end, len(text))
			}
			end = tok.End
			if tok.Kind == scan.Word {
				if got := scan.HashWord(tok.Text(text)); got != tok.Hash {
					t.Fatalf("word %q: its token has the hash %x, want the hash %x that HashWord returns", tok.Text(text), tok.Hash, got)
				}
			}
		}
	})
}

func BenchmarkTokens(b *testing.B) {
	text := `attempt 3: upload of video 8812: Put "https://storage.example.com/bucket/v1/object?part=7": dial tcp 10.12.0.7:443: connect: connection refused (request id req_011CSHoEeqs5C35K2, after 1.5s, giving up)`
	b.Logf("%d bytes", len(text))
	b.ReportAllocs()
	var dst []scan.Token
	for b.Loop() {
		dst = scan.Tokens(dst[:0], text)
	}
}
