package failure

import "slices"

// walk calls visit for err and every error below it, the outermost first and
// joined ones in order, for NodesMax errors at most. A panic of a foreign
// method costs the rest of that one error, nothing else.
func walk(err error, visit func(error)) {
	stack := []error{err}
	for n := 0; n < NodesMax && len(stack) > 0; n++ {
		top := len(stack) - 1
		node := stack[top]
		stack = stack[:top]
		guard(func() { visit(node) })
		guard(func() { stack = pushCauses(stack, node) })
	}
}

// pushCauses puts what err wraps on the stack, the first on top. Of a very wide
// join only as many are taken as can be visited.
func pushCauses(stack []error, err error) []error {
	switch err := err.(type) { //nolint:errorlint // this is what unwraps
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
