package policyfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// reference is a position in the file at which a class is named.
type reference struct {
	at    position
	path  string
	class string
	// defines is true if this is a key under classes, which can define a new class.
	defines bool
}

// refer records a position at which the file names a class. The class is checked later, when
// the whole file has been read.
func (r *reader) refer(at position, path, class string) {
	r.references = append(r.references, reference{at: at, path: path, class: class})
}

// checkNames reports names of classes, stages and words that do not exist. The Spec s
// contains the file merged with the preset that it extends.
func (r *reader) checkNames(s *policy.Spec) {
	known := classNames(s)
	for _, ref := range r.references {
		if slices.Contains(known, ref.class) || !isClassName(ref.class) {
			continue
		}
		hint := suggest.DidYouMean(ref.class, known)
		switch {
		case ref.defines && hint != "":
			r.Addf(ref.at, "class %s is not built in%s A class of your own needs a verdict, or the built-in class that it is", yamlfile.Quote(ref.class), hint)
		case ref.defines:
			r.Addf(ref.at, "class %s is not built in; give it a verdict, or say with \"is\" which built-in class it is", yamlfile.Quote(ref.class))
		default:
			if hint == "" {
				hint = "; define it under \"classes\", with a verdict"
			}
			r.Addf(ref.at, "%s names the class %s, which is not known%s", ref.path, yamlfile.Quote(ref.class), hint)
		}
	}
	r.checkStage(s)
	r.checkWords(s)
}

// classNames returns the names of the built-in classes and of those that the policy
// defines.
func classNames(s *policy.Spec) []string {
	var names []string
	for _, info := range failure.Classes() {
		names = append(names, string(info.Class))
	}
	for name, c := range s.Classes {
		if c.Is != "" || c.Verdict != "" {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// checkStage reports an active stage that the policy does not define.
func (r *reader) checkStage(s *policy.Spec) {
	rollout := r.root.Get("rollout")
	if rollout == nil || rollout.Get("stage") == nil {
		return
	}
	stage := rollout.Get("stage")
	if _, ok := s.Rollout.Stages[stage.Text]; ok || !yamlfile.IsName(stage.Text) {
		return
	}
	names := keysOf(s.Rollout.Stages)
	hint := suggest.DidYouMean(stage.Text, names)
	if hint == "" {
		hint = "; the stages are " + suggest.List(names)
	}
	if len(names) == 0 {
		hint = "; define it under rollout.stages"
	}
	r.Addf(stage.Pos, "rollout.stage names the stage %s, which is not known%s", yamlfile.Quote(stage.Text), hint)
}

// checkWords reports words for states, classes and fields that do not exist.
func (r *reader) checkWords(s *policy.Spec) {
	words := r.root.Get("words")
	if words == nil {
		return
	}
	check := func(section, thing string, known []string, part func(string) string) {
		of := words.Get(section)
		if of == nil {
			return
		}
		for _, e := range of.Entries {
			if slices.Contains(known, part(e.Key)) {
				continue
			}
			hint := suggest.DidYouMean(part(e.Key), known)
			if hint == "" {
				hint = "; known are " + suggest.List(known)
			}
			r.Addf(e.Pos, "words.%s names the %s %s, which is not known%s", section, thing, yamlfile.Quote(e.Key), hint)
		}
	}
	whole := func(s string) string { return s }
	state := func(s string) string {
		if reason, ok := strings.CutPrefix(s, "dead:"); ok && reason != "" {
			return "dead"
		}
		return s
	}
	check("states", "state", policy.States(), state)
	check("error", "field", policy.ErrorFields(), whole)
	check("classes", "class", classNames(s), whole)
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
