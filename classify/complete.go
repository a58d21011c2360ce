package classify

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/lines"
	"github.com/redrive/redrive/internal/plaintext"
)

// Complete returns the message of a failure: that of the evidence, and, if it only says how a
// subprocess ended, the line of the output that says why. This is the line on which the
// classification rests, if the process wrote it. Otherwise it is chosen by its form: of the lines
// that speak of a failure the last, of others the first that is neither a frame of a stack nor
// one of the lines with which known programs end. Standard error comes before standard output.
func Complete(e *failure.Evidence, by *Classification) string {
	if !saysHowItEnded(e) {
		return e.Message
	}
	line := by.Line
	if line == "" {
		line = lines.Cause(plaintext.WithoutNoise(string(e.Stderr)))
	}
	if line == "" {
		line = lines.Cause(plaintext.WithoutNoise(string(e.Stdout)))
	}
	if line == "" && (plaintext.IsBinary(string(e.Stderr)) || plaintext.IsBinary(string(e.Stdout))) {
		line = "the output is not text"
	}
	if line == "" {
		return e.Message
	}
	return failure.Message(e.Message + ": " + line)
}

// saysHowItEnded reports whether a message ends with how a subprocess ended: nothing says why.
func saysHowItEnded(e *failure.Evidence) bool {
	if len(e.Stderr) == 0 && len(e.Stdout) == 0 {
		return false
	}
	if e.Exit != nil {
		if front, ok := strings.CutSuffix(e.Message, strconv.Itoa(*e.Exit)); ok {
			return strings.HasSuffix(front, "exit code ") || strings.HasSuffix(front, "exit status ")
		}
	}
	if e.Signal == "" {
		return false
	}
	at := strings.LastIndex(e.Message, "signal: ") // as Go says it: "signal: segmentation fault (core dumped)"
	return at >= 0 && !strings.ContainsAny(e.Message[at+len("signal: "):], ":\n") || strings.HasSuffix(e.Message, "killed by "+e.Signal)
}
