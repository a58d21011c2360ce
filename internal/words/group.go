package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A group is named by its fingerprint, "1:0123456789abcdef"; people see and write
// the beginning of what follows the version.
const shortGroupLen = 8

// ShortGroup returns the name of a group as people see it.
func ShortGroup(fingerprint string) string {
	_, key, ok := strings.Cut(fingerprint, ":")
	if !ok {
		key = fingerprint
	}
	return key[:min(len(key), shortGroupLen)]
}

// GroupCause is what the dead letters of a group have in common, in one line.
func GroupCause(g *store.Group) string {
	switch message := FirstLine(g.Message); {
	case message != "":
		return message
	case g.Code != "":
		return g.Code
	case g.Class == "":
		return "died before it could run"
	}
	return ""
}

// GroupStanding says how many died of a group's cause, and whether it is ignored.
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

// Muted says until when a group is ignored; "" when it is not.
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

// sparks are the heights of a sparkline; the first is for zero.
const sparks = "▁▂▃▄▅▆▇█"

// Sparkline draws numbers as heights, as parts of the largest of them. A number that
// is not zero is always visible.
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
