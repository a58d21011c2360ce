package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

type policyCmd struct {
	Show    policyShowCmd    `cmd:"" help:"Print a policy as a file: the policy of the configuration, a preset or a stored policy."`
	Check   policyCheckCmd   `cmd:"" help:"Find all mistakes in policy files."`
	Explain policyExplainCmd `cmd:"" help:"Show what would be decided about an error, or about each failure of a log."`
	Schema  policySchemaCmd  `cmd:"" help:"Print the JSON Schema of a policy file, for editors."`
	Test    policyTestCmd    `cmd:"" help:"Check what a policy decides about your own labelled errors."`
	Score   policyScoreCmd   `cmd:"" help:"Check the classifier against labelled errors."`
	Suggest policySuggestCmd `cmd:"" help:"Make rules of what people have said about classes."`
	List    policyListCmd    `cmd:"" help:"List the policies that have decided."`
}

type policyCheckCmd struct {
	jsonFlag
	Files []string `arg:"" optional:"" name:"file" help:"Policy files. Default: the policy file of the configuration."`
}

// Help implements kong.HelpProvider.
func (*policyCheckCmd) Help() string {
	return `Each mistake is printed on one line: FILE:LINE:COLUMN, what is wrong, and what to do. The exit code is then 1.

    redrive policy check
    redrive policy check policy.yaml next.yaml --json`
}

// checked is the result of checking one policy file.
type checked struct {
	wire.PolicyCheck
	lines []string // the problems as lines to be printed
}

func (c *policyCheckCmd) Run(a *app) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	files := c.Files
	if len(files) == 0 {
		files = []string{s.policyName()}
	}
	all, wrong := make([]checked, len(files)), false
	for i, file := range files {
		if all[i], err = checkPolicy(file, &s); err != nil {
			return err
		}
		wrong = wrong || len(all[i].Problems) > 0
	}
	if c.JSON {
		files := make([]wire.PolicyCheck, len(all))
		for i := range all {
			files[i] = all[i].PolicyCheck
		}
		err = a.printJSON(map[string]any{"files": files})
	} else {
		a.printChecked(all)
	}
	if err == nil && wrong {
		return failed{}
	}
	return err
}

// checkPolicy checks a policy file or a preset.
func checkPolicy(name string, s *settings) (checked, error) {
	c := checked{PolicyCheck: wire.PolicyCheck{File: name, Problems: []wire.Problem{}}}
	if name == "" {
		c.File = "the built-in default"
	}
	p, err := loadPolicy(name)
	if problems, ok := errors.AsType[policyfile.Problems](err); ok {
		for _, p := range problems {
			c.Problems = append(c.Problems, wire.Problem{File: p.File, Line: p.Line, Col: p.Col, Message: p.Message})
			c.lines = append(c.lines, p.String())
		}
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Policy, c.Hash, c.Notes = p.Name(), p.Hash(), p.Spec().Notes()
	if s.file == "" {
		return c, nil
	}
	c.Notes = append(c.Notes, foreign(p.Spec(), s.Config)...)
	if _, err := underConfig(p, s.Config); err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("%s cannot be combined with it: %v", s.file, err))
	}
	return c, nil
}

func (a *app) printChecked(all []checked) {
	for i := range all {
		c := &all[i]
		for _, line := range c.lines {
			fmt.Fprintln(a.out, words.Clean(line))
		}
		if len(c.Problems) == 0 {
			fmt.Fprintf(a.out, "%s: good; policy %s, hash %s\n", words.Clean(c.File), cmp.Or(c.Policy, "without a name"), policy.ShortHash(c.Hash))
		}
		for _, note := range c.Notes {
			fmt.Fprintf(a.out, "%s: note: %s\n", words.Clean(c.File), words.Clean(note))
		}
	}
}

type policyExplainCmd struct {
	explainFlags
	Log string `placeholder:"FILE" help:"Log file, whose failures are explained in groups; - reads standard input."`
}

// Help implements kong.HelpProvider.
func (*policyExplainCmd) Help() string {
	return `The policy is the one of the configuration, or of --policy. Nothing is stored.

    redrive policy explain --error "connection reset by peer" --kind thumbnail
    redrive policy explain --status 429 --attempt 3 --policy next.yaml

With --log, each failure in a log is explained, and equal ones are grouped. The lines can be JSON objects, logfmt such as the
log of redrive (key=value), or plain texts. A plain line is a failure if it has the level ERROR or higher, or if a rule of the
policy finds a class in it. Indented lines belong to the line before them, and so do the lines of a traceback.

    redrive policy explain --log app.log --kind thumbnail
    redrive policy explain --log worker.log --policy next.yaml`
}

func (c *policyExplainCmd) Run(a *app) error {
	if c.Log != "" {
		return c.explainLog(a)
	}
	return c.explainError(a)
}

type policySchemaCmd struct{}

// Help implements kong.HelpProvider.
func (*policySchemaCmd) Help() string {
	return `Editors use the schema to check a policy file and to complete its keys.

    redrive policy schema > policy.schema.json`
}

func (*policySchemaCmd) Run(a *app) error {
	_, err := a.out.Write(policyfile.Schema())
	return err
}

type policyListCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*policyListCmd) Help() string {
	return `The newest policy is listed first. Decisions contain the hash of their policy, and "redrive policy show HASH" prints it. A
star marks the policy that the configuration uses now.

    redrive policy list`
}

func (c *policyListCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	list, err := client.StoredPolicies(ctx)
	if err != nil {
		return fmt.Errorf("list policies: %w", err)
	}
	if c.JSON {
		return a.printJSON(map[string]any{"policies": list})
	}
	now := a.configuredHash()
	t := table{columns: []column{{title: ""}, {title: "HASH"}, {title: "NAME"}, {title: "SINCE"}, {title: "BY", loose: true}}}
	for _, p := range list {
		star := ""
		if p.Hash == now {
			star = "*"
		}
		t.add(star, policy.ShortHash(p.Hash), p.Name, words.Time(p.At), p.By)
	}
	out := a.styleOf(a.stdout)
	if len(list) == 0 {
		fmt.Fprintln(a.out, out.faint("no policies: no worker has started yet"))
		return nil
	}
	t.print(a.out, out)
	return nil
}

// configuredHash returns the hash of the policy that the configuration names. It returns ""
// if there is no configuration or the policy has mistakes.
func (a *app) configuredHash() string {
	s, err := a.settings()
	if err != nil || s.file == "" {
		return ""
	}
	p, err := loadPolicy(s.policyName())
	if err != nil {
		return ""
	}
	return p.Hash()
}
