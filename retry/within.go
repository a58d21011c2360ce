package retry

import "context"

// Within reports whether a call with p under ctx would be part of another call of the
// same dependency that retries, and so be made only once. The key stays the same over
// the attempts of that other call: the key of WithKey, else the other call's key; ""
// without any.
func (p *Strategy) Within(ctx context.Context) (key string, ok bool) {
	var around *frame // the outermost call: calls within it are made once themselves
	for f := frameOf(ctx); f != nil; f = f.up {
		if f.strategy != nil && f.strategy.o.Dependency == p.o.Dependency {
			around = f
		}
	}
	if around == nil {
		return "", false
	}
	for f := frameOf(ctx); f != around; f = f.up {
		if f.key != "" { // set by WithKey; keys that inner calls make do not stay the same
			return f.key, true
		}
	}
	return around.keyed(), true
}
