package faultstore

// Call describes one call of a store's method.
type Call struct {
	Method string // name of the method, such as "Exchange"
	N      int    // number of this call among the calls of the same method, from 1
	Seq    int    // number of this call among the calls of all methods, from 1
}

// Fault says how a call fails. The zero value means that the call does not fail.
type Fault struct {
	// Before is the error that the call returns without reaching the store.
	Before error
	// After is the error that the call returns after the store has carried the call out. So the
	// change is made, but the caller does not know this. The contract of stores allows only
	// store.ErrUnknown in this case. Use other errors to test callers against a store that breaks
	// the contract.
	After error
	// Hang makes the call wait until its context ends. The call then returns the
	// context's error without reaching the store.
	Hang bool
}

// Plan returns the fault of each call. The store never calls a Plan from two goroutines at the
// same time.
type Plan func(Call) Fault

// None is a Plan without faults.
func None(Call) Fault { return Fault{} }

// Nth returns a Plan in which the n-th call of a method has the fault. If the name of the method
// is "", the calls of all methods are counted.
func Nth(method string, n int, f Fault) Plan { return Range(method, n, n, f) }

// From returns a Plan in which the n-th call of a method and all later calls have the fault.
func From(method string, n int, f Fault) Plan { return Range(method, n, 0, f) }

// Range returns a Plan in which a range of the calls of a method have the fault. The two numbers
// are those of the first and the last of these calls. If the second number is 0, all later calls
// have the fault, too. If the name of the method is "", the calls of all methods are counted.
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
