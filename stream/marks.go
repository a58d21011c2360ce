package stream

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/intake"
)

// skip marks the records whose tasks others have processed. Each record is looked up once.
func (l *loop) skip(ctx context.Context, parts []intake.Part) error {
	if len(l.Processed) == 0 {
		return nil
	}
	var open []*intake.Item
	for i := range parts {
		for k := range parts[i].Items {
			if item := &parts[i].Items[k]; !item.Asked && item.Dead == nil && item.Fate == store.FateReplayed {
				open = append(open, item)
			}
		}
	}
	asked := open
	for _, known := range l.Processed {
		if len(open) == 0 {
			break
		}
		keys := make([]string, len(open))
		for i, item := range open {
			keys[i] = item.Task.Key
		}
		found, err := known.Processed(ctx, keys)
		if err != nil {
			return fmt.Errorf("look up what others have processed: %w", err)
		}
		rest := open[:0:0]
		for i, item := range open {
			if found[i] {
				item.Fate = store.FateProcessed
			} else {
				rest = append(rest, item)
			}
		}
		open = rest
	}
	for _, item := range asked {
		item.Asked = true
	}
	return nil
}
