package job_test

import (
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Fingerprints are stored, so a change of their form would split existing groups. A failure that a
// store writes gets the same fingerprint as a failure of a handler.
//
// part of: D6
func TestD6_FormOfAFingerprint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, class, code, want string }{
		{"render", "Crash", "lease_lost", "2:b242050919fdbdf2"},
		{"render", "", "expired", "2:10b47344d46ff586"},
	} {
		got := job.Fingerprint(tt.kind, tt.class, tt.code)
		if got != tt.want {
			t.Errorf("fingerprint of (%q, %q, %q) is %q, want %q", tt.kind, tt.class, tt.code, got, tt.want)
		}
		if p := failure.Fingerprint(tt.kind, failure.Class(tt.class), tt.code, ""); p.Key != got {
			t.Errorf("job.Fingerprint(%q, %q, %q) is %q, but failure.Fingerprint gives %q; want the same fingerprint", tt.kind, tt.class, tt.code, got, p.Key)
		}
	}
}
