package failure

import (
	"maps"
	"slices"
)

// KnownCode is a code that says something by itself.
type KnownCode struct {
	Family string // "handler", "sqlstate", "grpc", "errno", "signal"
	Code   string // of a SQLSTATE two signs stand for all that begin so
	Class  Class
}

// KnownCodes returns the codes that the built-in rules know, family by family, for
// the documentation. Statuses of HTTP and exit codes are numbers, which Classify
// tells. In a failure, evidence that is more specific decides before any of them.
func KnownCodes() []KnownCode {
	var all []KnownCode
	for _, c := range handlerCodes {
		all = append(all, KnownCode{"handler", c.name, c.class})
	}
	for _, c := range sqlClasses {
		all = append(all, KnownCode{"sqlstate", c.code, c.class})
	}
	for _, c := range grpcCodes {
		if c.class != "" {
			all = append(all, KnownCode{"grpc", c.name, c.class})
		}
	}
	for _, c := range errnoClasses {
		all = append(all, KnownCode{"errno", c.name, c.class})
	}
	for _, name := range slices.Sorted(maps.Keys(signalClasses)) {
		all = append(all, KnownCode{"signal", name, signalClasses[name].class})
	}
	return all
}
