package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

type causeReclassifyCmd struct {
	by
	jsonFlag
	Group string `arg:"" help:"Name of the group, or its beginning, or the name of a set."`
	Class string `required:"" placeholder:"CLASS" help:"The class that these failures have: a built-in one or one of the policy in force."`
}

// Help implements kong.HelpProvider.
func (*causeReclassifyCmd) Help() string {
	return `Later failures of the kind whose texts have the same words get this class. Workers that run take it over within 10
seconds. Dead letters that are there stay as they are; "dlq retry --group" retries them. Of several classes for one group the
last one counts. "policy suggest" makes rules of all such statements.

    redrive dlq groups reclassify 3fa9 --class TemporaryServiceError`
}

func (c *causeReclassifyCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	groups, err := findCauses(ctx, client, c.Group)
	if err != nil {
		return err
	}
	notes := []redrive.Note{}
	for _, group := range groups {
		n, err := client.Reclassify(ctx, c.actor(a), group, failure.Class(c.Class))
		if err != nil {
			return invalidIsUsage(err)
		}
		notes = append(notes, n)
	}
	if c.JSON {
		return a.printJSON(notes)
	}
	for i := range notes {
		if _, err := fmt.Fprintf(a.out, "failures like group %s are %s from now on\n", words.ShortGroup(notes[i].Group), words.Clean(c.Class)); err != nil {
			return err
		}
	}
	return nil
}

type policySuggestCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*policySuggestCmd) Help() string {
	return `"dlq groups reclassify" keeps what people have said about classes. This command makes the smallest rules of it, to be put
into the policy file, and says which other causes of the stored history each rule would have hit.

    redrive policy suggest
    redrive policy suggest --json | jq .[].also`
}

// pastMax is the maximum number of groups that suggestions are checked against: those with the newest deaths.
const pastMax = 10_000

func (c *policySuggestCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	labels, err := client.Labels(ctx)
	if err != nil {
		return fmt.Errorf("read what people have said about classes: %w", err)
	}
	var past []policy.Past
	for skip := 0; skip < pastMax; skip += job.PageMax {
		page, err := client.Groups(ctx, redrive.GroupFilter{Skip: skip, Limit: job.PageMax})
		if err != nil {
			return fmt.Errorf("list groups: %w", err)
		}
		for i := range page.Groups {
			g := &page.Groups[i]
			past = append(past, policy.Past{Group: g.Fingerprint, Kind: g.Kind, Class: failure.Class(g.Class), Code: g.Code, Text: g.Message, N: g.N})
		}
		if len(page.Groups) < job.PageMax {
			break
		}
	}
	rules := policy.Suggest(labels, past)
	if c.JSON {
		out := []wire.SuggestedRule{}
		for i := range rules {
			r := &rules[i]
			s := wire.SuggestedRule{Class: r.Class, Match: r.Phrase, Code: r.Code, Kinds: r.Kinds, Labels: r.Labels, Also: []wire.AlsoHit{}}
			for _, p := range r.Also {
				s.Also = append(s.Also, wire.AlsoHit{Group: p.Group, Class: p.Class, Deaths: p.N})
			}
			out = append(out, s)
		}
		return a.printJSON(out)
	}
	return c.print(a, rules)
}

// print writes the rules as a part of a policy file.
func (c *policySuggestCmd) print(a *app, rules []policy.Suggestion) error {
	if len(rules) == 0 {
		_, err := fmt.Fprintln(a.out, "nobody has reclassified a group")
		return err
	}
	b := strings.Builder{}
	b.WriteString("classify:\n")
	for _, list := range [...]struct {
		name, key string
		value     func(*policy.Suggestion) string
	}{
		{"codes", "code", func(s *policy.Suggestion) string { return s.Code }},
		{"phrases", "match", func(s *policy.Suggestion) string { return s.Phrase }},
	} {
		if !slices.ContainsFunc(rules, func(s policy.Suggestion) bool { return list.value(&s) != "" }) {
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", list.name)
		for i := range rules {
			r := &rules[i]
			value := list.value(r)
			if value == "" {
				continue
			}
			fmt.Fprintf(&b, "    - {%s: %q, class: %s, kinds: [%s]} # covers %s\n", list.key, words.Clean(value), words.Clean(string(r.Class)),
				words.Clean(strings.Join(r.Kinds, ", ")), words.Count(int64(r.Labels), "statement"))
			for _, p := range r.Also {
				fmt.Fprintf(&b, "      # would also have hit group %s, %s, %s: %s\n", words.ShortGroup(p.Group), words.Clean(string(p.Class)),
					words.Count(p.N, "death"), words.Clean(words.FirstLine(p.Text)))
			}
		}
	}
	_, err := fmt.Fprint(a.out, b.String())
	return err
}
