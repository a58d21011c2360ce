// Command arrows counts how the files of packages use each other. There is an arrow from one file to another
// if it uses a function, type, method, variable or constant that the other declares. An arrow goes back up if
// the other file also uses the first, directly or through further files: then neither can be read alone.
//
//	go run ./scripts/arrows ./failure ./classify
//
// It prints a line for each package and a total, and with -v the arrows that go back up, with the names used.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/redrive/redrive"

func main() {
	verbose := flag.Bool("v", false, "print the arrows that go back up")
	flag.Parse()
	rooms, err := count(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "arrows:", err)
		os.Exit(1)
	}
	report(rooms, *verbose)
}

// room is a package with the number of its arrows, and those that go back up, each with the names used.
type room struct {
	dir    string
	arrows int
	up     []string
}

// count counts the arrows of the packages in some directories.
func count(dirs []string) ([]room, error) {
	l := loader{fset: token.NewFileSet(), packages: map[string]*loaded{}}
	var rooms []room
	for _, dir := range dirs {
		p, err := l.load(filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, l.collect(p))
	}
	return rooms, nil
}

// arrow leads from a file to another that it uses.
type arrow struct{ from, to string }

// loaded is a package whose names are resolved.
type loaded struct {
	dir   string
	types *types.Package
	uses  map[*ast.Ident]types.Object
}

type loader struct {
	fset     *token.FileSet
	packages map[string]*loaded // by directory
}

// load parses and checks the package of a directory, without its tests.
func (l *loader) load(dir string) (*loaded, error) {
	if p := l.packages[dir]; p != nil {
		return p, nil
	}
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", dir, err)
	}
	var files []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(l.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse package %s: %w", dir, err)
		}
		files = append(files, f)
	}
	p := &loaded{dir: dir, uses: map[*ast.Ident]types.Object{}}
	l.packages[dir] = p
	// Names of other modules stay unknown: only those of this module make arrows.
	config := types.Config{Importer: l, FakeImportC: true, Error: func(error) {}}
	p.types, _ = config.Check(module+"/"+filepath.ToSlash(dir), l.fset, files, &types.Info{Uses: p.uses})
	return p, nil
}

// Import returns a package of this module.
func (l *loader) Import(path string) (*types.Package, error) {
	dir, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return nil, errors.New("not a package of this module")
	}
	p, err := l.load(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	return p.types, nil
}

// collect collects the arrows from the files of a package.
func (l *loader) collect(p *loaded) room {
	arrows := map[arrow][]string{}
	for id, object := range p.uses {
		if object.Pkg() == nil || !ofPackage(object) {
			continue
		}
		a := arrow{l.fset.Position(id.Pos()).Filename, l.fset.Position(object.Pos()).Filename}
		if a.from != a.to && a.to != "" && !slices.Contains(arrows[a], object.Name()) {
			arrows[a] = append(arrows[a], object.Name())
		}
	}
	next := map[string][]string{}
	for a := range arrows {
		next[a.from] = append(next[a.from], a.to)
	}
	r := room{dir: p.dir, arrows: len(arrows)}
	for a, names := range arrows {
		if reaches(next, a.to, a.from, map[string]bool{}) {
			slices.Sort(names)
			r.up = append(r.up, fmt.Sprintf("%s -> %s: %s", a.from, a.to, strings.Join(names, " ")))
		}
	}
	slices.Sort(r.up)
	return r
}

// ofPackage reports whether an object is declared at the level of a package, or is a method.
func ofPackage(object types.Object) bool {
	switch o := object.(type) {
	case *types.Func:
		return true
	case *types.TypeName, *types.Var, *types.Const:
		return o.Parent() == o.Pkg().Scope()
	}
	return false
}

func report(rooms []room, verbose bool) {
	total, up := 0, 0
	for _, r := range rooms {
		if verbose && len(r.up) > 0 {
			fmt.Println(strings.Join(r.up, "\n"))
		}
		total, up = total+r.arrows, up+len(r.up)
	}
	fmt.Println("package\tarrows\tback up")
	for _, r := range rooms {
		fmt.Printf("%s\t%d\t%d\n", r.dir, r.arrows, len(r.up))
	}
	fmt.Printf("together\t%d\t%d = %.0f %%\n", total, up, 100*float64(up)/float64(max(total, 1)))
}

// reaches reports whether arrows lead from one file to another.
func reaches(next map[string][]string, from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, file := range next[from] {
		if !seen[file] && reaches(next, file, to, seen) {
			return true
		}
	}
	return false
}
