package words

import (
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CauseStanding says what people have done about the cause of a group: whether it is open, resolved
// or regressed.
func CauseStanding(g *store.Group, now job.Micros) string {
	switch g.State() {
	case store.GroupResolved:
		return fmt.Sprintf("Resolved by %s %s (%s); no job has died of it since", g.ResolvedBy, Time(g.ResolvedAt), Away(g.ResolvedAt, now))
	case store.GroupRegressed:
		return fmt.Sprintf("Regressed %s (%s): %s had resolved it %s", Time(g.RegressedAt), Away(g.RegressedAt, now), g.ResolvedBy, Time(g.ResolvedAt))
	case store.GroupOpen:
	}
	return "Open"
}

// CauseIdle says of a cause that is open and has no pending dead letters that nothing has to be done, and what a person may
// do. It is "" for other causes.
func CauseIdle(g *store.Group) string {
	if g.Pending > 0 || g.State() == store.GroupResolved {
		return ""
	}
	return "There is nothing to do now. To see it if jobs die of it again, resolve the cause: it is then shown as regressed"
}

// CauseFacts returns the facts about a group.
func CauseFacts(g *store.Group, now job.Micros) Facts {
	f := Facts{}
	f.Add("name", g.Name)
	if g.Assignee != "" {
		f.Add("assigned to", fmt.Sprintf("%s, since %s", g.Assignee, Time(g.AssignedAt)))
	}
	f.Add("class", g.Class)
	f.Add("code", g.Code)
	f.Add("set", g.Set)
	f.Add("deaths", fmt.Sprintf("%s; %s, %s pending", Number(g.N), Count(g.Entries, "dead letter"), Number(g.Pending)))
	f.Add("retries", Help(g))
	f.Add("first seen", seen(g.FirstAt, g.FirstBuild, now))
	f.Add("last seen", seen(g.LastAt, g.LastBuild, now))
	f.Add("ignored", Muted(g, now))
	f.Add("first job", g.Sample.String())
	f.Add("group", g.Fingerprint)
	return f
}

// Help says how many jobs of the group were retried, and how many of these retries helped.
func Help(g *store.Group) string {
	if g.Retried == 0 {
		return "none yet"
	}
	return fmt.Sprintf("%s, of which %s helped", Number(g.Retried), Number(g.Helped))
}

func seen(at job.Micros, build string, now job.Micros) string {
	text := fmt.Sprintf("%s (%s)", Time(at), Away(at, now))
	if build != "" {
		text += ", in build " + build
	}
	return text
}

// NoteTitle returns the line above the text of a note.
func NoteTitle(n *store.Note, now job.Micros) string {
	title := "Note"
	if n.What == store.Feedback {
		title = "Feedback"
	}
	if n.What == store.Label {
		title = "Class"
	}
	from := n.By
	if n.Run != 0 {
		from = fmt.Sprintf("the handler of run %d on %s", n.Run, n.By)
	}
	return fmt.Sprintf("%s of %s, %s (%s)", title, from, Time(n.At), Away(n.At, now))
}

// Noted returns the name of the job or group to which a note belongs.
func Noted(n *store.Note) string {
	if n.Group != "" {
		return "group " + ShortGroup(n.Group)
	}
	return "job " + n.Job.String()
}
