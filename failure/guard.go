package failure

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
