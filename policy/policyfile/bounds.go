package policyfile

import (
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/yamlfile"
)

// What a file may hold. Everything that is read is checked against one of these.
const (
	// MaxBytes is the size of the largest file that is read.
	MaxBytes = yamlfile.MaxBytes
	// Version is the only version of the format.
	Version = 1

	attemptsMin, attemptsMax = 1, 1000
	retriesMin, retriesMax   = 0, attemptsMax - 1
	ageMin, ageMax           = time.Second, 365 * yamlfile.Day
	waitMax                  = backoff.Max
	waitsMax                 = backoff.WaitsMax
	priorityMin, priorityMax = 1, 4
	afterMin, afterMax       = 1, 1000
	statusMin, statusMax     = 100, 599
	exitMin, exitMax         = 0, 255
	rulesMax                 = 100
	matchesMax               = 1000 // of each list under classify

	costMax      = 1_000_000 // US dollars
	microsDollar = 1_000_000 // what a dollar is counted in

	// What bounds the work of a condition.
	whenLengthMax = 1000 // bytes
	whenNodesMax  = 200
)
