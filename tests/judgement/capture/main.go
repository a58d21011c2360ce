// Command capture runs real programs in broken surroundings and writes what they print as labelled texts.
//
// A table (programs/*.txt) names the programs. A scenario breaks one thing: an input that is missing, an
// output that is full, a server that answers 503. The scenario is the label, so nobody has to read the
// text. Programs that are not installed are skipped and named.
//
// Run it as root: programs run as the user nobody, and root's files are what they may not read.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Text is one line of the data.
type Text struct {
	ID        string   `json:"id"`
	Family    string   `json:"family"`
	Text      string   `json:"text"`
	Class     string   `json:"class"`
	AlsoOK    []string `json:"also_ok,omitempty"`
	Retriable bool     `json:"retriable"`
	Ambiguous bool     `json:"ambiguous,omitempty"`
	Source    string   `json:"source"`
}

func main() {
	tables := flag.String("tables", "programs", "folder with the tables of programs")
	out := flag.String("out", "", "file to write, one JSON object a line; standard output if empty")
	only := flag.String("only", "", "the only family to run")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*tables, *out, *only); err != nil {
		log.Fatal("capture: ", err)
	}
}

func run(tables, out, only string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("run it as root: it starts programs as another user")
	}
	names, err := filepath.Glob(filepath.Join(tables, "*.txt"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no table is in %s", tables)
	}
	var programs []program
	for _, name := range names {
		p, err := readTable(name)
		if err != nil {
			return err
		}
		programs = append(programs, p...)
	}
	lab, err := newLab()
	if err != nil {
		return err
	}
	defer lab.Close()

	texts := make([][]Text, len(programs))
	var wait sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, p := range programs {
		if only != "" && p.family != only {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			texts[i] = lab.breakAll(i, p)
		})
	}
	wait.Wait()
	return write(out, slices.Concat(texts...))
}

// write writes each text once, in the order of the tables.
func write(out string, texts []Text) error {
	var b bytes.Buffer
	seen := map[string]bool{}
	families := map[string]int{}
	for _, t := range texts {
		if seen[t.Text] {
			continue
		}
		seen[t.Text] = true
		families[t.Family]++
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	log.Printf("%d texts of %d families", len(seen), len(families))
	if out == "" {
		_, err := os.Stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// A program is one line of a table.
type program struct {
	family  string
	langs   bool // whether its messages exist in other languages
	command string
	label   label // what the command's failure means, if it has no hole
}

// readTable reads lines of the form "family: command" or "family*: command". The star says that the
// program's messages exist in other languages. "#" begins a comment.
func readTable(name string) ([]program, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var programs []program
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		family, command, ok := strings.Cut(line, ": ")
		if !ok {
			return nil, fmt.Errorf("%s:%d: a line is \"family: command\"", name, i+1)
		}
		family, langs := strings.CutSuffix(family, "*")
		p := program{family: family, langs: langs, command: strings.TrimSpace(command)}
		if !hole.MatchString(p.command) {
			word, command, _ := strings.Cut(p.command, " ")
			if p.label, err = parseLabel(word); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			p.command = command
		}
		programs = append(programs, p)
	}
	return programs, nil
}
