package classify

import (
	"embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// ruleFiles are the built-in rules, a file for each subject. README.md beside them says how they are
// written.
//
//go:embed rules/*.rules
var ruleFiles embed.FS

// subjects are the rules files. Where two rules weigh the same at the same place, the file that is earlier in
// this list decides, and in one file the earlier rule.
var subjects = []string{
	"statuses", "reading", "network", "service", "rate", "quota", "payment", "access", "notfound", "limit", "input", "validation", "business",
	"content", "resource", "database", "broker", "cloud", "model", "media", "process", "mail", "bug", "languages", "system", "system_network", "types", "generic",
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
	h := fnv.New64a()
	for i := range rules {
		_, _ = h.Write([]byte{byte(rules[i].trait & identifiers)})
		for _, p := range rules[i].phrases {
			_, _ = h.Write([]byte(p))
		}
	}
	return h.Sum64()
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
