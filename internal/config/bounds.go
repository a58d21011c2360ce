package config

import (
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
)

// What a file may hold. Everything that is read is checked against one of these.
const (
	// MaxFileBytes is the size of the largest file that is read.
	MaxFileBytes = yamlfile.MaxBytes

	leaseMin, leaseMax                     = 3 * time.Second, time.Hour
	rescueIntervalMin, rescueIntervalMax   = time.Second, 10 * time.Minute
	shutdownGraceMin, shutdownGraceMax     = time.Duration(0), time.Hour
	attemptsCeilingMin, attemptsCeilingMax = 1, 1000
	payloadBytesMin, payloadBytesMax       = 1, 16 << 20

	maxConnsMin, maxConnsMax                 = 5, 1_000
	statementTimeoutMin, statementTimeoutMax = 100 * time.Millisecond, time.Hour

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

	keptMin, keptMax   = time.Minute, 3650 * yamlfile.Day
	catchMin, catchMax = time.Second, 720 * time.Hour
)
