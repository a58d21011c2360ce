package classify_test

import (
	"testing"

	"github.com/redrive/redrive/failure"
)

// What has no name cannot be missing: where a text names nothing, it is not known whether another attempt would help.
//
// part of: F8
func TestUnnamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]failure.Class{
		"cat: '': No such file or directory":                             failure.UnknownError,
		`open "": no such file or directory`:                             failure.UnknownError,
		"open : no such file or directory":                               failure.UnknownError,
		"diff: : No such file or directory":                              failure.UnknownError,
		"find: ‘’: No such file or directory":                            failure.UnknownError,
		"open : open /tmp/x: no such file or directory":                  failure.NotFound,
		"No service found for namespace '', name 'ZEX_ORDER_SRV' (1000)": failure.NotFound,
		`{"error": "file not found", "detail": ""}`:                      failure.NotFound,
		"Erreur : fichier introuvable":                                   failure.NotFound,
	} {
		if got := classOf(failure.Evidence{Message: text}); got.Class != want {
			t.Errorf("%s: got %s by %s, want %s", text, got.Class, got.Rule, want)
		}
	}
}
