package faultstore

// Call is one call of a store's method.
type Call struct {
	Method string // name of the method, such as "Exchange"
	N      int    // number of the call of this method, from 1
	Seq    int    // number of the call of any method, from 1
}

// Fault says how a call fails. The zero value means that it does not fail.
type Fault struct {
	// Before is the error that the call returns without reaching the store.
	Before error
	// After is the error that the call returns after the store has carried it out. So
	// the store has done it and the caller does not know. The contract of stores allows
	// only store.ErrUnknown here; other errors test how callers treat a store that
	// breaks the contract.
	After error
	// Hang makes the call wait until its context ends. The call then returns the
	// context's error without reaching the store.
	Hang bool
}

// Plan returns the fault of each call. The store never calls a Plan twice at the same
// time.
type Plan func(Call) Fault

// None is a Plan without faults.
func None(Call) Fault { return Fault{} }

// Nth returns a Plan in which the n-th call of a method has the fault; method "" counts
// all calls.
func Nth(method string, n int, f Fault) Plan { return Range(method, n, n, f) }

// From returns a Plan in which the n-th call of a method and all later ones have the
// fault.
func From(method string, n int, f Fault) Plan { return Range(method, n, 0, f) }

// Range returns a Plan in which the calls of a method numbered first to last have the
// fault, both included. If last is 0, all later calls have the fault, too. Method ""
// counts all calls.
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
