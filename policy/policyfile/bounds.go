package policyfile

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// The limits on the contents of a file. Each value is checked against one of them.
const (
	// MaxBytes is the largest size of a file.
	MaxBytes = yamlfile.MaxBytes
	// RenderedMax is the largest length, in bytes, of the text that Render makes of a file.
	// A store cannot keep a longer text.
	RenderedMax = 1 << 20
	// Version is the only version of the format.
	Version = 1

	attemptsMin, attemptsMax = 1, policy.MaxAttemptsLimit
	retriesMin, retriesMax   = 0, attemptsMax - 1
	ageMin, ageMax           = time.Millisecond, policy.MaxAgeLimit
	waitMax                  = backoff.Max
	timeoutMin               = time.Second
	hintMin                  = time.Nanosecond // the smallest allowed value; 0 cannot be allowed, because in a Spec 0 means the default
	waitsMax                 = backoff.WaitsMax
	priorityMin, priorityMax = job.PriorityMin, job.PriorityMax
	afterMin, afterMax       = 1, attemptsMax
	statusMin, statusMax     = 100, 599
	exitMin, exitMax         = 0, 255
	rulesMax                 = policy.RulesMax
	matchesMax               = 1000 // largest number of entries in each list under classify

	costMax      = 1_000_000 // largest cost in US dollars
	microsDollar = 1_000_000 // costs are stored in millionths of a dollar

	// The limits on the work that a condition can cause.
	whenLengthMax = 1000 // maximum length of a condition in bytes
	whenNodesMax  = 200
)
