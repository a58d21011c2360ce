package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive/internal/policytest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

type policyTestCmd struct {
	jsonFlag
	Files  []string `arg:"" name:"file" help:"Files with cases."`
	Policy string   `placeholder:"FILE|preset:NAME" help:"Policy to test instead of the policy of the file or of the configuration."`
}

// Help implements kong.HelpProvider.
func (*policyTestCmd) Help() string {
	return `A file has cases: an error, and what the policy has to make of it. Each case that fails is printed with what was wanted and
what the policy decides. The exit code is 0 if all cases pass, and 1 if one fails.

    policy: policy.yaml    # or the policy of the configuration
    cases:
      - name: a soft decline is retried after an hour
        error: '{"decline_code": "insufficient_funds"}'
        kind: charge
        attempt: 2
        expect: {class: SoftDecline, decision: retry, wait: 1h}

The error of a case has error (a text), status, exit_code, signal, code and timeout: true. Its job has kind, queue, owner,
priority, attempt, attrs and payload. What is expected has class, decision (retry, dead or hold), wait, retries, code, reason,
rule and queue. A wait with jitter passes if the policy can give it.

    redrive policy test tests.yaml
    redrive policy test tests/*.yaml --policy next.yaml`
}

func (c *policyTestCmd) Run(a *app) error {
	var all []policytest.Report
	failing := false
	for _, file := range c.Files {
		t, err := c.test(a, file)
		if problems, ok := errors.AsType[yamlfile.Problems](err); ok {
			for _, p := range problems {
				fmt.Fprintln(a.stderr, words.Clean(p.String()))
			}
			return failed{}
		}
		if err != nil {
			return err
		}
		failing = failing || len(t.Failed) > 0
		all = append(all, t)
	}
	if c.JSON {
		if err := a.printJSON(map[string]any{"files": all}); err != nil {
			return err
		}
	} else {
		page := &page{w: a.out, style: a.styleOf(a.stdout)}
		for i := range all {
			page.tested(&all[i])
		}
	}
	if failing {
		return failed{}
	}
	return nil
}

// test runs the cases of one file.
func (c *policyTestCmd) test(a *app, file string) (policytest.Report, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return policytest.Report{}, absentf("%s: there is no such file", file)
	}
	if err != nil {
		return policytest.Report{}, fmt.Errorf("read the cases: %w", err)
	}
	f, err := policytest.Parse(file, data)
	if err != nil {
		return policytest.Report{}, err
	}
	name := cmp.Or(c.Policy, f.Policy)
	if c.Policy == "" && name != "" && !strings.HasPrefix(name, "preset:") && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(file), name)
	}
	p, err := a.effectivePolicy(name)
	if err != nil {
		return policytest.Report{}, err
	}
	t := policytest.Report{File: file, Policy: p.Name(), Hash: p.Hash(), Cases: len(f.Cases), Failed: []policytest.Result{}}
	for i := range f.Cases {
		if r := f.Cases[i].Run(p); len(r.Differences) > 0 {
			t.Failed = append(t.Failed, r)
		}
	}
	return t, nil
}

// testedColumns is the width of what a policy decides about a case, so that a line has 80 columns.
const testedColumns = 80 - len("  decision  ")

func (p *page) tested(t *policytest.Report) {
	for i := range t.Failed {
		r := &t.Failed[i]
		fmt.Fprintf(p.w, "%s:%d: %s\n", words.Clean(t.File), r.Line, p.style.bold(words.Clean(r.Name)))
		for _, d := range r.Differences {
			fmt.Fprintf(p.w, "  %-9s want %s, got %s\n", d.Field, words.Clean(d.Want), words.Clean(d.Got))
		}
		fmt.Fprintf(p.w, "  %-9s %s\n", "decides", words.Shorten(words.Clean(r.Decision), testedColumns))
		if r.Class != "" {
			fmt.Fprintf(p.w, "  %-9s %s\n", "class", words.Shorten(words.Clean(r.Class), testedColumns))
		}
		fmt.Fprintln(p.w)
	}
	verdict := "all pass"
	if n := len(t.Failed); n > 0 {
		verdict = words.Number(int64(n)) + " failed"
	}
	fmt.Fprintf(p.w, "%s: %s, %s; policy %s, hash %s\n", words.Clean(t.File), words.Count(int64(t.Cases), "case"), verdict,
		cmp.Or(t.Policy, "without a name"), policy.ShortHash(t.Hash))
}
