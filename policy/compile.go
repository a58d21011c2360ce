package policy

import (
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// Level is a place where settings stand. The words are stored and append-only.
type Level string

// The levels, the least specific first; a field counts where it stands last.
const (
	LevelBuiltin  Level = "builtin" // the built-in default policy
	LevelDefault  Level = "default"
	LevelClass    Level = "class"
	LevelSchedule Level = "schedule" // of the program, see WithSchedule
	LevelKind     Level = "kind"
	LevelKindOf   Level = "kind_class" // a class within a kind
	LevelRule     Level = "rule"
	LevelMessage  Level = "message"
	LevelJob      Level = "job"
	LevelBaseline Level = "baseline" // where the policy only observes
	LevelLimits   Level = "limits"   // a ceiling was lower
)

// origin is where a field of a plan comes from.
type origin struct {
	level Level
	path  string // in the words of a policy file; a rule's name for LevelRule
}

// plan is what applies to one class within one kind: every field is decided.
type plan struct {
	retry        bool
	retries      int
	retriesFrom  origin
	total        int // retries over all classes; noTotal is no bound
	backoff      *curve
	backoffFrom  origin
	count        Count
	handOvers    int
	hint         Hint  // with its defaults
	maxCost      int64 // noCost is no bound
	verdict      failure.Verdict
	classVerdict failure.Verdict // what the class says by itself
	escalate     *Escalation
	observe      bool
}

const (
	noTotal = -1
	noCost  = -1
)

// curve is a back-off under the ceiling on waits.
type curve struct {
	backoff.Backoff
	written time.Duration // its own cap; 0 is none
	stored  string        // its words, as they stand in a record
}

func newCurve(b *backoff.Backoff, longest time.Duration) *curve {
	c := &curve{Backoff: *b, written: b.Cap}
	if c.Cap == 0 || c.Cap > longest {
		c.Cap = longest
	}
	var w recordWriter
	w.text(`,"growth":`, b.Growth())
	w.text(`,"spreading":`, b.Spreading())
	w.text(`,"borders":`, b.Borders())
	c.stored = string(w.b)
	return c
}

// curves has each back-off of a Spec, compiled once.
type curves map[*backoff.Backoff]*curve

// kindTable has the plans of one kind.
type kindTable struct {
	classes  map[failure.Class]*plan
	other    *plan // of classes that the policy does not know
	baseline *plan
	schedule *Schedule
	rules    bool // some rule may match
	observed bool // the rules do not act
}

func (t *kindTable) plan(c failure.Class) *plan {
	if p := t.classes[c]; p != nil {
		return p
	}
	return t.other
}

func (p *Policy) table(kind string) *kindTable {
	if t := p.kinds[kind]; t != nil {
		return t
	}
	return p.other
}

// chains returns for each class that is known the classes whose settings it has:
// the one at the end of its aliases first, itself last.
func chains(s *Spec) map[failure.Class][]failure.Class {
	all := map[failure.Class][]failure.Class{}
	for _, info := range failure.Classes() {
		all[info.Class] = nil
	}
	for c := range s.Classes {
		all[c] = nil
	}
	for c := range all {
		chain := []failure.Class{c}
		for next := s.Classes[c].Is; next != "" && !slices.Contains(chain, next); next = s.Classes[next].Is {
			chain = append(chain, next)
		}
		slices.Reverse(chain)
		all[c] = chain
	}
	return all
}

func (p *Policy) compile() {
	p.compileRules()
	names := map[string]bool{}
	for kind := range p.spec.Kinds {
		names[kind] = true
	}
	for kind := range p.schedules {
		names[kind] = true
	}
	for _, r := range p.rules {
		for _, kind := range r.spec.Kinds {
			names[kind] = true
		}
	}
	for _, kind := range p.stage().Kinds {
		names[kind] = true
	}
	p.kinds = map[string]*kindTable{}
	for kind := range names {
		p.kinds[kind] = p.compileKind(kind)
	}
	p.other = p.compileKind("")
}

func (p *Policy) compileKind(kind string) *kindTable {
	t := &kindTable{
		classes:  make(map[failure.Class]*plan, len(p.chains)),
		schedule: p.scheduleOf(kind),
		rules:    slices.ContainsFunc(p.rules, func(r rule) bool { return r.serves(kind) }),
		observed: p.observes(kind, nil),
	}
	for c := range p.chains {
		t.classes[c] = p.compilePlan(kind, c)
	}
	t.other = p.compilePlan(kind, "")
	t.baseline = p.compileBaseline(t.schedule)
	return t
}

// newPlan begins a plan of which nothing is said yet.
func (p *Policy) newPlan() overlay {
	return overlay{curves: p.curves, keep: true, longest: p.limits.MaxWait,
		plan: &plan{retry: true, handOvers: HandOversDefault, total: noTotal, maxCost: noCost, hint: Hint{}.withDefaults()}}
}

// compilePlan lays the levels over each other, the least specific first.
func (p *Policy) compilePlan(kind string, class failure.Class) *plan {
	chain := p.chains[class]
	o := p.newPlan()
	o.put(&p.builtin.Default, LevelBuiltin, "default")
	for _, c := range chain {
		if s, ok := p.builtin.Classes[c]; ok {
			o.put(&s.Settings, LevelBuiltin, "classes."+string(c))
		}
	}
	o.put(&p.spec.Default, LevelDefault, "default")
	for _, c := range chain {
		if s, ok := p.spec.Classes[c]; ok {
			o.put(&s.Settings, LevelClass, "classes."+string(c))
		}
	}
	own := p.schedules[kind].paces()
	if general := p.schedules[""]; general.paces() && !own {
		o.put(general.settings(), LevelSchedule, "")
	}
	k := p.spec.Kinds[kind]
	o.put(&k.Settings, LevelKind, "kinds."+kind)
	if own {
		o.put(p.schedules[kind].settings(), LevelSchedule, "")
	}
	for _, c := range chain {
		if s, ok := k.Classes[c]; ok {
			o.put(&s, LevelKindOf, "kinds."+kind+".classes."+string(c))
		}
	}
	o.plan.classVerdict = failure.VerdictUnknown
	if len(chain) > 0 {
		if info, ok := failure.InfoOf(chain[0]); ok {
			o.plan.classVerdict = info.Verdict
		}
	}
	o.plan.observe = p.observes(kind, chain)
	return o.plan
}

// stage returns the present step of the roll-out.
func (p *Policy) stage() Stage {
	r := &p.spec.Rollout
	if s, ok := r.Stages[r.Stage]; ok && r.Stage != "" {
		return s
	}
	return Stage{Mode: r.Mode, Enforce: r.Enforce, Kinds: r.Kinds}
}

// observes reports whether decisions about a class of a kind are only recorded.
func (p *Policy) observes(kind string, chain []failure.Class) bool {
	s := p.stage()
	return s.Mode == Observe && !slices.Contains(s.Kinds, kind) &&
		!slices.ContainsFunc(chain, func(c failure.Class) bool { return slices.Contains(s.Enforce, c) })
}

// compileBaseline makes the plan that acts where the policy only observes: the
// schedule that there was before, under what the roll-out says.
func (p *Policy) compileBaseline(s *Schedule) *plan {
	o := p.newPlan()
	o.put(s.settings(), LevelSchedule, "")
	o.put(&p.spec.Rollout.Baseline, LevelBaseline, "rollout.baseline")
	return o.plan
}

// scheduleOf returns the schedule of a kind; nil is the default one.
func (p *Policy) scheduleOf(kind string) *Schedule {
	if s := p.schedules[kind]; s != nil {
		return s
	}
	return p.schedules[""]
}

// overlay lays settings over a plan.
type overlay struct {
	plan    *plan
	curves  curves
	keep    bool // curves may grow: not while decisions read it
	longest time.Duration
}

func (o overlay) put(s *Settings, level Level, path string) {
	from := origin{level, path}
	if s.Retry != nil {
		o.plan.retry = *s.Retry
	}
	if s.MaxRetries != nil {
		o.plan.retries, o.plan.retriesFrom = max(*s.MaxRetries, 0), from
	}
	if s.MaxTotalRetries != nil {
		o.plan.total = max(*s.MaxTotalRetries, 0)
	}
	if s.HandOvers != nil {
		o.plan.handOvers = max(*s.HandOvers, 0)
	}
	if s.Backoff != nil {
		o.plan.backoff, o.plan.backoffFrom = o.curve(s.Backoff), from
	}
	if s.Count != nil {
		o.plan.count = *s.Count
	}
	if s.Hint != nil {
		o.plan.hint = s.Hint.withDefaults()
	}
	if s.MaxCost != nil {
		o.plan.maxCost = max(*s.MaxCost, 0)
	}
	if s.Verdict != "" {
		o.plan.verdict = s.Verdict
	}
	if s.Escalate != nil {
		o.plan.escalate = s.Escalate
	}
}

// curve returns the compiled back-off: a known one, else, for what comes with a
// job, one for this decision.
func (o overlay) curve(b *backoff.Backoff) *curve {
	if known := o.curves[b]; known != nil {
		return known
	}
	made := newCurve(b, o.longest)
	if o.keep {
		o.curves[b] = made
	}
	return made
}
