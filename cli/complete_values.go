package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy/preset"
	"github.com/redrive/redrive/server/access"
)

// values returns the values of a flag or an argument that begin with the given text. If the
// value is a list, its last item is completed.
func (a *app) values(ctx context.Context, w *completer, v *kong.Value, prefix, text string) ([]suggestion, bool, error) {
	known := a.valuesOf(ctx, w, v)
	if takesPreset(v) && (strings.HasPrefix(text, config.PresetPrefix[:3]) || text == "" && v.Flag == nil) { // otherwise a file
		for _, name := range append([]string{"default"}, preset.Names()...) {
			known = append(known, suggestion{word: config.PresetPrefix + name})
		}
	}
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

// takesPreset reports whether a value can be the name of a preset, as its placeholder says.
func takesPreset(v *kong.Value) bool { return strings.Contains(v.Tag.PlaceHolder, config.PresetPrefix) }

// isFile reports whether a value is the name of a file. The placeholder of the flag or the
// name of the argument says so.
func isFile(v *kong.Value) bool {
	if v.Flag == nil {
		return v.Name == "file" || takesPreset(v)
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
