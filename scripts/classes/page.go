package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

const head = `<!-- Made by "make docs" from the code; changes belong there. -->

# Classes

Every failure gets one class. The class says whether another attempt can help, which texts users and operators
see, and which settings of the policy apply. The classes below are built in. A policy file can add classes,
replace texts and settings, and add codes, types, statuses and words that select a class.
` + "`redrive explain`" + ` shows which evidence selected the class of a job or of an error text.

`

// page returns the text of docs/classes.md.
func page() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	overview(&b)
	messages(&b)
	codes(&b)
	words(&b)
	b.WriteString("## The built-in default policy\n\nIt is used for everything that another policy does not set. `redrive policy show` prints it.\n\n```yaml\n")
	spec := policy.DefaultSpec()
	b.Write(policyfile.Render(&spec))
	b.WriteString("```\n")
	return b.Bytes()
}

// overview writes a table of all classes with their retries and waits in the built-in
// default policy.
func overview(b *bytes.Buffer) {
	b.WriteString(`## Overview

The retries and waits are those of the built-in default policy. Each wait is changed by a random amount of up to ±20 %.

| class | what it is | verdict | retries | waits |
|---|---|---|---|---|
`)
	p := policy.Default()
	for _, c := range failure.Classes() {
		retries, waits := schedule(p, c.Class)
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", c.Class, c.Summary, c.Verdict, retries, waits)
	}
	b.WriteString(`
| verdict | means |
|---|---|
| retry | a later attempt may succeed |
| throttle | too many requests in a short time: waiting helps |
| quota | a quota is used up until a date or a payment: not retried |
| dependency_down | a service is down for all jobs that use it |
| permanent | no later attempt can succeed: not retried |
| cancelled | not a failure: the job was cancelled on purpose |
| crash | the worker died; not counted as an attempt, see ` + "`max_crashes`" + ` |
| unknown | it is not known whether a later attempt can succeed; the policy decides |

`)
}

// schedule returns the number of retries and the waits of a class. It lets a job fail with
// this class until the job is dead.
func schedule(p *policy.Policy, class failure.Class) (retries, waits string) {
	info, _ := failure.InfoOf(class)
	if info.Verdict == failure.VerdictCrash || info.Verdict == failure.VerdictCancelled {
		return "", ""
	}
	in := policy.Input{How: job.ByError, Evidence: &failure.Evidence{Message: "x"}, U: 0.5}
	in.Class = classify.Classification{Class: class, Verdict: info.Verdict, Rank: classify.RankMark, Rule: policy.ClassByMark}
	var all []string
	for {
		d := p.Decide(&in)
		if d.Action != policy.Retry {
			break
		}
		all = append(all, human.Duration(d.Nominal))
		in.Attempts, in.Memo, in.Age = in.Attempts+1, d.Memo, in.Age+d.Wait
	}
	if len(all) == 0 {
		return "none", ""
	}
	return strconv.Itoa(len(all)), strings.Join(all, ", ")
}

func messages(b *bytes.Buffer) {
	b.WriteString(`## Messages

Users see the text of the class, never the message of the error. While another attempt is scheduled:

| class | users see |
|---|---|
`)
	each := func(text func(failure.ClassInfo) string) {
		for _, c := range failure.Classes() {
			fmt.Fprintf(b, "| `%s` | %s |\n", c.Class, text(c))
		}
	}
	each(func(c failure.ClassInfo) string { return c.Retrying })
	b.WriteString("\nWhen the job is dead:\n\n| class | users see |\n|---|---|\n")
	each(func(c failure.ClassInfo) string { return c.Dead })
	b.WriteString("\nWho has to act, for operators:\n\n| class | who, and how |\n|---|---|\n")
	each(func(c failure.ClassInfo) string { return c.Operator })
	b.WriteByte('\n')
}

func codes(b *bytes.Buffer) {
	b.WriteString(`## Codes and their classes

These tables show the class of each code when there is no other evidence. More specific evidence takes precedence: a mark of the
handler, a code before a status, and specific words before a general status. A code that is in no table has no class by itself.

`)
	b.WriteString("**HTTP status**\n\n| status | class |\n|---|---|\n")
	numbers(b, 100, 599, func(n int) *failure.Evidence { return &failure.Evidence{HTTPStatus: n} })
	b.WriteString("\n**Exit code**\n\n| exit code | class |\n|---|---|\n")
	numbers(b, 1, 255, func(n int) *failure.Evidence { return &failure.Evidence{Exit: &n} })
	for _, family := range []struct{ name, title string }{
		{"signal", "Signal that ended a process"}, {"grpc", "gRPC status"},
		{"sqlstate", "SQLSTATE; two characters stand for all codes that begin with them"},
		{"errno", "Error of the operating system, of DNS look-ups and of Node.js"},
	} {
		fmt.Fprintf(b, "\n**%s**\n\n| class | codes |\n|---|---|\n", family.title)
		named(b, family.name)
	}
	b.WriteByte('\n')
}

// words writes a table of the rules for words of each class.
func words(b *bytes.Buffer) {
	b.WriteString(`## Words and their classes

The rules for words, by class. The number says how many phrases a rule has; one of them is shown, in the language of
[policy.md](policy.md#classify). The files with all of them are in [classify/rules](../classify/rules), one for each subject.
` + "`redrive explain --error TEXT`" + ` shows which rule decides a text.

`)
	rules := classify.KnownRules()
	for _, info := range failure.Classes() {
		first := true
		for _, r := range rules {
			if r.Class != info.Class {
				continue
			}
			if first {
				fmt.Fprintf(b, "**%s**\n\n| rule | subject | phrases | one of them |\n|---|---|---|---|\n", info.Class)
				first = false
			}
			fmt.Fprintf(b, "| `%s` | %s | %d | `%s` |\n", r.ID, r.Subject, len(r.Phrases), strings.ReplaceAll(r.Phrases[0], "|", `\|`))
		}
		if !first {
			b.WriteByte('\n')
		}
	}
}

// numbers writes a table with ranges of numbers and the class of each range. Numbers
// without a known class are left out.
func numbers(b *bytes.Buffer, first, last int, evidence func(int) *failure.Evidence) {
	from, class := first, failure.Class("")
	for n := first; n <= last+1; n++ {
		now := failure.Class("")
		if n <= last {
			if c := classify.Builtin().Classify(evidence(n), ""); c.Rank != classify.RankNone && c.Class != failure.UnknownError {
				now = c.Class
			}
		}
		if now == class && n <= last {
			continue
		}
		if class != "" {
			span := strconv.Itoa(from)
			if from < n-1 {
				span += "–" + strconv.Itoa(n-1)
			}
			fmt.Fprintf(b, "| %s | `%s` |\n", span, class)
		}
		from, class = n, now
	}
}

// named writes a table with the codes of a family, sorted by class.
func named(b *bytes.Buffer, family string) {
	byClass := map[failure.Class][]string{}
	for _, c := range classify.KnownCodes() {
		if c.Family == family {
			byClass[c.Class] = append(byClass[c.Class], c.Code)
		}
	}
	for _, info := range failure.Classes() {
		if all := byClass[info.Class]; len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(b, "| `%s` | `%s` |\n", info.Class, strings.Join(all, "` `"))
		}
	}
}
