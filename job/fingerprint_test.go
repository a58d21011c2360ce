package job_test

import (
	"testing"

	"github.com/redrive/redrive/job"
)

// The form is stored: groups that exist would be split by another one.
//
// part of: D6
func TestD6_FormOfAFingerprint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, class, code, want string }{
		{"render", "NetworkTimeout", "http.503", "render|NetworkTimeout|http.503"},
		{"render", "Panic", "", "render|Panic|"},
		{"render", "", "expired", "render||expired"},
		{"a/b:c", "", "", "a/b:c||"},
	} {
		if got := job.Fingerprint(tt.kind, tt.class, tt.code); got != tt.want {
			t.Errorf("fingerprint of (%q, %q, %q) is %q, want %q", tt.kind, tt.class, tt.code, got, tt.want)
		}
	}
}
