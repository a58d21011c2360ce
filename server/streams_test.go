package server_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/store"
)

// stream is what the tests read of a stream.
type stream struct {
	Name, Mode, State string
	Lag               *int64
	Counts            struct{ Read, Taken, Dead int64 }
	Partitions        []struct {
		Partition  int32
		Next       int64
		State      string
		Reason     string
		Lag, Start *int64
	}
	Sinks []struct{ Name, Error string }
}

// streamOf begins a stream with three partitions: one that is read, one that is behind and one whose group
// is ahead of the store.
func streamOf(s *site) {
	s.Helper()
	place := func(p int32) store.Place { return store.Place{Cluster: "c", TopicID: "t", Partition: p} }
	if _, err := s.store.BeginPositions(s.Context(), "chat", []store.Position{
		{Place: place(0), Topic: "tasks", Next: 40}, {Place: place(1), Topic: "tasks", Next: 10}, {Place: place(2), Topic: "tasks", Next: 7}}); err != nil {
		s.Fatal(err)
	}
	if _, err := s.store.Take(s.Context(), store.Taking{Stream: "chat", Parts: []store.TakingPart{{Place: place(0), From: 40, Next: 42,
		Records: []store.Record{{Offset: 40, Fate: store.FateOwn}, {Offset: 41, Fate: store.FateForeign}}}}}); err != nil {
		s.Fatal(err)
	}
	if err := s.store.ReportStream(s.Context(), store.StreamReport{Stream: "chat", Process: "p", Partitions: []store.PartitionReport{
		{Place: place(0), Topic: "tasks", State: "running", Start: 5, Next: 42, End: 45},
		{Place: place(1), Topic: "tasks", State: "behind", Reason: "retention was faster", Start: 30, Next: 10, End: 50},
		{Place: place(2), Topic: "tasks", State: "ahead", Reason: "the group is ahead", Next: 7, End: 90, Group: 80},
	}}); err != nil {
		s.Fatal(err)
	}
	if _, err := s.store.LeaseSink(s.Context(), "chat", "retries", "p", store.SinkLeaseMax); err != nil {
		s.Fatal(err)
	}
}

// Over HTTP people see where a stream stands and why, pause and resume it, and move its positions; a
// dry run and a mistake change nothing. Each act is in the audit log.
//
// part of: S4
func TestS4_StreamsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var list struct{ Items []stream }
	s.ok("GET", "/api/streams", "", &list)
	if len(list.Items) != 0 {
		t.Errorf("got %+v, want no streams", list.Items)
	}
	streamOf(s)
	s.ok("GET", "/api/streams", "", &list)
	if len(list.Items) != 1 || list.Items[0].State != "ahead" || *list.Items[0].Lag != 3+40+83 || list.Items[0].Counts.Read != 2 || len(list.Items[0].Sinks) != 1 {
		t.Fatalf("got %+v, want one stream that is ahead, with a lag of 126 and a sink", list.Items)
	}
	_, page := s.reader("").send("GET", "/ui/queues", nil)
	for _, want := range []string{"chat", "ahead", "126", "retries", "tasks/1: behind, next 10, end 50. retention was faster"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the queues does not have %q", want)
		}
	}
	var one stream
	s.ok("POST", "/api/streams/chat/pause", `{"note":"the model is replaced"}`, &one)
	if one.Mode != "paused" {
		t.Errorf("the mode is %s, want paused", one.Mode)
	}
	s.ok("POST", "/api/streams/chat/resume", "", &one)
	if p := one.Partitions[1]; one.Mode != "open" || p.State != "behind" || p.Reason != "retention was faster" || *p.Start != 30 {
		t.Errorf("got %+v, want an open stream whose second partition says why it is behind", one)
	}
	var moved struct {
		Moves []struct {
			Topic     string
			Partition int32
			From, To  int64
		}
		DryRun bool `json:"dry_run"`
	}
	s.ok("POST", "/api/streams/chat/rewind", `{"to":"start","partition":0,"dry_run":true}`, &moved)
	if len(moved.Moves) != 1 || moved.Moves[0].From != 42 || moved.Moves[0].To != 5 || !moved.DryRun {
		t.Errorf("the dry run says %+v, want 42 to 5", moved)
	}
	for _, body := range []string{`{"to":"noon"}`, `{"to":"5"}`, `{"to":"-1","partition":0}`, `{"to":""}`} {
		s.refused("invalid-field", "POST", "/api/streams/chat/rewind", body)
	}
	s.refused("state-moved", "POST", "/api/streams/chat/accept-gap", `{"partition":0}`)
	s.refused("state-moved", "POST", "/api/streams/chat/rewind", `{"to":"end","topic":"other"}`)
	for _, path := range []string{"/pause", "/resume", "/rewind", "/accept-gap"} {
		body := `{}`
		if path == "/rewind" {
			body = `{"to":"end"}`
		}
		s.refused("not-found", "POST", "/api/streams/nobody"+path, body)
	}
	s.refused("not-found", "GET", "/api/streams/nobody", "")
	if s.ok("GET", "/api/streams/chat", "", &one); one.Partitions[0].Next != 42 {
		t.Errorf("the position is %d, want 42: nothing was moved yet", one.Partitions[0].Next)
	}
	s.ok("POST", "/api/streams/chat/rewind", `{"to":"38","partition":0,"note":"a bad release"}`, &moved)
	s.ok("POST", "/api/streams/chat/accept-gap", `{"note":"too short"}`, &moved)
	s.ok("POST", "/api/streams/chat/rewind", `{"to":"store"}`, &moved)
	s.ok("GET", "/api/streams/chat", "", &one)
	if one.Partitions[0].Next != 38 || one.Partitions[1].Next != 30 || one.Partitions[2].Next != 7 {
		t.Errorf("the positions are %+v, want 38, 30 and 7", one.Partitions)
	}
	rows, err := s.store.Audit(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, r := range rows {
		actions = append(actions, r.Action+" "+r.Target+" "+r.Reason)
	}
	want := "stream.pause chat the model is replaced, stream.resume chat , stream.rewind chat/tasks/0 a bad release, stream.accept-gap chat/tasks/1 too short, stream.rewind chat/tasks/2 "
	if got := strings.Join(actions, ", "); got != want {
		t.Errorf("the audit log has\n%s, want\n%s", got, want)
	}
}

// Streams have figures for lag, for partitions by state and for records by what became of them.
//
// part of: M1, S4
func TestMetrics_Streams(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	if text := string(s.ok("GET", "/metrics", "", nil).body); strings.Contains(text, "\nredrive_stream_") {
		t.Errorf("without streams the metrics have\n%s", grep(text, "redrive_stream_"))
	}
	streamOf(s)
	text := string(s.ok("GET", "/metrics", "", nil).body)
	for _, want := range []string{
		`redrive_stream_lag_records{stream="chat",topic="tasks"} 126`,
		`redrive_stream_partitions{state="running",stream="chat",topic="tasks"} 1`, `redrive_stream_partitions{state="behind",stream="chat",topic="tasks"} 1`,
		`redrive_stream_partitions{state="none",stream="chat",topic="tasks"} 0`,
		`redrive_stream_records_total{outcome="own",stream="chat",topic="tasks"} 1`, `redrive_stream_records_total{outcome="dead",stream="chat",topic="tasks"} 0`,
		`redrive_stream_sink_failing_seconds{sink="retries",stream="chat"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("the metrics have no %q:\n%s", want, grep(text, "redrive_stream_"))
		}
	}
}
