package retry

import "context"

// Within reports whether a call with p under ctx would be a part of another one of
// the same dependency, which does the retrying, and so be made once. The key is what
// lasts over the attempts of that other call: one of WithKey, else its own; "" if
// there is none.
func (p *Strategy) Within(ctx context.Context) (key string, ok bool) {
	var around *frame // the outermost: those within are made once themselves
	for f := frameOf(ctx); f != nil; f = f.up {
		if f.strategy != nil && f.strategy.o.Dependency == p.o.Dependency {
			around = f
		}
	}
	if around == nil {
		return "", false
	}
	for f := frameOf(ctx); f != around; f = f.up {
		if f.key != "" { // of WithKey; what other calls make of their numbers does not last
			return f.key, true
		}
	}
	return around.keyed(), true
}
