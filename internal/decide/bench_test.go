package decide_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// BenchmarkOutcome measures all that follows from a failure: evidence, class, decision, removal of
// secrets and fingerprint.
func BenchmarkOutcome(b *testing.B) {
	const line = "attempt 3: upload of video 8812: storage.example.com: put part 7 of 12: connection refused (request id req_011CSHoEeqs5C35K2, after 1.5s)\n"
	one, rules := 1, policy.Default()
	for _, bb := range []struct {
		name     string
		evidence func() failure.Evidence
	}{
		{"text", func() failure.Evidence { return failure.Of(errors.New(line)) }},
		{"10 MiB", func() failure.Evidence { return failure.Of(errors.New(huge)) }},
		{"output of 64 KiB", func() failure.Evidence {
			return failure.Evidence{Message: "exit code 1", Exit: &one, Stderr: failure.Output(output)}
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e := bb.evidence()
				_, _ = decide.Outcome(&decide.Input{Policy: rules, Claim: aClaim(), Ending: &job.Ending{Evidence: &e, How: job.ByError}})
			}
		})
	}
}

var (
	huge   = strings.Repeat("frame dropped while the encoder was busy\n", 10<<20/41)
	output = bytes.Repeat([]byte("\x1b[31mframe dropped\x1b[0m while the encoder was busy\n"), failure.StderrMax/50)
)
