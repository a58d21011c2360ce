package policyfile

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Limits on the contents of a file. Every value is checked against one of them.
const (
	// MaxBytes is the size of the largest file that is read.
	MaxBytes = yamlfile.MaxBytes
	// RenderedMax is the length, in bytes, of the longest text that Render may make of
	// a file. A store keeps no longer text.
	RenderedMax = 1 << 20
	// Version is the only version of the format.
	Version = 1

	attemptsMin, attemptsMax = 1, policy.MaxAttemptsLimit
	retriesMin, retriesMax   = 0, attemptsMax - 1
	ageMin, ageMax           = time.Millisecond, policy.MaxAgeLimit
	waitMax                  = backoff.Max
	hintMin                  = time.Nanosecond // 0 would mean the default; off and none mean no hint
	waitsMax                 = backoff.WaitsMax
	priorityMin, priorityMax = job.PriorityMin, job.PriorityMax
	afterMin, afterMax       = 1, attemptsMax
	statusMin, statusMax     = 100, 599
	exitMin, exitMax         = 0, 255
	rulesMax                 = policy.RulesMax
	matchesMax               = 1000 // entries of each list under classify

	costMax      = 1_000_000 // US dollars
	microsDollar = 1_000_000 // the unit of costs: millionths of a dollar

	// Limits on the work that a condition can cause.
	whenLengthMax = 1000 // bytes
	whenNodesMax  = 200
)
