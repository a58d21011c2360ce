package redrive

import "context"

// SetGroup changes the name, the assignee or the state of a group in the name of a person,
// and returns the group. A group that is marked as resolved becomes regressed when a job
// dies of its cause again. The error is ErrNotFound when the group does not exist.
func (c *Client) SetGroup(ctx context.Context, by By, change GroupChange) (Group, error) {
	return c.store.SetGroup(ctx, by, change)
}

// MergeGroups puts groups that have the same cause into the set with the given name, as the
// act of a person, and returns how many groups it has changed. The empty name removes the
// groups from their sets. Dead letters keep their groups, so a merge can be undone. All
// groups are changed or none: the error is ErrNotFound when a group does not exist,
// ErrConflict when a group is in another set, and ErrTooLarge when the set would have more
// than store.GroupsMax groups.
func (c *Client) MergeGroups(ctx context.Context, by By, set string, groups []string) (int, error) {
	return c.store.MergeGroups(ctx, by, set, groups)
}

// AddNote adds a note or a feedback to a job or a group, in the name of a person, and
// returns it. A handler uses Info.Feedback instead. The error is ErrNotFound when the job or
// the group does not exist, and ErrTooLarge when it has store.NotesMax notes already. If the
// answer of the store is lost (ErrUnknown), the note may have been added.
func (c *Client) AddNote(ctx context.Context, by By, n Note) (Note, error) {
	return c.store.AddNote(ctx, by, n)
}

// Notes returns the notes and feedbacks that a filter selects, the newest first.
func (c *Client) Notes(ctx context.Context, f NoteFilter) ([]Note, error) {
	return c.store.Notes(ctx, f)
}
