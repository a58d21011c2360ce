package retry

import "context"

// Within reports whether a call with p under ctx would be part of another call of the
// same dependency that retries, and so be made only once. The key is the key of
// WithKey, else the key of that other call, else "". It is the same in all attempts of
// that other call.
func (p *Strategy) Within(ctx context.Context) (key string, ok bool) {
	var around *frame // only the outermost call retries: the calls within it are made once
	for f := frameOf(ctx); f != nil; f = f.up {
		if f.strategy != nil && f.strategy.o.Dependency == p.o.Dependency {
			around = f
		}
	}
	if around == nil {
		return "", false
	}
	for f := frameOf(ctx); f != around; f = f.up {
		if f.key != "" { // WithKey has set this key; a key that an inner call makes differs in each attempt
			return f.key, true
		}
	}
	return around.keyed(), true
}
