package redrive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
)

// A handler leaves feedback. The failure record and the group of the dead letter name the
// build of the program. A person then assigns, resolves and merges the group.
//
// part of: Q11, D6, D8
func TestQ11_D6_D8_FeedbackAndWorkOnACause(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		c, err := redrive.New(d.open(), &redrive.Config{Name: "redrive", Build: "4.19.0", TempDir: t.TempDir(), Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		broken := true
		var late *redrive.Job[renderArgs]
		redrive.Handle(c, render, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
			late = j
			if !broken {
				return nil
			}
			return errors.Join(failure.Permanent(errors.New("page 3 is empty")), j.Feedback(ctx, "please send page 3 again"))
		}, nil)
		r, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
		if err == nil {
			err = c.RunUntilEmpty(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := late.Feedback(t.Context(), "too late"); !errors.Is(err, redrive.ErrLeaseLost) {
			t.Errorf("feedback after the end of the run: got error %v, want ErrLeaseLost", err)
		}
		notes, err := c.Notes(t.Context(), redrive.NoteFilter{Job: r.ID})
		if err != nil || len(notes) != 1 || notes[0].Text != "please send page 3 again" || notes[0].By != "redrive" || notes[0].Run != 1 {
			t.Errorf("notes of the job: got %+v and error %v, want the feedback of run 1", notes, err)
		}
		failures, err := c.Failures(t.Context(), r.ID)
		if err != nil || len(failures) != 1 || failures[0].Build != "4.19.0" {
			t.Fatalf("failures: got %+v and error %v, want one failure with the build 4.19.0", failures, err)
		}
		change := redrive.GroupChange{Group: failures[0].Fingerprint, Assignee: new("ben"), Resolved: new(true)}
		g, err := c.SetGroup(t.Context(), ops, change)
		if err != nil || g.Assignee != "ben" || g.State() != redrive.GroupResolved || g.FirstBuild != "4.19.0" || g.LastBuild != "4.19.0" {
			t.Errorf("group: got %+v and error %v, want it resolved, assigned to ben, and seen in build 4.19.0", g, err)
		}
		if _, err := c.AddNote(t.Context(), ops, redrive.Note{What: redrive.PlainNote, Group: g.Fingerprint, Text: "fixed"}); err != nil {
			t.Errorf("note on the group: got error %v, want none", err)
		}
		if n, err := c.MergeGroups(t.Context(), ops, "pages", []string{g.Fingerprint}); n != 1 || err != nil {
			t.Errorf("merge: got %d groups and error %v, want 1 and none", n, err)
		}
		broken = false
		if err := c.Retry(t.Context(), ops, r.ID, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.RunUntilEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		page, err := c.Groups(t.Context(), redrive.GroupFilter{Set: "pages"})
		if err != nil || len(page.Groups) != 1 || page.Groups[0].Retried != 1 || page.Groups[0].Helped != 1 {
			t.Errorf("groups of the set: got %+v and error %v, want one whose retry helped", page.Groups, err)
		}
	})
}
