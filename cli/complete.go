package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
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

// values returns the values of a flag or an argument that begin with the given text. If the
// value is a list, its last item is completed.
func (a *app) values(ctx context.Context, w *completer, v *kong.Value, prefix, text string) ([]suggestion, bool, error) {
	known := a.valuesOf(ctx, w, v)
	if known == nil {
		return nil, isFile(v), nil
	}
	if i := strings.LastIndexByte(text, ','); i >= 0 && v.IsSlice() {
		prefix, text = prefix+text[:i+1], text[i+1:]
	}
	found := begin(known, text)
	for i := range found {
		found[i].word = prefix + found[i].word
	}
	return found, false, nil
}

func begin(all []suggestion, text string) []suggestion {
	return slices.DeleteFunc(all, func(s suggestion) bool { return !strings.HasPrefix(s.word, text) })
}

func firstSentence(help string) string {
	if i := strings.IndexAny(help, ".:;"); i > 0 {
		return help[:i]
	}
	return help
}

// isFile reports whether a value is the name of a file. The placeholder of the flag or the
// name of the argument says so.
func isFile(v *kong.Value) bool {
	if v.Flag == nil {
		return v.Name == "file"
	}
	return strings.HasPrefix(v.Flag.PlaceHolder, "FILE")
}

// valuesOf returns all possible values of a flag or an argument, or nil if they are not
// known. Errors are ignored, because a shell does not show them.
func (a *app) valuesOf(ctx context.Context, w *completer, v *kong.Value) []suggestion {
	if v.Enum != "" {
		return plainWords(v.EnumSlice())
	}
	name := v.Name
	if v.Flag == nil && name == "name" && w.node.Parent != nil && w.node.Parent.Name == "queues" {
		name = "queue"
	}
	if v.Flag == nil && name == "name" && w.node.Parent != nil && w.node.Parent.Name == "workers" {
		name = "worker"
	}
	if v.Flag == nil && name == "id" && w.node.Parent != nil && w.node.Parent.Name == "redrive" {
		name = "redrive"
	}
	if v.Flag == nil && name == "key" && w.node.Parent != nil && w.node.Parent.Name == "keys" {
		name = "access key"
	}
	switch name {
	case "role":
		return plainWords(access.RoleNames())
	case "status":
		return wordsOf(job.Statuses[:])
	case "state":
		return wordsOf(job.States[:])
	case "reason":
		if w.find("--status") == nil {
			return nil // without the flag --status, the reason is free text for the audit log
		}
		return plainWords(texts(reasons[:]))
	case "kind", "queue", "to-queue", "class", "group", "redrive", "worker", "access key":
		return a.names(ctx, strings.TrimPrefix(name, "to-"))
	}
	return nil
}

func wordsOf[S fmt.Stringer](all []S) []suggestion {
	out := make([]suggestion, len(all))
	for i, s := range all {
		out[i].word = s.String()
	}
	return out
}

func plainWords(all []string) []suggestion {
	out := make([]suggestion, len(all))
	for i, s := range all {
		out[i].word = s
	}
	return out
}

// completionLimit is the longest time that a completion waits for a database server.
const completionLimit = 2 * time.Second

// names returns all kinds, queues, classes, groups, redrives or workers that the configuration
// or the database contains. The argument says which of these sorts of names it returns.
func (a *app) names(ctx context.Context, sort string) []suggestion {
	n := a.configuredNames(sort)
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	if client, db, err := a.open(ctx); err == nil {
		_ = n.read(ctx, client, sort) // a shell does not show errors
		_ = db.Close()                // no error matters here: the database was only read
	}
	found := []suggestion{}
	for _, name := range slices.Sorted(maps.Keys(n.all)) {
		found = append(found, suggestion{name, n.all[name]})
	}
	return found
}

// nameReader collects names.
type nameReader struct {
	all map[string]string // short descriptions of the names, by name
}

func (n *nameReader) add(names []string) {
	for _, name := range names {
		n.all[name] = ""
	}
}

// read adds to n.all the names of one sort, such as the kinds or the queues of the database.
func (n *nameReader) read(ctx context.Context, client *redrive.Client, sort string) error {
	switch sort {
	case "kind":
		counts, err := client.Counts(ctx)
		for i := range counts {
			n.all[counts[i].Kind] = ""
		}
		return err
	case "queue":
		queues, err := client.Queues(ctx)
		for i := range queues {
			n.all[queues[i].Name] = ""
		}
		return err
	case "class":
		stats, err := client.DeadStats(ctx)
		for i := range stats.Counts {
			if class := stats.Counts[i].Class; n.all[class] == "" && class != "" {
				n.all[class] = ""
			}
		}
		return err
	case "group":
		page, err := client.Groups(ctx, redrive.GroupFilter{Limit: job.PageMax})
		for i := range page.Groups {
			g := &page.Groups[i]
			n.all[words.ShortGroup(g.Fingerprint)] = fmt.Sprintf("%s, %s pending: %s", g.Kind, words.Number(g.Pending), words.Shorten(words.GroupCause(g), 60))
		}
		return err
	case "worker":
		list, err := client.Processes(ctx)
		for i := range list {
			n.all[list[i].Name] = words.ProcessState(&list[i])
		}
		return err
	case "access key":
		list, err := client.AccessKeys(ctx)
		for i := range list {
			if list[i].RevokedAt == 0 {
				n.all[list[i].ID] = list[i].Name
			}
		}
		return err
	case "redrive":
		list, err := client.Redrives(ctx)
		for i := range list {
			n.all[fmt.Sprint(list[i].ID)] = fmt.Sprintf("%s, %s", list[i].State, words.Count(list[i].Total, "job"))
		}
		return err
	}
	return nil
}
