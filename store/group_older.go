package store

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
)

// Succeeds reports whether a new group has the cause of a group that older rules made: both have the
// same kind, class and code, and their messages the same fingerprint by the present rules. The new
// group takes over what people have said about the cause: mute, name, assignee, resolution and set.
func (g *Group) Succeeds(old *Group) bool {
	now, before := fingerprintVersion(g.Fingerprint), fingerprintVersion(old.Fingerprint)
	if now == 0 || before == 0 || before >= now || g.Kind != old.Kind || g.Class != old.Class || g.Code != old.Code {
		return false
	}
	print := func(g *Group) string {
		return failure.Fingerprint(g.Kind, failure.Class(g.Class), g.Code, g.Message).Key
	}
	return print(g) == print(old)
}

// TakeOver copies what people have said about a cause from the group of an earlier version.
func (g *Group) TakeOver(old *Group) {
	g.Muted, g.MutedUntil, g.MutedFor = old.Muted, old.MutedUntil, old.MutedFor
	g.Name, g.Assignee, g.AssignedAt = old.Name, old.Assignee, old.AssignedAt
	g.ResolvedAt, g.ResolvedBy, g.RegressedAt = old.ResolvedAt, old.ResolvedBy, old.RegressedAt
	g.Set = old.Set
}

// SaidAbout reports whether people have said something about the cause of a group that a group of a
// later version takes over.
func (g *Group) SaidAbout() bool {
	return g.Muted || g.Name != "" || g.Assignee != "" || g.ResolvedAt != 0 || g.Set != ""
}

// fingerprintVersion returns the version of the rules that made a fingerprint, or 0 for a text of
// another form.
func fingerprintVersion(fingerprint string) int {
	version, _, found := strings.Cut(fingerprint, ":")
	n, err := strconv.Atoi(version)
	if !found || err != nil || n < 1 {
		return 0
	}
	return n
}
