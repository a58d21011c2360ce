package failure

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/internal/plaintext"
)

// setStatus and the other setters take a value that is one, if none is known.
func (e *Evidence) setStatus(status int) {
	if e.HTTPStatus == 0 && status >= statusMin && status <= statusMax {
		e.HTTPStatus = status
	}
}

const statusMin, statusMax = 100, 599

func (e *Evidence) setSQLState(state string) {
	if e.SQLState == "" && isSQLState(state) {
		e.SQLState = state
	}
}

// isSQLState reports whether s has the form of a state that tells of an error:
// five digits and capital letters, and not of the classes 00 (success), 01
// (warning) and 02 (no data).
func isSQLState(s string) bool {
	if len(s) != 5 || s[0] == '0' && s[1] <= '2' {
		return false
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'A' || s[i] > 'Z') {
			return false
		}
	}
	return true
}

func (e *Evidence) setServiceCode(code string) {
	if e.ServiceCode == "" && code != e.SQLState && isCode(code) {
		e.ServiceCode = code
	}
}

// setServiceNumber takes a number that is a code: not 0, and not one that would
// read as an HTTP status.
func (e *Evidence) setServiceNumber(n int64) {
	if e.ServiceCode == "" && n != 0 && (n < statusMin || n > statusMax) {
		e.ServiceCode = strconv.FormatInt(n, 10)
	}
}

// isCode reports whether s can be a machine code: one word of CodeMax bytes at
// most, and neither 0 nor a number that would read as an HTTP status.
func isCode(s string) bool {
	if s == "" || len(s) > CodeMax {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-', c == '.', c == ':', c == '/', c == '#':
		default:
			return false
		}
	}
	status := len(s) == len("404") && s[0] >= '1' && s[0] <= '5'
	return digits < len(s) || !status && s != "0"
}

// setStderr keeps the tail of what a subprocess wrote.
func (e *Evidence) setStderr(b []byte) {
	if e.Stderr == nil {
		e.Stderr = Output(b)
	}
}

// Output returns what a subprocess wrote to its standard output or error in the form in which it
// is evidence: valid UTF-8, without escape sequences of terminals and earlier states of progress
// bars, and the last StderrMax bytes, from the beginning of a line. It returns nil for no output.
func Output(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	b = []byte(plaintext.Mend(string(plaintext.Clean(lastOutput(b)))))
	return lastOutput(b)
}

// lastOutput returns the last StderrMax bytes, from the beginning of a line.
func lastOutput(b []byte) []byte {
	if len(b) <= StderrMax {
		return b
	}
	b = plaintext.FromLine(b[len(b)-StderrMax:])
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

// grpcNames are the canonical names of gRPC statuses by their number.
var grpcNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// setGRPC takes the canonical name of a status that is a failure.
func (e *Evidence) setGRPC(name string) {
	if e.GRPC == "" && isGRPC(name) {
		e.GRPC = name
	}
}

func isGRPC(name string) bool {
	return slices.Contains(grpcNames[1:], name)
}

// rpcName is the canonical name for what a code calls itself: "DeadlineExceeded"
// with gRPC, "deadline_exceeded" with Connect; "" if it is no failure of theirs.
func rpcName(word string) string {
	for _, known := range grpcNames[1:] {
		if sameWords(known, word) {
			return known
		}
	}
	if sameWords("CANCELED", word) {
		return "CANCELLED"
	}
	return ""
}

// sameWords compares without looking at case and underscores.
func sameWords(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "_"), strings.TrimLeft(b, "_")
		if a == "" || b == "" {
			return a == b
		}
		if a[0]|0x20 != b[0]|0x20 {
			return false
		}
		a, b = a[1:], b[1:]
	}
}
