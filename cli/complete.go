package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/redrive/redrive/internal/words"
)

// completionCmd prints the script that adds completion of this command to a shell.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help implements kong.HelpProvider.
func (*completionCmd) Help() string {
	return `The script asks this program for completions, so it is never out of date. It completes names of queues, kinds, classes and
groups from the configuration and the database.

    source <(redrive completion bash)
    redrive completion bash > /etc/bash_completion.d/redrive
    redrive completion zsh > "${fpath[1]}/_redrive"
    redrive completion fish > ~/.config/fish/completions/redrive.fish`
}

func (c *completionCmd) Run(a *app) error {
	_, err := io.WriteString(a.out, completionScripts[c.Shell])
	return err
}

// completeCmd is the hidden command that the completion scripts call. Its arguments are the
// words of the command line so far; the last one is not complete.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// suggestion is a word that can stand next on the command line, with a short description.
type suggestion struct{ word, help string }

// fileNames is printed instead of suggestions. It asks the shell to complete the names of
// files.
const fileNames = ":files"

func (c *completeCmd) Run(ctx context.Context, a *app) error {
	given := c.Words
	if len(given) > 0 && given[0] == "--" {
		given = given[1:]
	}
	found, files, err := a.complete(ctx, given)
	if err != nil {
		return err
	}
	if files {
		_, err := fmt.Fprintln(a.out, fileNames)
		return err
	}
	for _, s := range found {
		line := words.Clean(s.word)
		if s.help != "" {
			line += "\t" + words.Clean(s.help)
		}
		fmt.Fprintln(a.out, line)
	}
	return nil
}

// complete returns the words that can replace the last word. The second result is true if the
// last word is the name of a file.
func (a *app) complete(ctx context.Context, given []string) (found []suggestion, files bool, err error) {
	var g grammar
	parser, err := newParser(&g, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		return nil, false, err
	}
	w := &completer{node: parser.Model.Node}
	last := ""
	if len(given) > 0 {
		given, last = joined(given)
	}
	for _, word := range given {
		w.read(word)
	}
	a.globals = w.globals
	return a.candidates(ctx, w, last)
}

// joined joins --name=value, which bash splits into three words. It returns all words but
// the last, and the last word.
func joined(given []string) (before []string, last string) {
	for i := range given {
		if given[i] == "=" && len(before) > 0 && strings.HasPrefix(before[len(before)-1], "--") {
			if i == len(given)-1 {
				return before, ""
			}
			continue
		}
		before = append(before, given[i])
	}
	return before[:len(before)-1], before[len(before)-1]
}

// completer is the state of the parser after it has read the words before the last one.
type completer struct {
	node       *kong.Node
	flag       *kong.Flag // a flag whose value comes next; nil if no value is expected
	positional int        // number of positional arguments that were read
	plain      bool       // "--" was read: no flags can follow
	globals    globals
}

func (w *completer) read(word string) {
	switch {
	case w.flag != nil:
		w.set(w.flag, word)
		w.flag = nil
	case word == "--":
		w.plain = true
	case strings.HasPrefix(word, "-") && len(word) > 1 && !w.plain:
		name, value, given := strings.Cut(word, "=")
		flag := w.find(name)
		if flag != nil && given {
			w.set(flag, value)
		} else if flag != nil && !flag.IsBool() {
			w.flag = flag
		}
	default:
		for _, child := range w.node.Children {
			if child.Name == word {
				w.node, w.positional = child, 0
				return
			}
		}
		w.positional++
	}
}

// set keeps the values of --db and --config, because names are read from that database and
// that configuration.
func (w *completer) set(flag *kong.Flag, value string) {
	switch flag.Name {
	case "db":
		w.globals.DB = value
	case "config":
		w.globals.ConfigFile = value
	}
}

// flags returns the flags that can be used here, including the flags of the default command.
func (w *completer) flags() (all []*kong.Flag) {
	for _, group := range w.node.AllFlags(true) {
		all = append(all, group...)
	}
	if d := w.node.DefaultCmd; d != nil {
		all = append(all, d.Flags...)
	}
	return all
}

func (w *completer) find(word string) *kong.Flag {
	for _, flag := range w.flags() {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

// candidates returns the words that can stand at the current position and begin with the given
// text.
func (a *app) candidates(ctx context.Context, w *completer, last string) (found []suggestion, files bool, err error) {
	name, value, inFlag := strings.Cut(last, "=")
	switch {
	case w.flag != nil:
		return a.values(ctx, w, w.flag.Value, "", last)
	case inFlag && !w.plain && strings.HasPrefix(name, "--"):
		if flag := w.find(name); flag != nil {
			return a.values(ctx, w, flag.Value, name+"=", value)
		}
		return nil, false, nil
	case strings.HasPrefix(last, "-") && !w.plain:
		for _, flag := range w.flags() {
			found = append(found, suggestion{"--" + flag.Name, firstSentence(flag.Help)})
			if flag.Tag.Negatable != "" {
				found = append(found, suggestion{"--no-" + flag.Name, firstSentence(flag.Help)})
			}
		}
		return begin(found, last), false, nil
	}
	for _, child := range w.node.Children {
		if !child.Hidden {
			found = append(found, suggestion{child.Name, firstSentence(child.Help)})
		}
	}
	if found = begin(found, last); len(found) > 0 || len(w.node.Children) > 0 {
		return found, false, nil
	}
	if p := w.place(); p != nil {
		return a.values(ctx, w, p, "", last)
	}
	return nil, false, nil
}

// place returns the next positional argument, or nil if no more are allowed.
func (w *completer) place() *kong.Positional {
	all := w.node.Positional
	if n := len(all); n > 0 && w.positional >= n && all[n-1].IsCumulative() {
		return all[n-1]
	}
	if w.positional < len(all) {
		return all[w.positional]
	}
	return nil
}
