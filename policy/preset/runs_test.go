package preset_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/policy"
)

// proves: P1, P2, P4
func TestP1_P2_P4_RunLimitsOfThePresets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]policy.RunSpec{
		"transcribe": {Timeout: 2 * time.Hour},
		"render":     {Timeout: 300_000 * time.Millisecond, MaxCrashes: 2, Codes: policy.Codes{TimeLimit: "FFMPEG_TIMEOUT", Command: "FFMPEG_ERROR"}},
		"watermark":  {Timeout: policy.TimeoutMax, Codes: policy.Codes{MissingInput: "INPUT_MISSING"}},
	} {
		p := load(t, name, "").Policy
		if diff := cmp.Diff(want, p.RunsOf("any")); diff != "" {
			t.Errorf("preset %s (-want +got):\n%s", name, diff)
		}
	}
}
