package failure

import (
	"embed"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// rule is one thing that programs say in many ways: a class, how much the words
// are worth as evidence, and the phrases.
type rule struct {
	id      string
	class   Class
	weight  int
	trait   trait
	phrases []string
	file    string // and line, where it is written
	line    int
}

// Weights say how specific evidence is. Of several pieces the heaviest decides;
// what is written between them gives a little more or less.
const (
	wDecides  = 90 // refines every code and status: "insufficient quota" within a 429
	wCode     = 80 // names of codes that mean one thing: ECONNREFUSED, NoSuchKey
	wStrong   = 70 // what is said of one cause only: "connection refused"
	wStatus   = 60 // statuses that mean one thing: 429, 503
	wSaid     = 54 // plain statements: "permission denied", "must be positive"
	wGeneric  = 46 // statuses that mean many things: 400, 403, 404, 500
	wWeak     = 34 // words that mostly mean it: "invalid", "timeout"
	wFaint    = 24 // better than nothing: "memory", "rejected"
	wNothing  = 10 // says that nothing is known
	inCode    = 8  // more, where the text gives it as a code
	inQuote   = 24 // less, in the name of something
	inHistory = 30 // less, in what is over: an earlier attempt, a wrapper, a clean-up
	inNoise   = 99 // less, in stack frames and settings
)

// weightNames are the weights by their names in rules files.
var weightNames = map[string]int{
	"decides": wDecides, "code": wCode, "strong": wStrong, "status": wStatus, "said": wSaid,
	"generic": wGeneric, "weak": wWeak, "faint": wFaint, "nothing": wNothing,
}

// trait is what is special about a rule.
type trait uint32

const (
	identifiers  trait = 1 << iota // its phrases are also names written as one word
	codesOnly                      // counts only where a code is given
	ingForm                        // counts only with "ing": processing_error is a code of payments, ProcessError a type of many programs
	perMoment                      // speaks of seconds or minutes
	perPeriod                      // speaks of days, months or plans
	money                          // speaks of money
	history                        // what is before it, up to the last of its kind, is over
	past                           // what follows in the same sentence is over
	cleanup                        // what follows is about tidying up
	readStatus                     // the held number is an HTTP or SMTP status
	readReply                      // … the reply of a mail server, if an enhanced code follows
	readExit                       // … the exit code of a process
	readErrno                      // … an errno
	readWinError                   // … an error of Windows
	readSQLState                   // the held value is a SQLSTATE
	readMySQL                      // the held number is an error of MySQL
	readCurl                       // … of curl
	readHint                       // a wait that the other side asks for
	readName                       // its id is the code
	readLimit                      // a limit and what was asked for
)

// traitNames are the traits by their names in rules files.
var traitNames = map[string]trait{
	"identifiers": identifiers, "codes-only": codesOnly, "ing-form": ingForm, "per-moment": perMoment, "per-period": perPeriod,
	"money": money, "history": history, "past": past, "cleanup": cleanup, "read-status": readStatus, "read-reply": readReply,
	"read-exit": readExit, "read-errno": readErrno, "read-win-error": readWinError, "read-sqlstate": readSQLState,
	"read-mysql": readMySQL, "read-curl": readCurl, "read-hint": readHint, "read-limit": readLimit,
}

// ruleFiles are the built-in rules, a file for each subject. README.md beside them says how they are
// written.
//
//go:embed rules/*.rules
var ruleFiles embed.FS

// subjects are the rules files. Where two rules weigh the same at the same place, the file that is earlier in
// this list decides, and in one file the earlier rule.
var subjects = []string{
	"statuses", "reading", "network", "service", "rate", "quota", "payment", "access", "notfound", "limit", "input", "validation", "business",
	"content", "resource", "database", "broker", "cloud", "model", "media", "process", "mail", "bug", "languages", "types", "generic",
}

// builtinRules reads all rules: the files of the subjects, then the statuses of gRPC and the errors of the
// operating system by their tables.
func builtinRules() ([]rule, []Problem) {
	var all []rule
	var problems []Problem
	for _, subject := range subjects {
		name := "rules/" + subject + ".rules"
		text, err := ruleFiles.ReadFile(name)
		if err != nil {
			problems = append(problems, Problem{name, err.Error()})
		}
		rules, wrong := readRules(name, string(text), false)
		all, problems = append(all, rules...), append(problems, wrong...)
	}
	return append(append(all, grpcPhrases()...), errnoPhrases()...), problems
}

// builtMachine is the encoded machine of the built-in rules. Its first eight bytes are rulesSum of the rules
// that it was made from. "make docs" makes it anew, and a test compares it.
//
//go:embed rules/machine.bin
var builtMachine []byte

// rulesSum returns a checksum of the built-in rules.
func rulesSum(rules []rule) uint64 {
	h := uint64(hashStart)
	for i := range rules {
		h = mix(h ^ uint64(rules[i].trait&identifiers))
		for _, p := range rules[i].phrases {
			h = hashPart(h, p)
		}
	}
	return h
}

// machineOf returns the machine of the built-in rules: the stored one, or, if the rules have changed since it
// was made, a new one, which takes a tenth of a second.
func machineOf(rules []rule) (*phrase.Machine, error) {
	if len(builtMachine) >= 8 && binary.LittleEndian.Uint64(builtMachine) == rulesSum(rules) {
		if m, err := phrase.Decode(builtMachine[8:]); err == nil {
			return m, nil
		}
	}
	return buildMachine(rules)
}

func buildMachine(rules []rule) (*phrase.Machine, error) {
	b, err := phrase.NewBuilder()
	if err != nil {
		return nil, err
	}
	for i, r := range rules {
		for _, text := range r.phrases {
			if err := b.Add(text, i, r.trait&identifiers != 0); err != nil {
				return nil, fmt.Errorf("built-in rule %s: %w", r.id, err)
			}
		}
	}
	return b.Freeze(), nil
}

// grpcPhrases are the statuses of gRPC as texts give them: "code = Unavailable",
// "StatusCode.UNAVAILABLE", "14 UNAVAILABLE:".
func grpcPhrases() []rule {
	var all []rule
	for number, c := range grpcCodes {
		if c.class == "" {
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(c.name), "_", " ")
		if name == "cancelled" {
			name = "(cancelled|canceled)"
		}
		all = append(all, rule{id: grpcRules[number], class: c.class, weight: c.weight, trait: readName, phrases: []string{
			"(rpc|grpc) (error|status)? (code)? " + name,
			"rpc error code " + name,
			"(statuscode|grpcstatus|grpc code|code|canonical code) " + name,
			"status code " + name,
			fmt.Sprintf("%d %s", number, name),
		}})
	}
	return all
}

// errnoPhrases are the names of errors of the operating system.
func errnoPhrases() []rule {
	var all []rule
	for i := range errnoClasses {
		e := &errnoClasses[i]
		all = append(all, rule{id: errnoByName.get(e.name).rule, class: e.class, weight: e.weight(), trait: readName, phrases: []string{e.name}})
	}
	return all
}
