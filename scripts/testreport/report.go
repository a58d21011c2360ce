package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of the output of `go test -json` (see `go doc test2json`).
type event struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64 // the duration of the test or of the package, in seconds
	Output      string
	ImportPath  string // import path of the package whose build wrote the output
	FailedBuild string // import path of the failed build that prevented the tests of a package
}

// report reads events and prints only what people need.
type report struct {
	out io.Writer

	packages map[string]*pack
	builds   map[string][]string // the output of each build, by the import path of its package
	names    []string            // the names of the failed tests, packages and builds
	skips    []*test

	passed, failed, skipped int
}

// pack is a package whose tests are running.
type pack struct {
	name   string
	tests  map[string]*test
	order  []*test
	own    []string // the output lines of the package that belong to no test
	failed int
}

// test is the state of one test.
type test struct {
	name    string
	lines   []string
	outcome string // the action that ended the test; "" while the test is running
}

func newReport(out io.Writer) *report {
	return &report{out: out, packages: make(map[string]*pack), builds: make(map[string][]string)}
}

// read handles all events. It prints other lines unchanged.
func (r *report) read(events io.Reader) error {
	for in := bufio.NewReader(events); ; {
		line, err := in.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil {
				r.take(&e)
			} else {
				fmt.Fprint(r.out, line)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the events of the tests: %w", err)
		}
	}
}

func (r *report) take(e *event) {
	if e.Action == "build-output" {
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &pack{name: e.Package, tests: make(map[string]*test)}
		r.packages[e.Package] = p
	}
	switch {
	case e.Test != "":
		r.takeTest(p, p.test(e.Test), e)
	case e.Action == "output":
		p.own = append(p.own, e.Output)
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		r.endPackage(p, e)
		delete(r.packages, e.Package)
	}
}

func (p *pack) test(name string) *test {
	t := p.tests[name]
	if t == nil {
		t = &test{name: name}
		p.tests[name] = t
		p.order = append(p.order, t)
	}
	return t
}

func (r *report) takeTest(p *pack, t *test, e *event) {
	switch e.Action {
	case "output":
		t.lines = append(t.lines, e.Output)
		return
	case "pass":
		r.passed++
		// The report of a data race may be in the output of a test that did not cause the
		// race, so this output is kept.
		if !slices.ContainsFunc(t.lines, func(l string) bool { return strings.Contains(l, "DATA RACE") }) {
			t.lines = nil
		}
	case "fail":
		r.failed++
		p.failed++
		r.names = append(r.names, p.name+" "+t.name)
	case "skip":
		r.skipped++
		r.skips = append(r.skips, t)
	default: // the actions run, pause, cont and start do not end a test
		return
	}
	t.outcome = e.Action
}

// endPackage prints the result of a package and the output of its failures.
func (r *report) endPackage(p *pack, e *event) {
	if e.Action != "fail" {
		for _, line := range p.own {
			if strings.HasPrefix(line, "ok ") {
				fmt.Fprint(r.out, line)
			}
		}
		return
	}
	fmt.Fprintf(r.out, "FAIL\t%s\t%.3fs\n", p.name, e.Elapsed)
	for _, t := range p.order {
		switch t.outcome {
		case "":
			r.failed++
			p.failed++
			r.names = append(r.names, p.name+" "+t.name+" (did not end)")
			r.block("--- NO END: "+t.name, t.lines)
		case "fail":
			r.block("--- FAIL: "+t.name, t.lines)
		case "pass":
			r.block("--- in the output of "+t.name+", which passed", t.lines)
		}
	}
	if p.failed == 0 {
		r.failed++
		r.names = append(r.names, p.name)
	}
	r.block("--- build of "+p.name, r.builds[e.FailedBuild])
	r.block("--- outside of the tests of "+p.name, p.own)
}

// The largest numbers of lines that are printed from the beginning and from the end of an
// output.
const (
	blockHead = 300
	blockTail = 300
)

// block prints lines below a title. It prints nothing if no line has information.
func (r *report) block(title string, lines []string) {
	lines = slices.DeleteFunc(slices.Clone(lines), says)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(r.out, title)
	for i, line := range lines {
		if left := len(lines) - blockHead - blockTail; i == blockHead && left > 0 {
			fmt.Fprintf(r.out, "… %d lines left out …\n", left)
		}
		if i < blockHead || i >= len(lines)-blockTail {
			fmt.Fprint(r.out, line)
		}
	}
}

// says reports whether a line only says that a test is running, has ended or has failed.
func says(line string) bool {
	line = strings.TrimSpace(line)
	switch line {
	case "", "PASS", "FAIL", "exit status 1":
		return true
	}
	for _, prefix := range []string{"=== ", "--- PASS: ", "--- FAIL: ", "--- SKIP: ", "FAIL\t"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// end prints the skipped tests, the failed tests, a note and the counts. The run has passed
// only if the command has succeeded too.
func (r *report) end(note string, passed bool) {
	for _, p := range r.packages { // the tests of these packages have not ended, because the command ended before
		r.endPackage(p, &event{Action: "fail"})
	}
	if !passed && r.failed == 0 {
		r.failed++
		r.names = append(r.names, "the command that runs the tests, see its error above")
	}
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "SKIPPED tests:")
		for _, t := range r.skips {
			fmt.Fprintln(r.out, "--- SKIP: "+t.name)
			for _, line := range slices.DeleteFunc(t.lines, says) {
				fmt.Fprint(r.out, line)
			}
		}
	}
	if len(r.names) > 0 {
		fmt.Fprintln(r.out, "FAILED:")
		for _, name := range r.names {
			fmt.Fprintln(r.out, "    "+name)
		}
	}
	if note != "" {
		fmt.Fprintln(r.out, note)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
