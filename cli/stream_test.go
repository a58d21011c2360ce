package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive/cli"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// People see where a partition stands and why it is not read, and the commands that the reasons name
// move its position. Each move and each pause is in the audit log.
//
// part of: S4
func TestS4_PeopleMoveThePositionsOfAStream(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlite.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	place := func(p int32) store.Place { return store.Place{Cluster: "c", TopicID: "t", Partition: p} }
	if _, err := s.BeginPositions(t.Context(), "chat", []store.Position{
		{Place: place(0), Topic: "tasks", Next: 40}, {Place: place(1), Topic: "tasks", Next: 10}, {Place: place(2), Topic: "tasks", Next: 7}}); err != nil {
		t.Fatal(err)
	}
	report := store.StreamReport{Stream: "chat", Process: "p", Partitions: []store.PartitionReport{
		{Place: place(0), Topic: "tasks", State: "running", Start: 5, Next: 40, End: 45},
		{Place: place(1), Topic: "tasks", State: "behind", Reason: "retention was faster", Start: 30, Next: 10, End: 50},
		{Place: place(2), Topic: "tasks", State: "ahead", Reason: "the group is ahead", Next: 7, End: 90, Group: 80},
	}}
	if err := s.ReportStream(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"list", 0, "chat    open  ahead           3  128"},
		{"show chat", 0, "tasks/1: retention was faster"},
		{"show nobody", 4, "redrive stream list"},
		{"pause chat --by ann", 0, "chat: paused"},
		{"resume chat --by ann", 0, "chat: open"},
		{"rewind chat --to start --partition 0 --dry-run", 0, "tasks/0: 40 → 5, up to 35 records read again (not done)"},
		{"rewind chat --to 38 --partition 0 --by ann --reason wrong", 0, "tasks/0: 40 → 38, up to 2 records read again\n"},
		{"rewind chat --to 38", 2, "name the partition"},
		{"rewind chat --to noon --partition 0", 2, "must be store, start, end or an offset"},
		{"accept-gap chat --partition 0", 5, "no selected partition is in the state that this action needs"},
		{"accept-gap chat --partition 1 --by ann", 0, "tasks/1: 10 → 30, up to 20 records skipped"},
		{"rewind chat --to store --by ann", 0, "tasks/2: 7 → 7, read on from the position of the store"},
	} {
		var out bytes.Buffer
		code := cli.Main(t.Context(), append([]string{"stream", "--db", file}, strings.Fields(tt.args)...), strings.NewReader(""), &out, &out, func(string) string { return "" })
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("redrive stream %s: got the exit code %d and\n%s\nwant %d and a text with %q", tt.args, code, out.String(), tt.code, tt.want)
		}
	}
	positions, err := s.Positions(t.Context(), "chat")
	if err != nil || positions[0].Next != 38 || positions[1].Next != 30 || positions[2].Reached != 80 {
		t.Errorf("the positions are %+v (%v), want 38, 30, and one that has reached 80", positions, err)
	}
	rows, err := s.Audit(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, r := range rows {
		actions = append(actions, r.Actor+" "+r.Action+" "+r.Target)
	}
	want := "ann stream.pause chat, ann stream.resume chat, ann stream.rewind chat/tasks/0, ann stream.accept-gap chat/tasks/1, ann stream.rewind chat/tasks/2"
	if got := strings.Join(actions, ", "); got != want {
		t.Errorf("the audit log has %s, want %s", got, want)
	}
}
