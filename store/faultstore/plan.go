package faultstore

// Call is one call of a store's method.
type Call struct {
	Method string // such as "Exchange"
	N      int    // of this method, from 1
	Seq    int    // of all methods, from 1
}

// Fault is what goes wrong with a call; the zero value is nothing.
type Fault struct {
	// Before is returned instead of calling the store.
	Before error
	// After is returned when the call has succeeded, in the place of its answer:
	// the store has done it and the caller does not know. By the contract only
	// store.ErrUnknown may be returned so; others test what a lying store does.
	After error
	// Hang makes the call wait until its context ends, and fail by that without
	// reaching the store.
	Hang bool
}

// Plan decides about the fault of each call. It is called for one call at a time.
type Plan func(Call) Fault

// None lets every call through.
func None(Call) Fault { return Fault{} }

// Nth gives the n-th call of a method the fault; method "" counts all calls.
func Nth(method string, n int, f Fault) Plan { return Range(method, n, n, f) }

// From gives the n-th call of a method and all after it the fault.
func From(method string, n int, f Fault) Plan { return Range(method, n, 0, f) }

// Range gives the calls of a method numbered first to last, both included, the
// fault; last 0 has no end, and method "" counts all calls.
func Range(method string, first, last int, f Fault) Plan {
	return func(c Call) Fault {
		n := c.N
		if method == "" {
			n = c.Seq
		}
		if method != "" && method != c.Method || n < first || last > 0 && n > last {
			return Fault{}
		}
		return f
	}
}
