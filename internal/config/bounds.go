package config

import "time"

// What a file may hold. Everything that is read is checked against one of these.
const (
	// MaxFileBytes is the size of the largest file that is read.
	MaxFileBytes = 1 << 20

	// The YAML parser needs quadratic time for wide mappings and for blank
	// lines that end a block of text, and quadratic memory for deep nesting,
	// so all three are bounded before it runs.
	maxTokens     = 50_000
	maxDepth      = 32
	maxBlankLines = 100 // in a row
	// maxExpanded is how many values aliases may repeat altogether.
	maxExpanded = 50_000

	leaseMin, leaseMax                     = 3 * time.Second, time.Hour
	rescueIntervalMin, rescueIntervalMax   = time.Second, 10 * time.Minute
	shutdownGraceMin, shutdownGraceMax     = time.Duration(0), time.Hour
	attemptsCeilingMin, attemptsCeilingMax = 1, 1000
	payloadBytesMin, payloadBytesMax       = 1, 16 << 20

	workersMin, workersMax       = 1, 5_000
	limitMin, limitMax           = 1, 1_000_000
	rateMin, rateMax             = 1, 1_000_000
	timeoutMin, timeoutMax       = time.Second, 168 * time.Hour
	killGraceMin, killGraceMax   = time.Duration(0), 10 * time.Minute
	priorityMin, priorityMax     = 1, 4
	maxCrashesMin, maxCrashesMax = 1, 5
	exitCodeMin, exitCodeMax     = 1, 255
	waitMin, waitMax             = time.Duration(0), 720 * time.Hour
	waitsMax                     = 100

	// nameLengthMax bounds names of queues and kinds, in bytes.
	nameLengthMax = 64
)
