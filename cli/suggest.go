package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/internal/suggest"
)

// unknown is the text of an error about a name that is none of those known,
// with the nearest of them, or with all of them when none is near.
func unknown(what, name string, known []string) string {
	text := fmt.Sprintf("unknown %s %.64q", what, name)
	if hint := suggest.DidYouMean(name, known); hint != "" {
		return text + hint
	}
	if len(known) == 0 {
		return text
	}
	return text + "; known are " + suggest.List(known)
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
