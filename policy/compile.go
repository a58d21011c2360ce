package policy

import (
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// Level is one of the levels of a policy at which settings can be made. The words are
// stored, so existing words must not change.
type Level string

// The levels, from the least to the most specific. If several levels set the same field,
// the most specific level wins.
const (
	LevelBuiltin  Level = "builtin" // the built-in default policy
	LevelDefault  Level = "default"
	LevelClass    Level = "class"
	LevelSchedule Level = "schedule" // the schedule that the program sets with WithSchedule
	LevelKind     Level = "kind"
	LevelKindOf   Level = "kind_class" // a class within a kind
	LevelRule     Level = "rule"
	LevelMessage  Level = "message"
	LevelJob      Level = "job"
	LevelBaseline Level = "baseline" // the baseline of the roll-out, used where the policy only observes
	LevelLimits   Level = "limits"   // a limit of the policy, which has cut the setting
)

// origin says where the value of a plan's field was set.
type origin struct {
	level Level
	path  string // the path in the policy file, or for LevelRule the name of the rule
}

// plan contains the complete settings of one class within one kind: every field has a
// value.
type plan struct {
	retry        bool
	retries      int
	retriesFrom  origin
	total        int // largest number of retries over all classes; noTotal means no limit
	backoff      *curve
	backoffFrom  origin
	count        Count
	handOvers    int
	hint         Hint  // the hint with its default values filled in
	maxCost      int64 // largest cost; noCost means no limit
	verdict      failure.Verdict
	classVerdict failure.Verdict // the verdict of the class itself
	unmarked     bool            // whether a class that the handler has not named ends no job; see Schedule.RetryUnmarked
	escalate     *Escalation
	observe      bool
}

const (
	noTotal = -1
	noCost  = -1
)

// curve is a back-off and the limit on its waits.
type curve struct {
	backoff.Backoff
	written time.Duration // the cap that the back-off itself sets; 0 means that the back-off sets no cap
	stored  string        // the back-off in the form that is written to records
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

// curves contains a compiled curve for each back-off of a Spec.
type curves map[*backoff.Backoff]*curve

// kindTable contains the plans for one kind.
type kindTable struct {
	classes  map[failure.Class]*plan
	other    *plan // the plan for classes that the policy does not know
	baseline *plan
	schedule *Schedule
	rules    bool // whether a rule can match jobs of the kind
	observed bool // whether the policy only observes the kind, so that the rules have no effect
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

// chains returns, for each known class, the classes whose settings apply to it. An alias of
// a built-in class also uses the settings of that class. The class at the end of the
// aliases comes first, and the class itself comes last.
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

// newPlan returns an empty plan. Its caller adds the settings.
func (p *Policy) newPlan() overlay {
	return overlay{curves: p.curves, keep: true, longest: p.limits.MaxWait,
		plan: &plan{retry: true, handOvers: HandOversDefault, total: noTotal, maxCost: noCost, hint: Hint{}.withDefaults()}}
}

// compilePlan adds the settings of all levels to a plan, beginning with the least specific
// level.
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
	s := p.scheduleOf(kind)
	o.plan.unmarked = s != nil && s.RetryUnmarked
	o.plan.observe = p.observes(kind, chain)
	return o.plan
}

// stage returns the active stage of the roll-out.
func (p *Policy) stage() Stage {
	r := &p.spec.Rollout
	if s, ok := r.Stages[r.Stage]; ok && r.Stage != "" {
		return s
	}
	return Stage{Mode: r.Mode, Enforce: r.Enforce, Kinds: r.Kinds}
}

// Enforces reports whether decisions about a class of a kind are carried out; otherwise they
// are only recorded.
func (p *Policy) Enforces(kind string, class failure.Class) bool {
	return !p.observes(kind, p.chains[class])
}

// observes reports whether the policy only observes a class of a kind: its decisions are
// recorded but not carried out.
func (p *Policy) observes(kind string, chain []failure.Class) bool {
	s := p.stage()
	return s.Mode == Observe && !slices.Contains(s.Kinds, kind) &&
		!slices.ContainsFunc(chain, func(c failure.Class) bool { return slices.Contains(s.Enforce, c) })
}

// compileBaseline makes the plan that applies where the policy only observes: the kind's
// schedule without the policy, changed by the baseline of the roll-out.
func (p *Policy) compileBaseline(s *Schedule) *plan {
	o := p.newPlan()
	o.put(s.settings(), LevelSchedule, "")
	o.put(&p.spec.Rollout.Baseline, LevelBaseline, "rollout.baseline")
	return o.plan
}

// scheduleOf returns the schedule that the program has set for a kind; nil means the
// default schedule.
func (p *Policy) scheduleOf(kind string) *Schedule {
	if s := p.schedules[kind]; s != nil {
		return s
	}
	return p.schedules[""]
}

// overlay adds settings to a plan.
type overlay struct {
	plan    *plan
	curves  curves
	keep    bool // whether new compiled curves are added to curves; must be false while other goroutines make decisions
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

// curve returns the compiled form of a back-off. The back-off of a job is compiled for one
// decision and then dropped.
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
