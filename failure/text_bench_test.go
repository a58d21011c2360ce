package failure_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// ordinary is a text of 200 bytes in which there is nothing to replace, and
// dirty one of the same length in which there is.
const (
	ordinary = `attempt 3: upload of video 8812: storage.example.com: put part 7 of 12: connect: connection refused (request id ` +
		`req_011CSHoEeqs5C35K2, after 1.5s, region eu-central-1, giving up after 4 tries, last 503)`
	dirty = `attempt 3: upload of /srv/media/8812.mp4: Put "https://storage.example.com/b/v1/o?part=7&token=abc": dial tcp ` +
		`10.12.0.7:443: connect: connection refused (password=hunter2, after 1.5s, giving up, 4)`
)

func BenchmarkSanitize(b *testing.B) {
	huge := strings.Repeat(ordinary+"\n", 10<<20/len(ordinary))
	for _, bb := range []struct{ name, text string }{{"200B clean", ordinary}, {"200B dirty", dirty}, {"10MiB", huge}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				failure.Sanitize(bb.text, nil)
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		failure.Fingerprint("transcribe", failure.UnknownError, "http.503", ordinary)
	}
}
