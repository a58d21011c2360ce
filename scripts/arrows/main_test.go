package main

import (
	"strings"
	"testing"
)

// The files of the packages that read and classify failures can be read one after the other: no file uses one that
// uses it.
func TestFilesOfFailureUseEachOtherInOneDirection(t *testing.T) {
	t.Chdir("../..")
	rooms, err := count([]string{
		"failure", "classify", "internal/fingerprint", "internal/lines", "internal/phrase", "internal/plaintext", "internal/redact",
		"internal/weigh",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		if len(r.up) > 0 {
			t.Errorf("%s: %d of %d arrows between files go back up, want 0:\n%s", r.dir, len(r.up), r.arrows, strings.Join(r.up, "\n"))
		}
	}
	scanner, err := count([]string{"internal/scan"})
	if err != nil {
		t.Fatal(err)
	}
	// The scanner reads a token in a token, such as the text in front of a secret, so its files call each other. They must not
	// do so more than now.
	if r := scanner[0]; len(r.up) > 131 {
		t.Errorf("%s: %d of %d arrows between files go back up, want at most 131: what a new file needs is in state.go and token.go", r.dir, len(r.up), r.arrows)
	}
	if rooms[1].arrows < 100 {
		t.Errorf("classify has %d arrows, want more than 100: the count is wrong", rooms[1].arrows)
	}
}
