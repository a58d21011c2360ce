package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

type policyScoreCmd struct {
	jsonFlag
	File   string `arg:"" help:"File with labelled errors as JSON lines; \"-\" reads standard input."`
	Policy string `placeholder:"FILE|preset:NAME" help:"Policy to use instead of the policy of the configuration."`
	Kind   string `placeholder:"NAME" help:"Kind of the jobs that had the errors."`
	Rules  bool   `help:"Also print how many lines each rule has decided."`
}

// Help implements kong.HelpProvider.
func (*policyScoreCmd) Help() string {
	return `Each line is an object with text, retriable and class. It can also have id, status, exit_code, code, also_ok (a list of
other classes that are right) and ambiguous (true leaves the line out of the shares).

    redrive policy score errors.jsonl
    redrive policy score errors.jsonl --policy next.yaml --rules
    redrive policy score errors.jsonl --json | jq '.misses[] | .kind'`
}

func (c *policyScoreCmd) Run(a *app) error {
	p, err := a.effectivePolicy(c.Policy)
	if err != nil {
		return err
	}
	in, err := a.input(c.File)
	if err != nil {
		return fmt.Errorf("read the labelled errors: %w", err)
	}
	defer in.Close()
	r, err := scoreOf(in, p, c.Kind)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if c.JSON {
		return a.printJSON(r)
	}
	s := &page{w: a.out, style: a.styleOf(a.stdout)}
	s.score(r)
	s.confusion(r)
	s.misses(r)
	if c.Rules {
		s.rules(r)
	}
	return nil
}

// scoreOf classifies labelled errors with a policy. The class comes from the matchers of
// the policy; the verdict comes from its decision about a first failure.
func scoreOf(in io.Reader, p *policy.Policy, kind string) (*score.Report, error) {
	r, err := score.Score(in, func(e *failure.Evidence) classify.Classification {
		found := p.Classify(e, kind)
		d := p.Decide(&policy.Input{Kind: kind, Evidence: e, Class: found, How: job.ByError})
		found.Class, found.Verdict = d.Class, d.Verdict
		return found
	})
	if err != nil {
		return nil, err
	}
	r.Phrases, r.Patterns = p.Phrases()
	return r, nil
}

// score writes the shares of errors that were classified correctly.
func (p *page) score(r *score.Report) {
	percent := func(share float64) string { return strconv.FormatFloat(100*share, 'f', 2, 64) + " %" }
	f := words.Facts{}
	f.Add("lines", fmt.Sprintf("%s, %s of them ambiguous and left out of the shares",
		words.Number(int64(r.Items)), words.Number(int64(r.Ambiguous))))
	f.Add("kept trying", percent(r.NonretriableAsRetriable)+" of those that waiting does not mend")
	f.Add("given up", percent(r.RetriableAsPermanent)+" of those that waiting may mend")
	f.Add("class right", fmt.Sprintf("%s; of the ambiguous ones %s", percent(r.ClassRight), percent(r.AmbiguousClassRight)))
	f.Add("unmatched", words.Count(int64(r.Unknown), "line"))
	f.Add("rules", fmt.Sprintf("%s decided; %s of the lines by a rule that decided no other",
		words.Count(int64(len(r.Rules)), "rule"), percent(r.OneLine)))
	f.Add("matchers", fmt.Sprintf("%s, %s", words.Count(int64(r.Phrases), "phrase"), words.Count(int64(r.Patterns), "pattern")))
	p.facts(f)
}

// confusion writes a table: for each expected class, how many errors got which class.
func (p *page) confusion(r *score.Report) {
	if len(r.Confusion) == 0 {
		return
	}
	seen := map[failure.Class]bool{}
	for want, row := range r.Confusion {
		seen[want] = true
		for got := range row {
			seen[got] = true
		}
	}
	classes := slices.Sorted(maps.Keys(seen))
	t := table{columns: []column{{title: "", right: true}, {title: "WANTED"}}}
	for i := range classes {
		t.columns = append(t.columns, column{title: strconv.Itoa(i + 1), right: true})
	}
	for i, want := range classes {
		cells := []string{strconv.Itoa(i + 1), string(want)}
		for _, got := range classes {
			cell := "·"
			if n := r.Confusion[want][got]; n > 0 {
				cell = strconv.Itoa(n)
			}
			cells = append(cells, cell)
		}
		t.add(cells...)
	}
	fmt.Fprintln(p.w)
	t.print(p.w, style{color: p.style.color})
}

// missTextMax is the largest width of an error text in the output, in columns.
const missTextMax = 160

func (p *page) misses(r *score.Report) {
	for _, m := range r.Misses {
		rule := "no rule"
		if m.Rule != "" {
			rule = m.Rule
		}
		if m.Saw != "" {
			rule += fmt.Sprintf(", which saw %q", m.Saw)
		}
		title := fmt.Sprintf("%s: %s taken for %s by %s", m.ID, m.Want, m.Got, rule)
		if m.Kind != "class" {
			title += " (" + m.Kind + ")"
		}
		fmt.Fprintf(p.w, "\n%s\n  %s\n", words.Clean(title), words.Shorten(words.Clean(m.Text), missTextMax))
	}
}

func (p *page) rules(r *score.Report) {
	names := slices.Sorted(maps.Keys(r.Rules))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(r.Rules[b], r.Rules[a]) })
	t := table{columns: []column{{title: "LINES", right: true}, {title: "RULE"}}}
	for _, name := range names {
		t.add(words.Number(int64(r.Rules[name])), cmp.Or(name, "none"))
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}
