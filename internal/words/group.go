package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// shortGroupLen is the length of the short name of a group. A fingerprint such as
// "2:0123456789abcdef" has a version before the colon. The short name is the beginning of
// the part after the colon.
const shortGroupLen = 8

// ShortGroup returns the short name of the group that has this fingerprint.
func ShortGroup(fingerprint string) string {
	_, key, ok := strings.Cut(fingerprint, ":")
	if !ok {
		key = fingerprint
	}
	return key[:min(len(key), shortGroupLen)]
}

// GroupNames returns the short name of a group, or how many groups of a set it stands for.
func GroupNames(g *store.Group) string {
	if g.Fingerprint == "" && len(g.Groups) > 0 {
		return Count(int64(len(g.Groups)), "group")
	}
	return ShortGroup(g.Fingerprint)
}

// GroupCause returns one line about the common cause of the dead letters in a group.
func GroupCause(g *store.Group) string {
	switch message := FirstLine(g.Message); {
	case g.Name != "":
		return g.Name
	case message != "":
		return message
	case g.Code != "":
		return g.Code
	case g.Class == "":
		return "died before it could run"
	}
	return ""
}

// GroupStanding says how many jobs became dead in a group, and whether the group is
// ignored.
func GroupStanding(g *store.Group, now job.Micros) string {
	text := ShortGroup(g.Fingerprint) + ": no other job has died of this"
	if g.N > 1 {
		text = fmt.Sprintf("%s: %s by this cause, %s pending; first %s, last %s", ShortGroup(g.Fingerprint), Count(g.N, "death"),
			Number(g.Pending), Away(g.FirstAt, now), Away(g.LastAt, now))
	}
	if note := Muted(g, now); note != "" {
		text += "; ignored " + note
	}
	return text
}

// Muted says until when a group is ignored. It returns "" if the group is not ignored.
func Muted(g *store.Group, now job.Micros) string {
	if !g.Muted {
		return ""
	}
	var parts []string
	if g.MutedFor > 0 {
		parts = append(parts, "for "+Count(g.MutedFor, "more death"))
	}
	if g.MutedUntil > 0 {
		parts = append(parts, "until "+Away(g.MutedUntil, now))
	}
	return strings.Join(parts, ", ")
}

// sparks are the characters of a sparkline, from the lowest to the highest bar. The first
// character stands for zero.
const sparks = "▁▂▃▄▅▆▇█"

// Sparkline draws each number as a bar. The height is relative to the largest number, and
// every number above zero has a visible bar.
func Sparkline(numbers []int64) string {
	if len(numbers) == 0 {
		return ""
	}
	heights := []rune(sparks)
	line := make([]rune, len(numbers))
	most := max(slices.Max(numbers), 1)
	for i, n := range numbers {
		height := 0
		if n > 0 {
			height = 1 + int(float64(n-1)/float64(most)*float64(len(heights)-1))
		}
		line[i] = heights[min(height, len(heights)-1)]
	}
	return string(line)
}
