package policyfile

// ParseObserved tells which keys each part of a file may hold while it parses.
func ParseObserved(name string, data []byte, onFields func(path string, keys []string)) (*File, error) {
	r := newReader(name)
	r.OnFields = onFields
	return r.file(data, false)
}

// ParseOnly reads a file for its shape, without looking at names and without compiling.
func ParseOnly(name string, data []byte) (*File, error) {
	return newReader(name).file(data, false)
}
