package config

import "github.com/redrive/redrive/internal/yamlfile"

// Problem is one error in a configuration file.
type Problem = yamlfile.Problem

// Problems holds all errors of a file, sorted by position.
type Problems = yamlfile.Problems

// reader reads one configuration file.
type reader struct{ *yamlfile.Reader }

func newReader(file string) *reader {
	return &reader{yamlfile.NewReader(file, yamlfile.About{
		Noun:    "a configuration",
		Example: "database: jobs.db",
		Start:   `define at least one kind under "kinds"`,
		Depth:   5,
		Renamed: map[string]string{"max_attempts_ceiling": "max_attempts"},
	})}
}

type (
	value    = yamlfile.Value
	field    = yamlfile.Field
	position = yamlfile.Position
)
