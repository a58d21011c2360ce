package config

import (
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The limits of the values in a file. Values that a store or a job also limits have the
// same limits here.
const (
	// MaxFileBytes is the size of the largest file that is read.
	MaxFileBytes = yamlfile.MaxBytes

	leaseMin, leaseMax                     = 3 * time.Second, time.Hour
	rescueIntervalMin, rescueIntervalMax   = time.Second, 10 * time.Minute
	shutdownGraceMin, shutdownGraceMax     = time.Duration(0), time.Hour
	attemptsCeilingMin, attemptsCeilingMax = 1, 1000
	payloadBytesMin, payloadBytesMax       = 1, job.PayloadMax

	maxConnsMin, maxConnsMax                 = 5, 1_000
	statementTimeoutMin, statementTimeoutMax = 100 * time.Millisecond, time.Hour

	workersMin, workersMax       = 1, store.WorkersMax
	limitMin, limitMax           = 1, store.LimitMax
	rateMin, rateMax             = 1, 1_000_000
	timeoutMin, timeoutMax       = time.Second, 168 * time.Hour
	killGraceMin, killGraceMax   = time.Duration(0), 10 * time.Minute
	priorityMin, priorityMax     = job.PriorityMin, job.PriorityMax
	maxCrashesMin, maxCrashesMax = 1, job.MaxCrashes
	exitCodeMin, exitCodeMax     = 1, 255
	waitMin, waitMax             = time.Duration(0), 720 * time.Hour
	waitsMax                     = 100

	ownerRetriesMin, ownerRetriesMax = 1, 1_000

	keptMin, keptMax   = time.Minute, 3650 * yamlfile.Day
	catchMin, catchMax = time.Second, 720 * time.Hour
)
