package words

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/store"
)

// stopNames say what a share of a redrive counts, and stopUnits of what it is a share.
var (
	stopNames = map[store.RedriveRule]string{
		store.StopAgain: "failed again by the same cause", store.StopOther: "failed by another cause", store.StopDead: "dead again",
	}
	stopUnits = map[store.RedriveRule]string{store.StopAgain: "first attempt", store.StopOther: "first attempt", store.StopDead: "job"}
)

// StopName returns the name of a share that can stop a redrive.
func StopName(rule store.RedriveRule) string { return stopNames[rule] }

// StopShare says how large a share of a redrive is, and above what share it stops.
func StopShare(s store.RedriveStop) string {
	stops := "This does not stop it."
	if s.Limit < 1 {
		stops = fmt.Sprintf("It stops by itself above %.4g %%.", s.Limit*100)
	}
	now := fmt.Sprintf("No %s has ended yet.", stopUnits[s.Rule])
	if s.Of > 0 {
		now = fmt.Sprintf("%s of %s %s, %s.", Number(s.N), Count(s.Of, stopUnits[s.Rule]), stopNames[s.Rule], share(float64(s.N)/float64(s.Of)))
	}
	return now + " " + stops
}

// stopPlan says when a redrive stops by itself.
func stopPlan(r *store.Redrive) string {
	var parts []string
	for _, s := range []struct {
		limit float64
		what  string
	}{{r.StopShare, "of first attempts fail again by the same cause"}, {r.StopOther, "fail by another cause"}, {r.StopDead, "of ended jobs are dead"}} {
		if s.limit < 1 {
			parts = append(parts, fmt.Sprintf("more than %.4g %% %s", s.limit*100, s.what))
		}
	}
	if len(parts) == 0 {
		return "does not stop by itself"
	}
	return "stops when " + strings.Join(parts, ", or ")
}

// causesShown is the number of causes that a line names.
const causesShown = 3

// StopCauses names the most frequent causes that a share of a redrive counts, such as
// "12 in 0aaa571e (NetworkTimeout: i/o timeout), 3 others". It returns "" if the share counts nothing.
func StopCauses(r *store.Redrive, rule store.RedriveRule) string {
	var parts []string
	others := int64(0)
	for _, c := range r.CausesOf(rule) {
		switch {
		case c.Fingerprint == "" || len(parts) == causesShown:
			others += c.N
		default:
			what := c.Class
			if text, _, _ := strings.Cut(c.Message, "\n"); text != "" {
				what += ": " + Shorten(text, 60)
			}
			parts = append(parts, fmt.Sprintf("%s in %s (%s)", Number(c.N), ShortGroup(c.Fingerprint), what))
		}
	}
	if others > 0 {
		parts = append(parts, Number(others)+" others")
	}
	return strings.Join(parts, ", ")
}
