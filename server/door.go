package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/door"
	"github.com/redrive/redrive/policy"
)

// Door is a kind under a path of its own, in the words of another system. POST to the path takes the
// payload of a job as the body and answers with {"id", "status"}; GET with the id below the path
// shows the job. Each mistake is answered with {"statusCode", "message", "error"} and nothing else.
type Door struct {
	// Path is the path, such as "/jobs": words of letters, digits, '.', '_' and '-', each after a
	// slash. It must not begin with a path of the server itself, such as /api.
	Path string
	// Kind is the kind of the jobs. Its payload must be JSON, not text.
	Kind string
	// Words are the names of states, classes and fields. Nil means those of the client's policy.
	Words *policy.Words
}

// doorsOf returns the doors in the form of package api, sorted by name.
func doorsOf(o *Options) ([]api.Door, error) {
	var list []api.Door
	for _, name := range slices.Sorted(maps.Keys(o.Doors)) {
		d := o.Doors[name]
		bad := func(format string, args ...any) ([]api.Door, error) {
			return nil, fmt.Errorf("server: door %q: "+format, append([]any{name}, args...)...)
		}
		if err := door.CheckPath(d.Path); err != nil {
			return bad("%w", err)
		}
		kind, known := o.Kinds[d.Kind]
		switch {
		case d.Kind == "":
			return bad("it has no kind; name the kind of its jobs")
		case o.Kinds != nil && !known:
			return bad("unknown kind %q; add it to Kinds", d.Kind)
		case kind.Text:
			return bad("the kind %q takes texts; a door takes JSON", d.Kind)
		}
		if i := slices.IndexFunc(list, func(other api.Door) bool { return strings.EqualFold(other.Path, d.Path) }); i >= 0 {
			return bad("the door %q has the path %s, too; give each its own", list[i].Name, d.Path)
		}
		list = append(list, api.Door{Name: name, Path: d.Path, Kind: d.Kind, Words: d.Words})
	}
	return list, nil
}
