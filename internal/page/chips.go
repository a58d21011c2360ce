package page

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// chip is one filter of a list, with the link that removes it.
type chip struct {
	Name, Value string
	Without     template.URL
}

// chipNames are the names of parameters on a chip, if these differ.
var chipNames = map[string]string{
	"task_type": "kind", "from_date": "died since", "to_date": "died until", "to": "new state", "redrive": "retried by redrive",
}

// chipTimes are the parameters that are times.
var chipTimes = [...]string{"from_date", "to_date", "since", "until"}

// chipsOf returns the filters of a query among the given names. Times are written in the zone.
func chipsOf(query url.Values, zone *time.Location, names ...string) (chips []chip) {
	for _, name := range names {
		value := query.Get(name)
		if value == "" {
			continue
		}
		without := url.Values{}
		for k, values := range query {
			if k != name && k != "cursor" && k != "skip" {
				without[k] = values
			}
		}
		c := chip{Name: cmp.Or(chipNames[name], name), Value: words.Shorten(words.Clean(value), 60), Without: queryOf(without)}
		if slices.Contains(chipTimes[:], name) {
			c.Value = timeOfChip(value, zone)
			if verb := map[string]string{"ended": "ended ", "due": "due "}[query.Get("order")]; name == "since" || name == "until" {
				c.Name = verb + name
			}
		}
		chips = append(chips, c)
	}
	return chips
}

// timeOfChip writes the time of a parameter: a duration is one ago.
func timeOfChip(value string, zone *time.Location) string {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at.In(zone).Format("2 Jan 15:04:05 ") + zoneName(zone, job.At(at))
	}
	if _, err := human.ParseDuration(value); err == nil {
		return words.Clean(value) + " ago"
	}
	return words.Shorten(words.Clean(value), 60)
}
