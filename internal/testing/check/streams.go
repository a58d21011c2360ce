package check

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// positionCounts compares the counts of each position with their sum, and the events of streams with
// the audit. Retention removes events before audit rows.
func positionCounts(x *index, broken func(job.ID, string, ...any)) {
	for i := range x.Dump.Positions {
		p := &x.Dump.Positions[i]
		if p.Counts.Read != p.Counts.Sum() {
			broken(0, "stream %q, partition %d: %d records were read, but %d are counted", p.Stream, p.Partition, p.Counts.Read, p.Counts.Sum())
		}
		if p.Next < 0 || p.First < 0 || p.Reached < p.Next || p.Counts.Read == 0 && p.Counts.Taken > 0 {
			broken(0, "stream %q, partition %d: the position is %d, the first one %d", p.Stream, p.Partition, p.Next, p.First)
		}
	}
	audited := make(map[[2]string]int)
	for i := range x.Dump.Audit {
		switch a := &x.Dump.Audit[i]; a.Action {
		case "stream.rewind", "stream.accept-gap":
			audited[[2]string{"position", a.Target}]++
		case "stream.pause", "stream.resume":
			audited[[2]string{"stream", a.Target}]++
		}
	}
	for i := range x.Dump.Events {
		name := [2]string{"stream", x.Dump.Events[i].Note}
		switch x.Dump.Events[i].Type {
		case event.PositionMoved:
			name[0] = "position"
		case event.StreamChanged:
		default:
			continue
		}
		if audited[name]--; audited[name] < 0 {
			broken(0, "%s of %q has no row in the audit", x.Dump.Events[i].Type, name[1])
		}
	}
}
