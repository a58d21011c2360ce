package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server/access"
)

// KindOut is a kind with its numbers of jobs.
type KindOut struct {
	Name string `json:"name"`
	// Configured is false if the kind is only known by its jobs.
	Configured bool             `json:"configured"`
	Queue      string           `json:"queue,omitempty"`
	Jobs       map[string]int64 `json:"jobs"` // number of jobs by state
}

// KindList is a list of kinds.
type KindList struct {
	Items []KindOut `json:"items"`
}

// listKinds answers with the kinds of the configuration and of the stored jobs.
func (a *API) listKinds(c *Call) error {
	counts, err := a.counts.get(a.o.Now(), func() ([]redrive.JobCount, error) { return a.client.Counts(c.Context()) })
	if err != nil {
		return err
	}
	byName := make(map[string]*KindOut)
	for name, k := range a.o.Kinds {
		byName[name] = &KindOut{Name: name, Configured: true, Queue: cmp.Or(k.Queue, redrive.DefaultQueue), Jobs: map[string]int64{}}
	}
	for _, n := range counts {
		if byName[n.Kind] == nil {
			byName[n.Kind] = &KindOut{Name: n.Kind, Jobs: map[string]int64{}}
		}
		byName[n.Kind].Jobs[n.State.String()] += n.N
	}
	list := KindList{Items: []KindOut{}}
	for name, k := range byName {
		if c.Caller.Kinds != nil && !slices.Contains(c.Caller.Kinds, name) {
			continue
		}
		if !c.Caller.Roles.Any(access.View) {
			k.Jobs = map[string]int64{} // who only submits or works does not see how much others submit
		}
		list.Items = append(list.Items, *k)
	}
	slices.SortFunc(list.Items, func(a, b KindOut) int { return cmp.Compare(a.Name, b.Name) })
	return c.JSON(http.StatusOK, list)
}

// mediaSchema is the media type of a JSON Schema.
const mediaSchema = "application/schema+json"

// showSchema answers with the schema of the payloads of a kind, as it is in its file.
func (a *API) showSchema(c *Call) error {
	kind := c.R.PathValue("kind")
	schema := a.client.PayloadSchema(kind)
	if schema == nil || c.Caller.Kinds != nil && !slices.Contains(c.Caller.Kinds, kind) {
		return NotFound.New("kind %.100q: it has no schema", kind)
	}
	sum := versionOf(schema)
	if c.unchanged(sum) {
		return nil
	}
	return c.Bytes(http.StatusOK, mediaSchema, schema)
}
