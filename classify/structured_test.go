package classify_test

import (
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Without the built-in rules, the statuses of a policy count in words, too, and nothing else does.
//
// part of: F2, P5
func TestF2_P5_StatusesInWordsCountWithoutTheBuiltinRules(t *testing.T) {
	t.Parallel()
	c, problems := classify.NewClassifier(classify.Rules{NoBuiltin: true, Statuses: []classify.StatusRule{
		{From: 429, Class: failure.RateLimitExceeded}, {From: 503, Class: failure.TemporaryServiceError},
	}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for want, all := range map[failure.Class][]failure.Evidence{
		failure.RateLimitExceeded:     {{Message: "upstream returned 429 Too Many Requests"}, {Message: "HTTP 429"}, {GRPC: "ResourceExhausted", Message: "x"}},
		failure.TemporaryServiceError: {{Message: `{"status":503}`}, {Message: "statusCode=503"}, {GRPC: "Unavailable", Message: "x"}},
		failure.UnknownError: {
			{Message: "connection refused"}, {Message: "rate limit exceeded"}, {Message: "job 503 of 429 rows"}, {Message: "HTTP 501 not implemented"},
			{Message: "550 5.7.1 relay denied"},
		},
	} {
		for i := range all {
			if got := c.Classify(&all[i], ""); got.Class != want {
				t.Errorf("%q %s: got %s by %s, want %s", all[i].Message, all[i].GRPC, got.Class, got.Rule, want)
			}
		}
	}
}
