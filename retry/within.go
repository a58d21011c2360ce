package retry

import "context"

// Within reports whether a call of p with the context ctx would be part of an outer call of the
// same dependency. The outer call then does the retrying, and the call of p is made only once.
// The result key is its idempotency key: the key of WithKey or, without one, the key of the
// outer call. It is the same in all attempts of the outer call, and "" if there is no key.
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
