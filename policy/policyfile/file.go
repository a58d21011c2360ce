// Package policyfile reads and writes policy files. A policy file is YAML and says which
// failures are retried, when and how often. docs/policy.md describes the format.
//
// The reader is strict and reports all mistakes of a file at once. Each problem has a line
// and column, and says what is allowed and how to correct the mistake.
package policyfile

import (
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/preset"
)

// File is a policy file that was read and is valid.
type File struct {
	// Name is the name of the file for messages.
	Name string
	// Spec contains the file merged with the preset that it extends.
	Spec policy.Spec
	// Extends is the name of the preset that the file extends; "" means none.
	Extends string
	// Policy is the compiled Spec. Its hash depends on the contents and not on how the file
	// is written.
	Policy *policy.Policy
}

// Load reads the file at a path. If the file has mistakes, the error is of type Problems.
// If the file cannot be read, the error comes from the operating system.
func Load(path string) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // check first, because opening a pipe would block
	if err != nil {
		return nil, fmt.Errorf("open policy: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open policy: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open policy: %w", err)
	}
	defer f.Close()
	// Read one byte more than the limit, so that Parse can see that the file is too large.
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return data, nil
}

// Parse reads a policy from the text of a file. Messages use the given name for the file.
// If there are mistakes, the error is of type Problems and contains all of them.
func Parse(name string, data []byte) (*File, error) {
	return newReader(name).file(data, true)
}

func (r *reader) file(data []byte, compile bool) (*File, error) {
	f := &File{Name: r.label}
	if root, ok := r.Parse(data); ok {
		r.root = root
		r.policy(root, &f.Spec, &f.Extends)
		r.extend(&f.Spec, f.Extends)
		r.ownMatchers(&f.Spec.Classify)
		f.Spec.Hash = Hash(&f.Spec)
		f.Spec.Source = Render(&f.Spec)
		if n := len(f.Spec.Source); n > RenderedMax {
			r.Addf(position{Line: 1, Col: 1}, "the policy is %d bytes long when it is written out, as it is kept beside its decisions, with what it extends and what its aliases repeat; "+
				"at most %d are allowed: repeat less by aliases, or say it once for all kinds or classes", n, RenderedMax)
		}
		if compile {
			r.checkNames(&f.Spec)
			f.Policy = r.compile(f.Spec)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// extend merges the file with the preset that it extends.
func (r *reader) extend(s *policy.Spec, name string) {
	if name == "" || name == presetDefault {
		return
	}
	under, err := Preset(name)
	if err != nil {
		hint := suggest.DidYouMean(name, Presets())
		if hint == "" {
			hint = "; the presets are " + suggest.List(Presets())
		}
		r.Addf(r.root.Get("extends").Pos, "\"extends\" names the preset %s, which is not known%s", yamlfile.Quote(name), hint)
		return
	}
	r.put(s, &under.Spec)
}

// put replaces s with the merge of s and the other settings, in which the values of s take
// precedence.
func (r *reader) put(s, under *policy.Spec) {
	*s = merge(s, under, r.step)
	if r.builtin == nil && !noMatchers(&under.Classify) {
		r.builtin = new(!under.Classify.NoBuiltin)
	}
}

// presetDefault is the name of the built-in default, which every policy extends implicitly.
const presetDefault = "default"

// Presets returns the names of the presets. The built-in default comes first.
func Presets() []string { return append([]string{presetDefault}, preset.Names()...) }

// Preset returns the preset with the given name; see Presets.
func Preset(name string) (*File, error) {
	text, ok := preset.Text(name)
	if name == presetDefault {
		s := policy.DefaultSpec()
		text, ok = Render(&s), true
	}
	if !ok {
		return nil, fmt.Errorf("preset %.64q is not known; the presets are %s", name, suggest.List(Presets()))
	}
	return Parse(name+".yaml", text)
}

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a policy file. Editors can use it for
// completion and checks. The reader finds further mistakes that a schema cannot express.
func Schema() []byte { return []byte(schema) }
