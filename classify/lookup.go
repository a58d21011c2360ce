package classify

// lookup finds a value by a name. Of the names that are looked up for every
// failure there are few, and they differ in their length or in a few letters:
// to look at these costs a third of what hashing all of a name for a map does.
type lookup[V any] struct {
	slots []slot[V]
}

type slot[V any] struct {
	name  string
	value *V // nil is an empty slot
}

func newLookup[V any](values map[string]V) lookup[V] {
	size := 64
	for size < 4*len(values) {
		size *= 2
	}
	l := lookup[V]{make([]slot[V], size)}
	for name, value := range values {
		i := l.slotOf(name)
		for l.slots[i].value != nil {
			i = (i + 1) & (size - 1)
		}
		l.slots[i] = slot[V]{name, &value}
	}
	return l
}

// slotOf returns where a name is looked for first.
func (l *lookup[V]) slotOf(name string) int {
	n := uint(len(name))
	if n == 0 {
		return 0
	}
	h := n + uint(name[0])<<3 + uint(name[n/2])<<5 + uint(name[n-1])<<1 + uint(name[n*3/4])
	return int(h & uint(len(l.slots)-1))
}

// get returns the value of a name, nil when the name is unknown.
func (l *lookup[V]) get(name string) *V {
	for i := l.slotOf(name); ; i++ {
		s := &l.slots[i&(len(l.slots)-1)]
		if s.value == nil || s.name == name {
			return s.value
		}
	}
}
