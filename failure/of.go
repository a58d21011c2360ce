package failure

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"syscall"
)

// Of reads the evidence of err: its text, its marks, and what its typed causes
// tell, anywhere in the tree that Unwrap spans, in the order of errors.As: the
// outer before the inner, of joined errors the first before the others. It
// never fails and never panics: nil gives the zero value, and a tree is followed
// for NodesMax errors, so that a cycle ends.
//
// Types are named by package and type, "net.OpError", without a pointer's star;
// known error values by their variable: "io.EOF", "io.ErrUnexpectedEOF",
// "fs.ErrNotExist", "fs.ErrExist", "fs.ErrPermission", "fs.ErrClosed". Errors
// that only wrap or only have a text are left out.
func Of(err error) Evidence {
	var e Evidence
	if err == nil {
		return e
	}
	e.Message = Text(err)
	e.readTree(err)
	if e.details != nil {
		e.Details = encodeDetails(e.details)
		e.details = nil
	}
	return e
}

// read takes what one error of the tree tells and reports whether that is more
// than a text. Nothing that is known already is overwritten: the walk comes
// from the outside. The types of the marks are named one by one because a call
// through an interface would move the evidence to the heap.
func (e *Evidence) read(err error) bool {
	switch err := err.(type) { //nolint:errorlint // the walk looks at each error by itself
	case *permanent:
		err.note(e)
	case *refused:
		err.note(e)
	case *retryAfter:
		err.note(e)
	case *coded:
		err.note(e)
	case *classed:
		err.note(e)
	case *dependencyDown:
		err.note(e)
	case *handOver:
		err.note(e)
	case snooze:
		err.note(e)
	case cancel:
		err.note(e)
	case syscall.Errno:
		e.readErrno(err)
	default:
		return e.readShape(err, shapeOf(reflect.TypeOf(err)))
	}
	return true
}

// readShape reads what errors of this shape are known to tell.
func (e *Evidence) readShape(err error, s *shape) bool {
	switch {
	case s.has&onlyText != 0:
		return e.readValue(err)
	case s.has&onlyWraps != 0:
		return false
	}
	e.addTypes(s.names)
	if s.has&anyMethod != 0 {
		e.readMethods(err, s.has)
	}
	for _, how := range s.adapts {
		e.adapt(how, err, s.has)
	}
	if len(s.fields) > 0 {
		e.readFields(err, s)
	}
	if s.header != nil {
		e.readHeader(s.header(reflect.ValueOf(err)), e.HTTPStatus)
	}
	return true
}

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
