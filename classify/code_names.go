package classify

import (
	"strconv"

	"github.com/redrive/redrive/failure"
)

// codeNames are the machine codes of numbers, made once.
type codeNames struct {
	http [600]string
	smtp [600]string
	exit [256]string
}

var names = makeNames()

func makeNames() *codeNames {
	n := &codeNames{}
	for i := 100; i < 600; i++ {
		n.http[i] = "http." + strconv.Itoa(i)
		n.smtp[i] = "smtp." + strconv.Itoa(i)
	}
	for i := range n.exit {
		n.exit[i] = "exit." + strconv.Itoa(i)
	}
	return n
}

func httpCode(status int) string {
	if status < 100 || status > 599 {
		return ""
	}
	return names.http[status]
}

// knownErrno is an errno by its name, with the name of its rule.
type knownErrno struct {
	class  failure.Class
	weight int
	rule   string
}

var errnoByName, errnoByNumber = makeErrnos()

func makeErrnos() (byName lookup[knownErrno], byNumber map[int64]string) {
	all := map[string]knownErrno{}
	byNumber = map[int64]string{}
	for i := range errnoClasses {
		e := &errnoClasses[i]
		all[e.name] = knownErrno{e.class, e.weight(), "errno." + e.name}
		if e.number > 0 {
			byNumber[int64(e.number)] = e.name
		}
	}
	return newLookup(all), byNumber
}

// grpcRules are the names of the rules and codes of gRPC's statuses.
var grpcRules = makeGRPCRules()

func makeGRPCRules() (rules [len(grpcCodes)]string) {
	for i, c := range grpcCodes {
		rules[i] = "grpc." + c.name
	}
	return rules
}

// sameName reports whether a code is one with underscores, such as
// RESOURCE_EXHAUSTED, however it is written: ResourceExhausted.
func sameName(canonical, code string) bool {
	if canonical == code {
		return true
	}
	i := 0
	for _, c := range []byte(canonical) {
		if c == '_' {
			if i < len(code) && code[i] == '_' {
				i++
			}
			continue
		}
		if i == len(code) || code[i]&^0x20 != c {
			return false
		}
		i++
	}
	return i == len(code)
}
