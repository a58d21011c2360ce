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
	l := loader{fset: token.NewFileSet(), packages: map[string]*loaded{}}
	arrows := map[arrow][]string{}
	rooms := map[string]bool{}
	for _, dir := range flag.Args() {
		p, err := l.load(filepath.Clean(dir))
		if err != nil {
			fmt.Fprintln(os.Stderr, "arrows:", err)
			os.Exit(1)
		}
		rooms[p.dir] = true
		l.collect(p, arrows)
	}
	report(rooms, arrows, *verbose)
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

// collect adds the arrows from the files of a package, with the names that are used.
func (l *loader) collect(p *loaded, arrows map[arrow][]string) {
	for id, object := range p.uses {
		if object.Pkg() == nil || !ofPackage(object) {
			continue
		}
		a := arrow{l.fset.Position(id.Pos()).Filename, l.fset.Position(object.Pos()).Filename}
		if a.from != a.to && a.to != "" && !slices.Contains(arrows[a], object.Name()) {
			arrows[a] = append(arrows[a], object.Name())
		}
	}
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

func report(rooms map[string]bool, arrows map[arrow][]string, verbose bool) {
	next := map[string][]string{}
	for a := range arrows {
		next[a.from] = append(next[a.from], a.to)
	}
	all, up := map[string]int{}, map[string]int{}
	var lines []string
	for a, names := range arrows {
		room := filepath.Dir(a.from)
		all[room]++
		if reaches(next, a.to, a.from, map[string]bool{}) {
			up[room]++
			slices.Sort(names)
			lines = append(lines, fmt.Sprintf("%s -> %s: %s", a.from, a.to, strings.Join(names, " ")))
		}
	}
	if verbose {
		slices.Sort(lines)
		fmt.Println(strings.Join(lines, "\n"))
	}
	fmt.Println("package\tarrows\tback up")
	total, totalUp := 0, 0
	for _, room := range sorted(rooms) {
		fmt.Printf("%s\t%d\t%d\n", room, all[room], up[room])
		total, totalUp = total+all[room], totalUp+up[room]
	}
	fmt.Printf("together\t%d\t%d = %.0f %%\n", total, totalUp, 100*float64(totalUp)/float64(max(total, 1)))
}

func sorted(set map[string]bool) []string {
	var all []string
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
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
