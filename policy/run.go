package policy

import (
	"cmp"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// RunSpec contains what a policy sets for the runs of jobs. The limits act on the next run of a
// job. If a field is zero, the next less specific level decides: the kind, and then the default.
type RunSpec struct {
	// Timeout is the time limit of one run, at least a millisecond. A limit that the program sets for the
	// kind takes precedence.
	Timeout time.Duration `json:",omitempty"`
	// MaxCrashes is the number of crashes in one life after which a job is dead, 1 to
	// job.MaxCrashes. A number that the program sets for the kind takes precedence.
	MaxCrashes int   `json:",omitempty"`
	Codes      Codes `json:",omitzero"`
}

// Codes are codes for failures whose handler gives no code. A policy can give each code a class, see
// classify.Rules. "" means no code.
type Codes struct {
	TimeLimit string `json:",omitempty"` // for a run that has reached its time limit
	// MissingInput is for a failure whose text says that a file does not exist, and the payload of
	// the job names this file. Files under keys such as "output" do not count.
	MissingInput string `json:",omitempty"`
	Command      string `json:",omitempty"` // for a command that failed in another way, or has not written its output file
}

// TimeoutMax is the longest time limit of a run that a policy may set.
const TimeoutMax = 7 * 24 * time.Hour

// RunsOf returns what the policy sets for the runs of a kind. If the policy only observes the kind, the
// limits are zero.
func (p *Policy) RunsOf(kind string) RunSpec {
	run := p.spec.Runs.under(p.spec.Kinds[kind].Runs)
	if p.table(kind).observed {
		run.Timeout, run.MaxCrashes = 0, 0
	}
	return run
}

// under returns the more specific settings, completed with those of r.
func (r RunSpec) under(specific RunSpec) RunSpec {
	return RunSpec{
		Timeout:    cmp.Or(specific.Timeout, r.Timeout),
		MaxCrashes: cmp.Or(specific.MaxCrashes, r.MaxCrashes),
		Codes: Codes{
			TimeLimit:    cmp.Or(specific.Codes.TimeLimit, r.Codes.TimeLimit),
			MissingInput: cmp.Or(specific.Codes.MissingInput, r.Codes.MissingInput),
			Command:      cmp.Or(specific.Codes.Command, r.Codes.Command),
		},
	}
}

// CodeInput describes a failed run that may get a code.
type CodeInput struct {
	Kind     string
	Evidence *failure.Evidence
	How      job.How
	Stop     Stop
	Payload  []byte
}

// Code returns the code that the policy gives to a failure without a code of its own, or "".
func (p *Policy) Code(in *CodeInput) string {
	e := in.Evidence
	if e.Code != "" || in.How == job.ByPanic || in.Stop == Shutdown || in.Stop == CancelAsked {
		return ""
	}
	codes := p.RunsOf(in.Kind).Codes
	switch {
	case in.How == job.ByTimeout || in.Stop == TimeLimit:
		return codes.TimeLimit
	case codes.MissingInput != "" && missesInput(e, in.Payload):
		return codes.MissingInput
	case e.Exit != nil || e.Signal != "":
		return codes.Command
	}
	return ""
}
