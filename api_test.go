package redrive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// No alias, field or signature of a public package names a type of an internal package. The
// documentation could not show such a type, and users could neither write its name nor look it up.
func TestAPI_NamesNoInternalType(t *testing.T) {
	t.Parallel()
	exports := exportData(t)
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("got no export data for package %s, want the file of its compiled package", path)
		}
		return os.Open(file)
	})
	var public int
	for path := range exports {
		if !isPublic(path) {
			continue
		}
		public++
		p, err := imp.Import(path)
		if err != nil {
			t.Errorf("import package %s: got error %v, want none", path, err)
			continue
		}
		for _, found := range internalNames(p) {
			t.Errorf("public package %s names an internal type: %s; want no internal types in the public API", path, found)
		}
	}
	if public < 15 {
		t.Errorf("found only %d public packages, want at least 15", public)
	}
}

// The search for internal types finds every way in which a package can name such a type.
func TestAPI_InternalTypesAreFound(t *testing.T) {
	t.Parallel()
	hidden := types.NewPackage(module+"/internal/hidden", "hidden")
	named := func(p *types.Package, name string, under types.Type) *types.TypeName {
		obj := types.NewTypeName(token.NoPos, p, name, nil)
		types.NewNamed(obj, under, nil)
		return obj
	}
	secret := named(hidden, "Secret", types.NewStruct(nil, nil)).Type()
	field := func(name string, t types.Type, embedded bool) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, nil, name, t, embedded)}, nil)
	}
	params := func(t types.Type) *types.Tuple { return types.NewTuple(types.NewVar(token.NoPos, nil, "", t)) }
	signature := types.NewSignatureType(nil, nil, nil, params(types.NewSlice(secret)), nil, false)
	for name, obj := range map[string]func(*types.Package) types.Object{
		"alias": func(p *types.Package) types.Object {
			o := types.NewTypeName(token.NoPos, p, "A", nil)
			types.NewAlias(o, secret)
			return o
		},
		"field":    func(p *types.Package) types.Object { return named(p, "A", field("F", types.NewPointer(secret), false)) },
		"embedded": func(p *types.Package) types.Object { return named(p, "A", field("Secret", secret, true)) },
		"function": func(p *types.Package) types.Object { return types.NewFunc(token.NoPos, p, "F", signature) },
		"callback": func(p *types.Package) types.Object { return named(p, "A", signature) },
		"variable": func(p *types.Package) types.Object {
			return types.NewVar(token.NoPos, p, "V", types.NewMap(types.Typ[types.Int], secret))
		},
		"interface": func(p *types.Package) types.Object {
			return named(p, "A", types.NewInterfaceType([]*types.Func{types.NewFunc(token.NoPos, p, "M", signature)}, nil).Complete())
		},
		"method": func(p *types.Package) types.Object {
			o := named(p, "A", types.NewStruct(nil, nil))
			recv := types.NewVar(token.NoPos, p, "", o.Type())
			m := types.NewSignatureType(recv, nil, nil, nil, params(secret), false)
			o.Type().(*types.Named).AddMethod(types.NewFunc(token.NoPos, p, "M", m))
			return o
		},
	} {
		p := types.NewPackage(module+"/open", "open")
		p.Scope().Insert(obj(p))
		if len(internalNames(p)) == 0 {
			t.Errorf("%s: the search did not find the internal type, want it found", name)
		}
	}
	p := types.NewPackage(module+"/open", "open")
	p.Scope().Insert(named(p, "A", field("secret", secret, false)))
	if found := internalNames(p); len(found) != 0 {
		t.Errorf("the search reported the internal type of an unexported field: %v; want no report", found)
	}
}

// exportData returns, by import path, the files with export data of the module's public packages
// and of all their dependencies.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	list := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("run the command %v: %v", cmd, err)
		}
		return out
	}
	packages := slices.DeleteFunc(strings.Fields(string(list("./..."))), func(path string) bool { return !isPublic(path) })
	out := list(append([]string{"-export", "-deps", "-json=ImportPath,Export"}, packages...)...)
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Export != "" {
			files[p.ImportPath] = p.Export
		}
	}
}

// isPublic reports whether a package is meant for use by other modules, which must also be able to
// import it.
func isPublic(path string) bool {
	if !within(path, module) {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(path, module), "/")
	for _, private := range []string{"internal", "cmd", "tests", "scripts", "examples", "docs", "bench"} {
		if slices.Contains(parts, private) {
			return false
		}
	}
	return true
}

// internalNames lists the places where the exported part of a package names a type of an internal
// package.
func internalNames(p *types.Package) (found []string) {
	scope := p.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		w := nameWalk{where: name, found: &found}
		typeName, isType := obj.(*types.TypeName)
		if !isType {
			w.visit(obj.Type())
			continue
		}
		if alias, ok := typeName.Type().(*types.Alias); ok {
			w.visit(alias.Rhs())
			continue
		}
		w.visit(typeName.Type().Underlying())
		if _, isInterface := typeName.Type().Underlying().(*types.Interface); isInterface {
			continue
		}
		methods := types.NewMethodSet(types.NewPointer(typeName.Type())) // this includes the promoted methods of embedded fields
		for m := range methods.Methods() {
			if m.Obj().Exported() {
				nameWalk{where: name + "." + m.Obj().Name(), found: &found}.visit(m.Type())
			}
		}
	}
	return found
}

// nameWalk walks through the structure of a type down to the named types in it.
type nameWalk struct {
	where string
	found *[]string
}

func (w nameWalk) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.name(t.Obj(), t.TypeArgs())
	case *types.Named:
		w.name(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		w.visit(t.Elem())
	case *types.Slice:
		w.visit(t.Elem())
	case *types.Array:
		w.visit(t.Elem())
	case *types.Chan:
		w.visit(t.Elem())
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.visit(v.Type())
		}
		for v := range t.Results().Variables() {
			w.visit(v.Type())
		}
		for p := range t.TypeParams().TypeParams() {
			w.visit(p.Constraint())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				nameWalk{w.where + "." + f.Name(), w.found}.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				nameWalk{w.where + "." + m.Name(), w.found}.visit(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.visit(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(term.Type())
		}
	}
}

func (w nameWalk) name(obj *types.TypeName, args *types.TypeList) {
	if p := obj.Pkg(); p != nil && within(p.Path(), module) && slices.Contains(strings.Split(p.Path(), "/"), "internal") {
		*w.found = append(*w.found, fmt.Sprintf("%s names %s of %s", w.where, obj.Name(), p.Path()))
	}
	for arg := range args.Types() {
		w.visit(arg)
	}
}
