package retry

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// The sources of a setting.
const (
	fromDefault = "default"
	fromOptions = "options"
	fromPreset  = "preset"
)

// Setting is one effective option.
type Setting struct {
	Name  string // name of the field in Options
	Value string
	From  string // "default", "options", "preset", or the name of an environment variable
}

// field is an option that can be printed.
type field struct {
	name string
	text func(*Options) string
}

var fields = []field{
	{"Operation", func(o *Options) string { return o.Operation }},
	{"Dependency", func(o *Options) string { return o.Dependency }},
	{"Retries", func(o *Options) string { return countOrNone(o.Retries) }},
	{"Backoff", func(o *Options) string {
		if isZero(&o.Backoff) {
			return ""
		}
		return o.Backoff.String()
	}},
	{"AttemptTimeout", func(o *Options) string { return span(o.AttemptTimeout) }},
	{"MaxElapsed", func(o *Options) string { return span(o.MaxElapsed) }},
	{"MinUseful", func(o *Options) string { return span(o.MinUseful) }},
	{"Lease", func(o *Options) string { return span(o.Lease) }},
	{"HintCap", func(o *Options) string { return span(o.HintCap) }},
	{"CutHints", func(o *Options) string { return yes(o.CutHints) }},
	{"HandOver", func(o *Options) string { return span(o.HandOver) }},
	{"HandOverJitter", func(o *Options) string { return span(o.HandOverJitter) }},
	{"HandOverCap", func(o *Options) string { return span(o.HandOverCap) }},
	{"Statuses", func(o *Options) string { return statuses(o.Statuses) }},
	{"Classes", func(o *Options) string { return classes(o.Classes) }},
	{"RetryUnknown", func(o *Options) string { return yes(o.RetryUnknown) }},
	{"NotIdempotent", func(o *Options) string { return yes(o.NotIdempotent) }},
	{"Keyed", func(o *Options) string { return yes(o.Keyed) }},
}

// sourcesOf returns a map from the name of each option that is set to the given source.
func sourcesOf(o *Options, source string) map[string]string {
	from := map[string]string{}
	for _, f := range fields {
		if f.text(o) != "" {
			from[f.name] = source
		}
	}
	return from
}

// Settings returns the effective options that can be printed. It leaves out options that
// are switched off.
func (p *Strategy) Settings() []Setting {
	var all []Setting
	for _, f := range fields {
		if v := f.text(&p.o); v != "" {
			s := Setting{Name: f.name, Value: v, From: p.from[f.name]}
			if s.From == "" {
				s.From = fromDefault
			}
			all = append(all, s)
		}
	}
	return all
}

// String returns the effective options with their sources, one per line.
func (p *Strategy) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "retry strategy %q\n", p.name)
	for _, s := range p.Settings() {
		fmt.Fprintf(&b, "  %-15s %s  (%s)\n", s.Name, s.Value, s.From)
	}
	return b.String()
}

func countOrNone(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 0:
		return "none"
	}
	return strconv.Itoa(n)
}

func span(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 0:
		return "none"
	}
	return backoff.Short(d)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// statuses formats verdicts by status, such as "400-428 permanent, 429 throttle".
func statuses(m map[int]failure.Verdict) string {
	var parts []string
	keys := slices.Sorted(maps.Keys(m))
	for i := 0; i < len(keys); {
		last := i
		for last+1 < len(keys) && keys[last+1] == keys[last]+1 && m[keys[last+1]] == m[keys[i]] {
			last++
		}
		text := strconv.Itoa(keys[i])
		if last > i {
			text += "-" + strconv.Itoa(keys[last])
		}
		parts = append(parts, text+" "+string(m[keys[i]]))
		i = last + 1
	}
	return strings.Join(parts, ", ")
}

func classes(m map[failure.Class]failure.Verdict) string {
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, string(c)+" "+string(m[c]))
	}
	return strings.Join(parts, ", ")
}
