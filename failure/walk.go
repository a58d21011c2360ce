package failure

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"syscall"
)

// readTree reads err and every error below it, the outermost first and joined
// ones in order, for NodesMax errors at most. One guard stands around all of
// them: that is cheap, and panics of foreign methods are rare. After one, the
// tree is read again with a guard for each error, so that the panic costs the
// rest of that one error and nothing else.
func (e *Evidence) readTree(err error) {
	if !guard(func() { e.walk(err, false) }) {
		*e = Evidence{Message: e.Message}
		e.walk(err, true)
	}
}

func (e *Evidence) walk(err error, guarded bool) {
	var room, recent [8]error
	stack := append(room[:0], err)
	ends := 0 // errors that say something and wrap nothing
	for n := 0; n < NodesMax && len(stack) > 0; n++ {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n >= 2*len(recent) && isPointer(node) && slices.Contains(recent[:], node) {
			continue // a cycle, as clients of Google's APIs make one
		}
		if n >= len(recent) {
			recent[n%len(recent)] = node
		}
		depth, says := len(stack), true
		if guarded {
			guard(func() { says = e.read(node) })
			guard(func() { stack = pushCauses(stack, node) })
		} else {
			says = reflect.TypeOf(node) != wrapType && e.read(node)
			stack = pushCauses(stack, node)
		}
		if says && len(stack) == depth {
			ends++
		}
	}
	if ends > 1 || len(stack) > 0 {
		e.Sent = SentUnknown // one part may know better than the other what happened
	}
}

// isPointer reports whether err can be compared without a panic, and is a cycle
// if it comes again.
func isPointer(err error) bool { return reflect.TypeOf(err).Kind() == reflect.Pointer }

// wrapType is the type of what fmt.Errorf makes of one %w, which most errors of
// a tree are.
var wrapType = reflect.TypeOf(fmt.Errorf("%w", io.EOF))

// pushCauses puts what err wraps on the stack, the first on top. Of a very wide
// join only as many are taken as can be visited.
func pushCauses(stack []error, err error) []error {
	switch err := err.(type) { //nolint:errorlint // this is what unwraps; the innermost is mostly an errno, known by its type
	case syscall.Errno:
	case interface{ Unwrap() error }:
		if cause := err.Unwrap(); cause != nil {
			stack = append(stack, cause)
		}
	case interface{ Unwrap() []error }:
		causes := err.Unwrap()
		causes = causes[:min(len(causes), NodesMax)]
		for _, cause := range slices.Backward(causes) {
			if cause != nil {
				stack = append(stack, cause)
			}
		}
	}
	return stack
}

// guard runs f, which calls methods of foreign types, and reports whether it
// came back without a panic.
func guard(f func()) (ok bool) {
	defer func() {
		if !ok {
			_ = recover()
		}
	}()
	f()
	return true
}
