// Package check judges a history: what clients and handlers noted outside of a
// store, against what the store holds afterwards. Every layer of tests calls it,
// from simulations to processes that were killed. It is pure.
package check

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// History is what happened. The slices may be in any order. A part that was not
// recorded stays empty; what cannot be judged without it is not.
type History struct {
	Enqueues []Enqueue
	Runs     []Run
	Writes   []Write
	Dump     *store.Dump
	// Integrity is what the store's own check of its file complains about.
	Integrity []string
	Limits    map[string]Limits // by kind
	// Retention says that what has ended was removed after a time: jobs, dead letters
	// and failure records, but no events.
	Retention bool
	// Purged names the submissions of jobs that people removed, as somebody saw
	// before: such a job carries its name no more.
	Purged map[job.ID]string
	// Drained says that the faults stopped and everything had time to end: no
	// job may be live any more.
	Drained bool
}

// Answer is what a caller knows about its write.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota // none came: killed, cut off, or store.ErrUnknown
	Written               // the store said yes
	Refused               // the store said no: nothing may have happened
)

// Enqueue is one submission as its client noted it.
type Enqueue struct {
	Name     string // unique among the submissions; the job's correlation id
	ID       job.ID // of the receipt or reserved before the call; 0 when not known
	Kind     string
	Owner    string
	Key      string
	Digest   string // of the payload, by Digest
	Answer   Answer // of the last call
	Existing bool   // the receipt said that the key was known
	Again    bool   // an earlier call ended without an answer
}

// Run is one execution as its handler noted it.
type Run struct {
	Job    job.ID
	Life   int32
	Token  job.Token
	Holder string
	Start  job.Micros
	End    job.Micros // 0: it never said so
	Digest string     // of the payload it got, by Digest
	Result string     // digest of the result it gave; "" is none or not known
	Error  string     // a part of the error that it returned; "" is none or not known
}

// Write is one outcome that a worker handed to the store.
type Write struct {
	store.Run
	Cause  job.Cause
	To     job.State
	Answer Answer
	Again  bool // an earlier call with it ended without an answer
}

// Limits are what a kind's policy allows in one life; 0 is no limit.
type Limits struct {
	Attempts int32
	Crashes  int32
}

// Digest is the short name of a payload or a result.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
