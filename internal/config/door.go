package config

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/door"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy/preset"
)

const doorsWanted = "a mapping such as {render: {path: /jobs, kind: render}}"

func (r *reader) doors(v value, c *Config) {
	if len(v.Entries) > doorsMax {
		r.Addf(v.Pos, "%s has %d entries; at most %d are allowed", v.Path, len(v.Entries), doorsMax)
		return
	}
	paths := map[string]string{}
	r.Named(v, doorsWanted, "door", func(name string, at position, v value) {
		if c.Server.Doors == nil {
			c.Server.Doors = map[string]Door{}
		}
		c.Server.Doors[name] = r.door(v, at, c, name, paths)
	})
}

// door reads one door. The map has the names of the doors that were read, by path.
func (r *reader) door(v value, at position, c *Config, name string, paths map[string]string) Door {
	d := Door{Words: WordsOfPolicy}
	names := append([]string{WordsOfPolicy}, preset.Names()...)
	r.Fields(v, "a mapping such as {path: /jobs, kind: render}", []field{
		{"path", r.NonEmpty(&d.Path)},
		{"kind", r.NonEmpty(&d.Kind)},
		{"words", yamlfile.Choice(r.Reader, &d.Words, names, names)},
	})
	if v.Shape != yamlfile.Mapping && v.Shape != yamlfile.Null {
		return d
	}
	switch p := v.Get("path"); {
	case p == nil:
		r.Addf(at, "%s has no path; add one such as path: /jobs", v.Path)
	case d.Path == "":
	default:
		if err := door.CheckPath(d.Path); err != nil {
			r.Addf(p.Pos, "%s: %v", v.Path, err)
		}
		if other, ok := paths[strings.ToLower(d.Path)]; ok {
			r.Addf(p.Pos, "%s.path is the path of the door %s, too; give each its own", v.Path, strconv.Quote(other))
		}
		paths[strings.ToLower(d.Path)] = name
	}
	k := v.Get("kind")
	kind, known := c.Kinds[d.Kind]
	switch {
	case k == nil:
		r.Addf(at, "%s has no kind; name one of \"kinds\"", v.Path)
	case d.Kind == "":
	case !known:
		r.Addf(k.Pos, "%s.kind: %s", v.Path, suggest.Unknown("kind", d.Kind, c.KindNames))
	case kind.Payload == PayloadText:
		r.Addf(k.Pos, "%s.kind: the kind %s has \"payload: text\"; a door takes JSON", v.Path, d.Kind)
	}
	return d
}
