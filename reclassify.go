package redrive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Reclassify says in the name of a person which class the failures of a group have, and returns the note that keeps it. Later
// failures of the kind whose texts have the same words get this class: each running process adds a matcher to its policy, this
// one at once and the others within store.PresentEvery. Of several statements about the same failures the last one counts.
// Dead letters that are there stay as they are. Retention does not remove the note.
//
// The error is ErrNotFound when the group does not exist, and ErrInvalid when neither redrive nor the policy of the client or
// the one in force knows the class, or when the failures have neither words nor a code by which they can be recognised.
func (c *Client) Reclassify(ctx context.Context, by By, group string, class failure.Class) (Note, error) {
	if err := c.knowsClass(ctx, class); err != nil {
		return Note{}, err
	}
	page, err := c.store.Groups(ctx, GroupFilter{Group: group, Limit: 1})
	if err != nil {
		return Note{}, err
	}
	if group == "" || len(page.Groups) == 0 {
		return Note{}, fmt.Errorf("redrive: group %.80q: %w", group, ErrNotFound)
	}
	g := &page.Groups[0]
	l := policy.Label{Class: class, Kind: g.Kind, Code: g.Code, Text: g.Message}
	if l.Code == "" && l.Phrase() == "" {
		return Note{}, fmt.Errorf("redrive: group %.80q has neither a code nor words by which its failures can be recognised; mark them in the handler with failure.WithClass: %w", group, ErrInvalid)
	}
	n, err := c.store.AddNote(ctx, by, Note{What: store.Label, Group: group, Text: l.String()})
	if err != nil {
		return Note{}, err
	}
	if c.running() != nil {
		err = c.readLabels(ctx)
	}
	return n, err
}

// Labels returns what people have said with Reclassify, the newest first, at most policy.LabelsMax.
func (c *Client) Labels(ctx context.Context) (labels []policy.Label, err error) {
	_, labels, err = c.labels(ctx)
	return labels, err
}

func (c *Client) labels(ctx context.Context) (newest int64, labels []policy.Label, err error) {
	f := NoteFilter{What: store.Label, Limit: job.PageMax}
	for len(labels) < policy.LabelsMax {
		notes, err := c.store.Notes(ctx, f)
		if err != nil {
			return 0, nil, err
		}
		for i := range notes {
			newest = max(newest, notes[i].ID)
			if l, ok := policy.ParseLabel(notes[i].Text); ok {
				labels = append(labels, l)
			}
		}
		if len(notes) < f.Limit {
			break
		}
		f.Before = notes[len(notes)-1].ID
	}
	return newest, labels[:min(len(labels), policy.LabelsMax)], nil
}

// knowsClass returns an ErrInvalid for a class that nobody has defined.
func (c *Client) knowsClass(ctx context.Context, class failure.Class) error {
	if _, ok := failure.InfoOf(class); ok {
		return nil
	}
	if _, ok := c.Policy().Spec().Classes[class]; ok {
		return nil
	}
	list, err := c.store.PolicyList(ctx)
	if err != nil {
		return err
	}
	for i := range list[:min(len(list), 1)] { // the list begins with the one in force
		stored, err := c.store.Policy(ctx, list[i].Hash)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if class != "" && definesClass(string(stored.Body), string(class)) {
			return nil
		}
	}
	return fmt.Errorf("redrive: class %.80q is neither a built-in class nor one of the policy in force: %w", class, ErrInvalid)
}

// definesClass reports whether the text of a policy has a key with the name of a class. A process that runs the policy checks
// it again.
func definesClass(body, class string) bool {
	for rest := body; ; {
		at := strings.Index(rest, class)
		if at < 0 {
			return false
		}
		end := strings.TrimLeft(rest[at+len(class):], "\" ")
		if (at == 0 || strings.IndexByte(" \"\n\t{,", rest[at-1]) >= 0) && strings.HasPrefix(end, ":") {
			return true
		}
		rest = rest[at+len(class):]
	}
}

// followLabels is readLabels for a process that goes on without the new labels if they cannot be read.
func (c *Client) followLabels(ctx context.Context) {
	if err := c.readLabels(ctx); err != nil {
		c.config.Logger.DebugContext(ctx, "the classes that people have set for groups could not be read; they are read again later", "error", err)
	}
}

// readLabels puts the labels of the store into force if there are new ones.
func (c *Client) readLabels(ctx context.Context) error {
	last, err := c.store.Notes(ctx, NoteFilter{What: store.Label, Limit: 1})
	if err != nil || len(last) == 0 || last[0].ID == c.labelSeen.Load() {
		return err
	}
	newest, labels, err := c.labels(ctx)
	if err != nil {
		return err
	}
	c.setting.Lock()
	defer c.setting.Unlock()
	before := c.labelled
	c.labelled = labels
	if err := c.adopt(ctx, By{Actor: last[0].By, Reason: "said which class the failures of a group have"}, c.base); err != nil {
		c.labelled = before
		return err
	}
	c.labelSeen.Store(newest)
	return nil
}
