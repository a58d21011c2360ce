package failure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
)

// A secret is put at every place around the cuts of a long text: of Message,
// which is the first to cut, and of the sanitiser itself.
//
// part of: F11
func TestF11_CutsDivideNoSecret(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("the frame was dropped, ", 5000)
	for _, secret := range []string{"password=" + canaries["base64"], "Authorization: Bearer " + canaries["jwt"], "postgres://app:CaNaRyhunter77@db.example/x",
		"key " + canaries["openai"], `{"password": "CaNaRy and more words77"}`, pemKey, "https://x.example/?sig=CaNaRy%2B7hQ2xYz9LmN4"} {
		for _, size := range []int{9 << 10, 70 << 10} {
			head, tail := failure.MessageMax*3/4, failure.MessageMax/4
			if size > 64<<10 {
				head, tail = 48<<10, 16<<10
			}
			for shift := -60; shift < len(secret)+20; shift += size/(4<<10) - 1 {
				for _, at := range []int{head - shift, size - tail - shift} {
					text := filler[:at] + " " + secret + " " + filler[:size-at]
					for name, got := range map[string]string{
						"message":  failure.Sanitize(failure.Message(text), nil),
						"sanitise": failure.Sanitize(text, nil),
						"short":    failure.Sanitize(text, &failure.SanitizeOptions{Max: failure.MessageMax}),
					} {
						for _, canary := range []string{"CaNaRy", canaries["base64"][8:16], "CYCaNa", "77@db", "words77", "sdWIiOiJjYW", "mB92K27u", "MIIEpAIB", "x7CaNa",
							"x3456B89abCd", "TUVWXYZcanary", "9LmN4pRs"} {
							if strings.Contains(got, canary) && strings.Contains(secret, canary) {
								i := strings.Index(got, canary)
								t.Fatalf("%s, %d bytes, %q at %d: leaks …%q…", name, size, secret, at, got[max(0, i-60):min(len(got), i+60)])
							}
						}
					}
				}
			}
		}
	}
}

// A secret is found whatever stands around it, and what was replaced stays
// replaced: texts are put together by chance.
//
// part of: F11
func TestF11_SecretsAmongAnything(t *testing.T) {
	t.Parallel()
	around := []string{" ", "\n", ": ", "=", ":", ",", "; ", "\"", "'", "(", ")", "[", "]", "{", "}", "<", ">", "|", "&", "?", "#", "/", "\\", "\\n", "\\\"", "-", "--", "_",
		".", "..", "@", "%", "%20", "$", "*", "`", "“", "…", " — ", "0", "a", "Z", "x1", "1.2", "10.0.0.1", "/tmp/x", "C:\\a b\\c", "https://h/", "bob@x.com", "password",
		"token ", "key=", "id ", "Bearer ", "-u ", "[PATH]", "[REDACTED]", "[IP]", "-----BEGIN X-----", "-----END X-----", "é", "连", "mysql -px ", "at ", "tcp(", "@tcp("}
	const symbols, quoted = "!$%^*+-_=.~@#/:?|abcXYZ019", "!$%^*+-_=.~@#/:?|abcXYZ019 ,;&()[]{}"
	contexts := []struct{ format, chars string }{
		{"password=%s ", symbols}, {"password: %s\n", symbols}, {`"password":"%s"`, quoted}, {`\"password\":\"%s\"`, quoted}, {"DB_PASSWORD='%s'", quoted},
		{"token=%s\n", symbols}, {"api_key=%s ", symbols}, {"x-api-key: %s\n", symbols}, {"Authorization: Bearer %s\n", "abcXYZ019-._~+/="},
		{"Authorization: Basic %s\n", "abcXYZ019+/="}, {"{Password:%s Next:1}", "!$^*+-_=.~?abcXYZ019"}, {"<password>%s</password>", quoted},
		{"--password %s ", "abcXYZ019!$%^*+_.~"}, {"curl -u bob:%s x", symbols}, {"Password=%s;Server=x", symbols}, {"Cookie: sid=%s; a=b\n", symbols},
		{"https://h/?token=%s&x=1 ", "abcXYZ019-._~%!*()"}, {"https://u:%s@h/x ", "!$^*+-_=.~abcXYZ"}, {"redis://:%s@h ", "!$^*+-_=.~#?/abcXYZ"},
		{"app:%s@tcp(db:1)/x ", "!$^*+-_=.~#?abcXYZ019"},
	}
	random := rand.New(rand.NewSource(1))
	pick := func(n int) string {
		var b strings.Builder
		for range random.Intn(n) {
			b.WriteString(around[random.Intn(len(around))])
		}
		return b.String()
	}
	chars := func(set string) string {
		b := make([]byte, random.Intn(6))
		for i := range b {
			b[i] = set[random.Intn(len(set))]
		}
		return string(b)
	}
	for range 15_000 {
		c := contexts[random.Intn(len(contexts))]
		text := "x " + fmt.Sprintf(c.format, "a"+chars(c.chars)+"CaNaRy"+chars(c.chars)) + pick(5)
		if random.Intn(2) == 0 {
			text = pick(6) + " " + fmt.Sprintf(c.format, "hunterCaNaRy7") + pick(5)
		}
		got := failure.Sanitize(text, nil)
		if strings.Contains(got, "CaNaRy") {
			t.Errorf("%q leaks: %q", text, got)
		}
		if again := failure.Sanitize(got, nil); again != got {
			t.Errorf("%q gives %q, which gives %q", text, got, again)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, canary := range canaries {
		f.Add("dial tcp 10.0.0.1: "+canary, uint16(5))
	}
	for _, sentence := range sentences {
		f.Add(sentence, uint16(20))
	}
	f.Add(pemKey, uint16(3))
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		got := failure.Sanitize(text, nil)
		if !utf8.ValidString(got) || len(got) > 64<<10 {
			t.Fatalf("%d bytes, valid: %v", len(got), utf8.ValidString(got))
		}
		if again := failure.Sanitize(got, nil); again != got {
			t.Fatalf("%q gives %q, which gives %q", text, got, again)
		}
		if value := failure.SanitizeJSON([]byte(text), nil); len(text) > 0 && !json.Valid(value) {
			t.Fatalf("%q gives %q, which is not JSON", text, value)
		}
		if value := failure.SanitizeJSON([]byte(text), nil); json.Valid([]byte(text)) && !bytes.Equal(failure.SanitizeJSON(value, nil), value) {
			t.Fatalf("%q gives %q, which gives %q", text, value, failure.SanitizeJSON(value, nil))
		}
		// A secret that stands by itself is found whatever is around it.
		cut := min(int(at), len(text))
		const canary = "sk-ant-" + "PlAnTeD_5kW0-eRt6Yu8Io2"
		planted := text[:cut] + " " + canary + " " + text[cut:]
		if len(planted) < 60<<10 && !leaks(text, canary) && leaks(failure.Sanitize(planted, nil), canary) {
			t.Fatalf("%q leaks: %q", planted, failure.Sanitize(planted, nil))
		}
	})
}
