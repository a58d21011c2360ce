// Package cron computes the times of a periodic schedule. These times are called slots.
//
// A slot is an instant. A schedule of five fields names times on the clocks of a time
// zone. Its slots are the instants at which the clocks show these times:
//
//   - If the clocks are put forward in spring, they skip some times. A skipped time has its
//     slot at the moment of the change: a job for 02:30 is due when 02:00 becomes 03:00.
//     All times that one change skips share one slot.
//   - If the clocks are put back in autumn, they show some times twice. Such a time has one
//     slot, when the clocks show it first.
//   - A schedule with slots in every hour of the day follows real time instead:
//     "*/15 * * * *" has a slot every 15 minutes in those nights too.
//
// "@every 90s" does not depend on a time zone: its slots are the whole multiples of 90 s
// since 1970 in UTC, so they are the same for every process.
package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/robfig/cron/v3"

	"github.com/redrive/redrive/internal/human"
)

// The limits of a schedule.
const (
	TextMax  = 256                  // the largest length of the text of a schedule, in bytes
	EveryMin = time.Second          // the shortest interval of @every
	EveryMax = 366 * 24 * time.Hour // the longest interval of @every
	// Horizon is how far in the future the next slot may be. Parse refuses a schedule
	// without a slot in this time, such as "0 0 30 2 *".
	Horizon = 5 * 366 * 24 * time.Hour
)

// segmentsMax is the largest number of clock changes that the search for one slot passes.
const segmentsMax = 64

// Expression is a parsed periodic schedule. It is immutable.
type Expression struct {
	text   string
	zone   *time.Location
	every  time.Duration // the interval of @every; 0 means that the schedule has five fields
	fields *cron.SpecSchedule
	hourly bool // whether the schedule has slots in every hour of the day
}

// Problem is a mistake in the text of a schedule.
type Problem struct {
	Offset  int // position of the mistake in characters, starting at 0
	Message string
}

func (p *Problem) Error() string { return p.Message }

// field describes one of the five fields of a schedule.
type field struct {
	name   string
	parser cron.ParseOption
	values string
	most   int // the largest step that is allowed in the field
}

var fields = [...]field{
	{"minute", cron.Minute, "0 to 59", 59},
	{"hour", cron.Hour, "0 to 23", 23},
	{"day of the month", cron.Dom, "1 to 31", 30},
	{"month", cron.Month, "1 to 12 or JAN to DEC", 11},
	{"day of the week", cron.Dow, "0 to 6 or SUN to SAT", 6},
}

// words are the schedules that have a name, such as @daily, with their five fields.
var words = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// Meaning returns the five fields of a named schedule, such as @daily. ok is false if there is
// no such name.
func Meaning(name string) (fields string, ok bool) {
	fields, ok = words[name]
	return fields, ok
}

const wanted = `write the five fields minute, hour, day of the month, month and day of the week, such as "*/5 * * * *", ` +
	`or @hourly, @daily, @weekly, @monthly, @yearly, or "@every 90s"`

// Parse parses a schedule for a time zone; nil means UTC. If the text has a mistake, the error
// is a *Problem.
func Parse(text string, zone *time.Location) (*Expression, error) {
	if zone == nil {
		zone = time.UTC
	}
	if len(text) > TextMax {
		return nil, &Problem{0, fmt.Sprintf("the schedule has %d bytes: at most %d", len(text), TextMax)}
	}
	s := &Expression{text: text, zone: zone}
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return nil, &Problem{0, "the schedule is empty; " + wanted}
	case strings.HasPrefix(trimmed, "TZ=") || strings.HasPrefix(trimmed, "CRON_TZ="):
		return nil, &Problem{0, "a schedule does not name its zone; set the time zone beside it"}
	case strings.HasPrefix(trimmed, "@"):
		return s, s.named(trimmed)
	}
	return s, s.parse(text)
}

// named parses a schedule that begins with an @.
func (s *Expression) named(text string) error {
	if meaning, ok := words[text]; ok {
		return s.parse(meaning)
	}
	span, ok := strings.CutPrefix(text, "@every ")
	if !ok {
		return &Problem{0, fmt.Sprintf("there is no schedule %.40q; %s", text, wanted)}
	}
	every, err := human.ParseDuration(strings.TrimSpace(span))
	if err != nil || every < EveryMin || every > EveryMax || every%time.Second != 0 {
		return &Problem{0, fmt.Sprintf("@every %.40q must be whole seconds from 1s to 8784h, such as @every 90s", span)}
	}
	s.every = every
	return nil
}

// parse parses five fields one by one, so that a Problem has the offset of the wrong field.
func (s *Expression) parse(text string) error {
	parts, offsets := split(text)
	if len(parts) != len(fields) {
		return &Problem{0, fmt.Sprintf("the schedule has %d fields and needs 5; %s", len(parts), wanted)}
	}
	for i, f := range fields {
		if strings.ContainsRune(parts[i], '=') || !readable(f.parser, parts[i]) { // the library would parse "=" as part of a time zone
			return &Problem{offsets[i], fmt.Sprintf("the %s %.40q cannot be read: it is *, or values of %s, "+
				"as one (5), a list (1,15), a range (1-5) or with steps (*/10)", f.name, parts[i], f.values)}
		}
		if step, ok := largeStep(parts[i], f.most); ok {
			return &Problem{offsets[i], fmt.Sprintf("the %s %.40q goes in steps of %d, which is beyond its values, %s: "+
				"it would begin anew each time; use @every for other spans", f.name, parts[i], step, f.values)}
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(strings.Join(parts, " "))
	spec, ok := parsed.(*cron.SpecSchedule)
	if err != nil || !ok {
		return &Problem{0, fmt.Sprintf("the schedule %.40q cannot be read; %s", text, wanted)}
	}
	spec.Location = time.UTC // s.local computes with clock times as if the time zone were UTC
	const everyHour = 1<<24 - 1
	s.fields, s.hourly = spec, spec.Hour&everyHour == everyHour
	if s.local(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return &Problem{offsets[2], fmt.Sprintf("the schedule %q never comes: no month of it has such a day", text)}
	}
	return nil
}

func readable(o cron.ParseOption, part string) bool {
	_, err := cron.NewParser(o).Parse(part)
	return err == nil
}

// split returns the words of a text, and the offset of each word in characters.
func split(text string) (parts []string, offsets []int) {
	at := 0
	begin := -1 // the offset of the first byte of the current word, or -1 between words
	for i, r := range text {
		switch space := unicode.IsSpace(r); {
		case space && begin >= 0:
			parts, begin = append(parts, text[begin:i]), -1
		case !space && begin < 0:
			begin, offsets = i, append(offsets, at)
		}
		at++
	}
	if begin >= 0 {
		parts = append(parts, text[begin:])
	}
	return parts, offsets
}

// largeStep returns the first step in a field that is too large for the values of the field. ok
// is false if no step is too large.
func largeStep(part string, most int) (step int, ok bool) {
	for item := range strings.SplitSeq(part, ",") {
		_, text, found := strings.Cut(item, "/")
		if !found {
			continue
		}
		if _, err := fmt.Sscanf(text, "%d", &step); err == nil && step > most {
			return step, true
		}
	}
	return 0, false
}

// Zone returns a time zone by its name in the IANA database; "" means UTC. It refuses
// "Local", which is the zone of the machine and may differ between processes.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, errors.New("there is no such time zone here; use a name such as Europe/Berlin or UTC, " +
			"and install the tzdata package if that is missing")
	}
	return zone, nil
}

// String returns the text of the schedule.
func (s *Expression) String() string { return s.text }

// Identity returns a text for the slots of the schedule: its fields with single spaces and
// the name of its time zone, or @every with its interval. Schedules with the same Identity
// have the same slots.
func (s *Expression) Identity() string {
	if s.every > 0 {
		return "@every " + s.every.String()
	}
	text := strings.Join(strings.Fields(s.text), " ")
	if meaning, ok := words[text]; ok {
		text = meaning
	}
	return text + " " + s.zone.String()
}

// Location returns the time zone of the schedule.
func (s *Expression) Location() *time.Location { return s.zone }
