package policyfile

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// What a file may hold. Everything that is read is checked against one of these.
const (
	// MaxBytes is the size of the largest file that is read.
	MaxBytes = yamlfile.MaxBytes
	// RenderedMax is the length of the longest text, in bytes, that Render may make
	// of a file: a store keeps no longer one.
	RenderedMax = 1 << 20
	// Version is the only version of the format.
	Version = 1

	attemptsMin, attemptsMax = 1, policy.MaxAttemptsLimit
	retriesMin, retriesMax   = 0, attemptsMax - 1
	ageMin, ageMax           = time.Millisecond, policy.MaxAgeLimit
	waitMax                  = backoff.Max
	hintMin                  = time.Nanosecond // 0 would be the default: off and none say that there is nothing
	waitsMax                 = backoff.WaitsMax
	priorityMin, priorityMax = job.PriorityMin, job.PriorityMax
	afterMin, afterMax       = 1, attemptsMax
	statusMin, statusMax     = 100, 599
	exitMin, exitMax         = 0, 255
	rulesMax                 = policy.RulesMax
	matchesMax               = 1000 // of each list under classify

	costMax      = 1_000_000 // US dollars
	microsDollar = 1_000_000 // what a dollar is counted in

	// What bounds the work of a condition.
	whenLengthMax = 1000 // bytes
	whenNodesMax  = 200
)
