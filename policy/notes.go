package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

var saysNotified = regexp.MustCompile(`(?i)\bnotified\b`)

// Notes returns what a reader of the policy should know although it is valid: texts for users that say
// that somebody was notified, which is not true of every job.
func (s *Spec) Notes() (notes []string) {
	for _, class := range slices.Sorted(maps.Keys(s.Classes)) {
		c := s.Classes[class]
		for _, text := range []struct{ name, text string }{{"retrying", c.Retrying}, {"dead", c.Dead}} {
			if saysNotified.MatchString(text.text) {
				notes = append(notes, fmt.Sprintf("classes.%s.messages.%s says that somebody was notified, which is not always true: move this sentence to "+
					"messages.notified, which users read only if a rule of notifications lets a team hear of the death", class, text.name))
			}
		}
	}
	return notes
}
