package failure_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/failure"
)

// canaries are secrets of the shapes that services give out, made up. They are
// put together here so that no scanner of repositories takes them for real.
var canaries = map[string]string{
	"aws id":        "AKIA" + "QX7CANARY3ZPL2MN",
	"aws temporary": "ASIA" + "QX7CANARY3ZPL2MN",
	"anthropic":     "sk-ant-" + "api03-CaNaRy_7hQ2-xYz9LmN4pRs8tVw1",
	"openai":        "sk-" + "CaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE5fG7hI9jK",
	"openai key":    "sk-proj-" + "CaNaRy7hQ2-xYz9LmN4_pRs8tVw1AbC3",
	"google":        "AIza" + "SyCaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE",
	"google token":  "ya29." + "a0CaNaRy7hQ2xYz9LmN4pRs8tVw1",
	"google secret": "GOCSPX-" + "CaNaRy7hQ2xYz9LmN4",
	"github":        "ghp_" + "CaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE5fG7",
	"github app":    "ghs_" + "CaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE5fG7",
	"github new":    "github_pat_" + "11CANARY0aBcDeFgHiJkL_mNoPqRsTuVwXyZ",
	"gitlab":        "glpat-" + "CaNaRy7hQ2xYz9LmN4pR",
	"slack":         "xoxb-" + "123456789012-CaNaRy7hQ2xYz9",
	"slack app":     "xapp-" + "1-A0CANARY-123-abcdef",
	"stripe":        "sk_live_" + "CaNaRy7hQ2xYz9LmN4pRs8tV",
	"stripe part":   "rk_test_" + "CaNaRy7hQ2xYz9LmN4pRs8tV",
	"stripe hook":   "whsec_" + "CaNaRy7hQ2xYz9LmN4pRs8tV",
	"sendgrid":      "SG." + "CaNaRy7hQ2xYz9LmN4pRs8.tVw1AbC3dE5fG7hI9jKlMn",
	"hugging face":  "hf_" + "CaNaRyhQxYzLmNpRstVwAbCdEfGhIjKlM",
	"npm":           "npm_" + "CaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE5fG7",
	"pypi":          "pypi-" + "AgEIcHlwaS5vcmcCaNaRy7hQ2",
	"groq":          "gsk_" + "CaNaRy7hQ2xYz9LmN4pRs8tVw1",
	"vault":         "hvs." + "CaNaRy7hQ2xYz9LmN4pRs8tVw1",
	"jwt":           "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiJjYW5hcnkifQ." + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
	"telegram":      "7123456789:" + "AAFCaNaRy7hQ2xYz9LmN4pRs8tVw1AbC3dE",
	"base64":        "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYCaNaRy7hQ2",
}

// sentences are texts that a secret may be in the middle of.
var sentences = []string{
	"%s",
	"call failed: key %s is not valid",
	"Incorrect API key provided: %s.",
	`{"error":{"message":"bad key %s","type":"auth"}}`,
	"env: [HOME=/root X_KEY=%s PATH=/bin]",
	"(%s)",
	"'%s', retrying",
	"a=1&key=%s&b=2",
	"https://api.example.com/v1/models?key=%s&alt=json",
	"https://api.example.com/v1/%s/models",
	"https://%s@api.example.com/v1",
	"line one\n%s\nline three",
	`"Authorization: Bearer %s"`,
	"Authorization: Bearer %s\nAccept: */*",
	"config {URL:https://x.example Key:%s Timeout:30s}",
	`config{Key:"%s", Timeout:30}`,
	"export TOKEN=%s; run",
	"--token %s --verbose",
	`\"key\":\"%s\"`,
	"request https:\\/\\/api.example.com\\/v1?key=%s\\u0026x=1 failed",
}

// part of: F11
func TestF11_KeysByTheirShape(t *testing.T) {
	t.Parallel()
	for name, canary := range canaries {
		for _, sentence := range sentences {
			if name == "base64" && (strings.Contains(sentence, "/%s/") || strings.Contains(sentence, "//%s@")) {
				continue // its slashes would have to be escaped there
			}
			text := fmt.Sprintf(sentence, canary)
			got := failure.Sanitize(text, nil)
			if leaks(got, strings.TrimPrefix(canary, "7123456789:")) {
				t.Errorf("%s: %q leaks: %q", name, text, got)
			}
			if !strings.Contains(got, failure.RedactedSecret) {
				t.Errorf("%s: %q has no mark: %q", name, text, got)
			}
		}
	}
}

// leaks reports whether a part of a secret is left that is longer than what
// tells its kind.
func leaks(text, secret string) bool {
	const part = 8
	for i := 0; i+part <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+part]) {
			return true
		}
	}
	return false
}

// The secret in these texts is what is between « and »; it has no shape of its
// own.
//
// part of: F11
func TestF11_SecretsByNameAndPlace(t *testing.T) {
	t.Parallel()
	for _, marked := range []string{
		// names
		"password=«hunter2»", "password: «hunter2»", "Password = «hunter2»", "PASSWORD=«letmein»", "passwd:«x1»",
		"db.password=«swordfish» db.user=app", "login failed with password: «swordfish» for user bob", "password='«correct horse battery»'",
		"DB_PASSWORD=«p@ss,w0rd!» DB_HOST=db", "PGPASSWORD=«geheim» psql", "MYSQL_PWD=«geheim»", "dbPassword: \"«geheim»\"",
		"client_secret=«abcdefgh»&grant_type=x", "api_key=«abc»", "apiKey: «abc»", "x-api-key: «0123456789abcdef»", "X-Api-Key: «letmein»",
		"aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCY»", "AWS_SESSION_TOKEN=«FwoGZXIvYXdzEBYaD»", "SECRET_KEY_BASE=«0a1b2c3d»",
		"AccountKey=«Eby8vdM02xNOcqF»;EndpointSuffix=core.windows.net", "SharedAccessKey=«abcdef»;EntityPath=x",
		"Server=db;User Id=sa;Password=«Pa55word»;Encrypt=true", "host=db user=app password=«geheim» dbname=x sslmode=require",
		"access_token=«abcdef»", "refresh_token: «1a2b3c4d5e»", "token=«letmein»", "auth_token: «abc»", "csrf_token=«abcdef12»",
		`{"auths":{"registry.example":{"auth":"«dXNlcjpwYXNz»"}}}`, "_auth=«dXNlcjpwYXNz»", "Passwort: «geheim»", "mot_de_passe=«secret1»",
		// JSON, in several languages
		`{"password":"«hunter2»","user":"bob"}`, `{"api_key": "«abc def»"}`, `{"token":"«abcd»"}`, `{\"password\":\"«hunter2»\",\"user\":\"bob\"}`,
		`{'password': '«hunter2»', 'user': 'bob'}`, `{"password"=>"«hunter2»"}`, `{:password=>"«hunter2»"}`, `{password: "«hunter2»"}`,
		`['password' => '«hunter2»']`, `$config['password'] = '«hunter2»';`, `{"name":"DB_PASSWORD","value":"«hunter2»"}`,
		`{"secret":"«a\"b»"}`, "<password>«hunter2»</password>", "<ns:Password>«hunter2»</ns:Password>", "{password=«hunter2», user=bob}",
		`b'{"api_key": "«abc»"}'`, `password "«hunter2»" is wrong`, "password hunter: invalid password «hunter22» given",
		// Go's %+v, %#v and headers
		"{User:bob Password:«hunter2» Token:«abcd» Retries:3}", `main.Config{User:"bob", Password:"«hunter2»"}`, "&{Password:«hunter2»}",
		"map[Authorization:[Bearer «abcdef»] Cookie:[«a=b; c=d»] X-Api-Key:[«xyz»]]",
		// headers
		"Authorization: Basic «dXNlcjpwYXNz»", "authorization: bearer «abcdefgh»", "Authorization: Token «abc»", "Proxy-Authorization: Basic «eDp5»",
		"Authorization: «0123456789abcdef»", `Authorization: Digest «username="bob", realm="x", response="0a1b2c"»`,
		"Authorization: AWS4-HMAC-SHA256 «Credential=AK/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=fe5f80»\nHost: x",
		`curl -H 'Authorization: Bearer «abc»' https://x.example`, `curl -H "X-Api-Key: «abc»" https://x.example`,
		"Cookie: «session=abc; theme=dark»\nHost: x", "Set-Cookie: «sid=abc; Path=/; HttpOnly»", `"Cookie":"«a=b; c=d»"`,
		`{"headers":{"Authorization":"Bearer «abc»"}}`, "Bearer «abcDEF1234»", "sent Basic «dXNlcjpwYXNz» and got 401",
		// commands
		"curl -u bob:«hunter2» https://x.example", "curl --user 'bob:«hunter2»' x", "curl --user=bob:«hunter2» x", "tool --password «hunter2» run",
		"tool --password=«hunter2»", "tool --api-key «abc» x", "mysql -u root -p«hunter2» db", "mysqldump -p'«hunter2»' db", "sshpass -p «hunter2» ssh x",
		"redis-cli -a «hunter2» ping", `exec: ["tool", "--password", "«hunter2»"]`,
		// URLs and DSNs
		"https://bob:«hunter2»@example.com/x", "postgres://app:«hunter2»@db:5432/x?sslmode=off", "postgresql://app:«p@ss:w/rd#1?»@db/x",
		"mongodb+srv://app:«hunter2»@a.example,b.example/db", "redis://:«hunter2»@cache:6379/0", "amqp://guest:«guest»@mq:5672/vhost",
		"app:«hunter2»@tcp(db:3306)/x?parseTime=true", "app:«p@s/s:w\"x»@tcp(db:3306)/x", "app:«hunter2»@unix(x.sock)/x",
		"app:«hunter2»@db.example:5432", "jdbc:mysql://db/x?user=app&password=«hunter2»", "jdbc:sqlserver://db;user=sa;password=«hunter2»;x=y",
		"jdbc:oracle:thin:app/«hunter2»@//db:1521/x", `postgres:\/\/app:«hunter2»@db\/x`, "sftp://bob:«a'b»@host/x", "postgres://app:«hunter2",
		"smtp://bob%40example.com:«hunter2»@mail.example:587", "https://«0123456789abcdef0123456789abcdef»@o1.ingest.example/2",
		"https://oauth2:«abcdef123»@git.example/x.git", "amqps://u:«a<b>c»@mq/x",
		// parameters
		"https://s3.example/b/k?X-Amz-Credential=«AK%2F2026»&X-Amz-Signature=«fe5f80f77d5fa3beca038a»&X-Amz-Expires=60",
		"https://storage.example/b/k?X-Goog-Signature=«0a1b2c3d4e5f»&x=1", "https://a.example/b?sv=2024&sig=«abc%2Bdef%3D»&se=2026",
		"https://a.example/cb?code=«4/0AX4XfWh-abcdef»&scope=x", "https://a.example/#access_token=«abc»&type=bearer",
		"https://a.example/x?token=«abc»", "https://a.example/x?a=1\\u0026token=«abc»\\u0026b=2", "https://a.example/x?a=1&amp;token=«abc»&amp;b=2",
		"https://a.example/go?url=«https%3A%2F%2Fb.example%2F%3Ftoken%3Dabc%26x»", "GET /v1/jobs?api_key=«abc»&x=1", "/oauth/token?client_secret=«abc»",
		"example.com/v1?token=«abc»", "https://a.example/x;jsessionid=«0A1B2C3D4E5F»?y=1", "https://a.example/x?user[password]=«abc»",
		"https://hooks.slack.com/services/T00000000/B00000000/«aB3dE5fG7hI9jK1lM3nO5pQ7»", "https://chat.example/api/webhooks/1234/«aB3dE5fG7hI9jK1lM3nO5pQ7»",
		"https://api.telegram.org/bot«7123456789:AAFaB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1v»/sendMessage",
	} {
		secrets, text := unmark(marked)
		want := marked
		for _, secret := range secrets {
			want = strings.Replace(want, "«"+secret+"»", failure.RedactedSecret, 1)
			want = strings.Replace(want, "«"+secret, failure.RedactedSecret, 1)
		}
		if diff := cmp.Diff(want, failure.Sanitize(text, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// unmark takes the marks out of a text and returns what was between them.
func unmark(marked string) (secrets []string, text string) {
	for rest := marked; ; {
		_, after, ok := strings.Cut(rest, "«")
		if !ok {
			break
		}
		secret, behind, _ := strings.Cut(after, "»")
		secrets = append(secrets, secret)
		rest = behind
	}
	return secrets, strings.NewReplacer("«", "", "»", "").Replace(marked)
}

const pemKey = `-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,0A1B

MIIEpAIBAAKCAQEAx7CaNaRyhQ2xYz9LmN4pRs8tVw1AbC3dE5fG7hI9jKlMnOpQ
rS7UvW2Yz01x3456B89abCdeFgh1jKlmn0pQr5tuV3xyzA8CDeFGh9JKlMN0PqR2
TUVWXYZcanary==
-----END RSA PRIVATE KEY-----`

// part of: F11
func TestF11_PEM(t *testing.T) {
	t.Parallel()
	lines := strings.Split(pemKey, "\n")
	body := strings.Join(lines[4:7], "\n")
	for name, text := range map[string]string{
		"in lines":          "key:\n" + pemKey + "\nend",
		"indented":          "key:\n  " + strings.Join(lines, "\n  ") + "\nend",
		"one line":          "key: " + strings.Join(lines, " ") + " end",
		"escaped":           `{"private_key":"` + strings.Join(lines, `\n`) + `","x":1}`,
		"escaped twice":     `"{\"private_key\":\"` + strings.Join(lines, `\\n`) + `\"}"`,
		"in quotes":         `PRIVATE_KEY="` + pemKey + `" x`,
		"end cut off":       "key:\n" + strings.Join(lines[:6], "\n"),
		"end cut in a line": "key:\n" + pemKey[:len(pemKey)-70],
		"beginning cut off": body + "\n-----END RSA PRIVATE KEY-----\nend",
		"cut in a line":     body[20:] + "\n-----END RSA PRIVATE KEY-----\nend",
		"lines alone":       strings.Join(lines[4:6], "\n"),
	} {
		got := failure.Sanitize(text, nil)
		for _, line := range lines[4:7] {
			if leaks(got, line) {
				t.Errorf("%s: %q leaks: %q", name, text, got)
				break
			}
		}
	}
}

// part of: F11
func TestF11_PathsAndAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"open /srv/jobs/a/x.mp4: no such file or directory", "open [PATH]: no such file or directory"},
		{`open "/srv/my jobs/x y.mp4": denied`, `open "[PATH]": denied`},
		{"open /srv/a\\ b/x.mp4: denied", "open [PATH]: denied"},
		{"stat /tmp: denied, /x.mp4 too", "stat [PATH]: denied, [PATH] too"},
		{"~/.ssh/id_rsa and ./run.sh, ../x/y", "[PATH] and [PATH], [PATH]"},
		{`C:\Users\bob\My Videos\x.mp4: not found`, `[PATH]: not found`},
		{`"C:\\Users\\bob\\x.mp4"`, `"[PATH]"`},
		{`D:/media/x.mp4`, `[PATH]`},
		{`\\server\share\x.mp4 is gone`, `[PATH] is gone`},
		{"File \"/app/x.py\", line 12, in f", "File \"[PATH]\", line 12, in f"},
		{"\t/src/worker/main.go:29 +0x473", "\t[PATH]:29 +0x473"},
		{"(/app/node_modules/x/index.js:79:67)", "([PATH]:79:67)"},
		{"at T (file:///app/worker.mjs:1:2)", "at T (file://[PATH])"},
		{"cc -I/usr/include -o/tmp/x", "cc -I[PATH] -o[PATH]"},
		{"LOG=/var/log/x.log,/var/log/y.log", "LOG=[PATH],[PATH]"},
		{`{"path":"\/srv\/jobs\/x.mp4"}`, `{"path":"[PATH]"}`},
		{"src/worker/main.go:29: bad", "[PATH]:29: bad"},
		{"PWD=/home/bob OLDPWD=/", "PWD=[PATH] OLDPWD=/"},
		{"curl -F file=@/tmp/x.bin", "curl -F file=@[PATH]"},
		{"dial tcp 10.0.0.1:8080->192.168.1.255:443: refused", "dial tcp [IP]:8080->[IP]:443: refused"},
		{"from 2001:db8::8a2e:370:7334 and [fe80::1%eth0]:22 and ::1", "from [IP] and [[IP]]:22 and [IP]"},
		{"::ffff:10.0.0.1 or fe80::, 1:2:3:4:5:6:7:8", "[IP] or [IP], [IP]"},
		{"net 10.0.0.0/8, host 1.2.3.4.", "net [IP]/8, host [IP]."},
		{"db/10.1.2.3:5432: Connection refused", "db/[IP]:5432: Connection refused"},
		{"http://10.0.0.1:8080/v1/x and http://[2001:db8::1]:80/y", "http://[IP]:8080/v1/x and http://[IP]:80/y"},
		{"https://example.com/x?ip=10.0.0.1&y", "https://example.com/x?ip=[IP]&y"},
		{"mongodb://10.0.0.1:27017,10.0.0.2:27017/db", "mongodb://[IP]:27017,[IP]:27017/db"},
	} {
		if diff := cmp.Diff(tt.want, failure.Sanitize(tt.text, nil)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// part of: F11
func TestF11_WhatStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"and/or, n/a, I/O error, TCP/IP, and a 50/50 chance", "application/json; charset=utf-8, image/svg+xml, text/html",
		"HTTP/1.1 503 Service Unavailable", "nginx/1.22.1, Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36", "version 1.2.3.4, v10.0.0.1, Go 1.26.8",
		"2026/11/20 16:11:49, 2026-11-20T16:11:49.123+01:00, 12:30", "job 14041 failed (run 3)", "retry in 1h30m, 10GB of 12.5 GB, 99%",
		"https://example.com:8443/v1/videos/123e4567-e89b-12d3-a456-426614174000/frames?part=7&size=10", "s3://bucket/uploads/2026/x.mp4: not found",
		"https://docs.example.com/en/api/rate-limits#errors.", "git@github.com:org/repo.git", "see https://example.com/?q=a&code=404",
		"request id req_011CSHoEeqs5C35K2UUqR7Fy, trace 4bf92f3577b34da6a3ce929d0e0e4736",
		"x-amz-id-2: eftixk72aD6Ap51TnqcoF8eFidJG9Z/2mkiDFu8yU9AS1ed4OpIszj7UDNEHGran", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"Password authentication failed for user \"app\"", "Access denied for user 'root'@'localhost' (using password: YES)", "password: must be at least 8 characters",
		`{"errors":{"password":["can't be blank"]}}`, `{"token":null,"secret":"","password":"required"}`, "token expired", "invalid token: expired",
		"listener:com.example.Bar@7f31245a closed", "Unexpected token: 'identifier7'", "Unexpected token: '}' in JSON at position 4", "SyntaxError: Unexpected token '<'", "max_tokens=4096, tokens: 100, \"total_tokens\":1234",
		"duplicate key value violates unique constraint \"users_key\"", "Key (email)=(x) already exists", "secrets \"web\" is forbidden",
		"Authorization: required", "Basic authentication failed", "bearer token is missing", "the secret is out", "session expired",
		`{"key":"uploads/2026/clip12","partition_key":"user:12345678901234567890"}`, "idempotency_key=f4598755-0000-0000-0000-2af2a3f63bc6",
		"std::bad_alloc, Net::ReadTimeout, ActiveRecord::ConnectionTimeoutError", "at 12:30:01@host", "regexp /^[a-z]+$/ and s/a/b/", "// a comment",
		"</html><br/>", "a -> b", "x@y", "npm ERR! @scope/pkg@1.2.3", "docker.io/library/redis:7@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"mail to bob@example.com bounced", "POST /v1/chat/completions returned 500", "GET /render/404 HTTP/1.1", "postgres://app:xxxxx@db/x", "passed=3 failed=1",
		"http://localhost:8080/x", "http://host:PORT/", "rpc error: code = Unavailable desc = transport is closing", "Нет места на диске", "连接超时",
	} {
		if got := failure.Sanitize(text, nil); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// part of: F11
func TestF11_Options(t *testing.T) {
	t.Parallel()
	text := "mail bob@example.com about token=01J8ZQ4Y3V9K5W7X2B6N8M0P1R, see https://x.example/?to=bob%40example.com and 10.0.0.1"
	if diff := cmp.Diff("mail [EMAIL] about token=01J8ZQ4Y3V9K5W7X2B6N8M0P1R, see https://x.example/?to=[EMAIL] and [IP]",
		failure.Sanitize(text, &failure.SanitizeOptions{Emails: true, Keep: []string{"01J8ZQ4Y3V9K5W7X2B6N8M0P1R"}})); diff != "" {
		t.Error(diff)
	}
	for _, limit := range []int{1, 10, 50, 100, 1000, 1 << 20} {
		for _, text := range []string{strings.Repeat("pw=x ", 1<<16), strings.Repeat("pwd=ü ", 200), strings.Repeat("é", 1000)} {
			got := failure.Sanitize(text, &failure.SanitizeOptions{Max: limit})
			if len(got) > min(limit, 64<<10) || !utf8.ValidString(got) {
				t.Errorf("at most %d: %d bytes, %q…", limit, len(got), got[:min(len(got), 80)])
			}
			if again := failure.Sanitize(got, &failure.SanitizeOptions{Max: limit}); again != got {
				t.Errorf("at most %d: %q, again %q", limit, got, again)
			}
		}
	}
}
