package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/stream/project"
)

// Rebuild writes the documents of a stream, or the marks under a name of Config.Marks, anew from what the store has. Topics
// cannot be made anew. It changes nothing in the store.
func Rebuild(ctx context.Context, client *redrive.Client, config *Config, sink string) (project.Rebuilt, error) {
	c, err := config.filled()
	if err != nil {
		return project.Rebuilt{}, err
	}
	storeID, err := c.storeID(ctx, client)
	if err != nil {
		return project.Rebuilt{}, fmt.Errorf("stream %q: %w", c.Name, err)
	}
	var names []string
	for _, s := range c.others(client, storeID) {
		if names = append(names, s.Name()); s.Name() != sink {
			continue
		}
		var r project.Rebuilt
		switch s := s.(type) {
		case *project.Documents:
			r, err = s.Rebuild(ctx, client, c.Queue)
		case *project.Marks:
			r, err = s.Rebuild(ctx, client, c.Queue)
		}
		if err != nil {
			return r, fmt.Errorf("stream %q, %s: %w", c.Name, sink, err)
		}
		return r, nil
	}
	slices.Sort(names)
	has := "the stream has neither documents nor marks"
	if len(names) > 0 {
		has = "those of the stream are " + strings.Join(names, ", ")
	}
	return project.Rebuilt{}, fmt.Errorf("stream %q: %.100q is neither documents nor marks, and topics cannot be made anew; %s", c.Name, sink, has)
}
