package policyfile

// ParseObserved is like Parse. It also calls onFields with the keys that each part of a file
// may have.
func ParseObserved(name string, data []byte, onFields func(path string, keys []string)) (*File, error) {
	r := newReader(name)
	r.OnFields = onFields
	return r.file(data, false)
}

// ParseOnly checks the form of a file. It does not check names, and does not compile the
// policy.
func ParseOnly(name string, data []byte) (*File, error) {
	return newReader(name).file(data, false)
}

// ParseOver reads the first file as if it extended the second.
func ParseOver(name string, over, under []byte) (*File, error) {
	below, err := ParseOnly("under", under)
	if err != nil {
		return nil, err
	}
	r := newReader(name)
	f, err := r.file(over, false)
	if err == nil {
		r.put(&f.Spec, &below.Spec)
		r.ownMatchers(&f.Spec.Classify)
		f.Spec.Hash = Hash(&f.Spec)
		f.Spec.Source = Render(&f.Spec)
	}
	return f, err
}
