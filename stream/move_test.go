package stream_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// said runs the program to its end and returns what it printed.
func (r *rig) said(verb string, more ...string) (out string, err error) {
	r.t.Helper()
	args := append([]string{verb, "--brokers", r.address, "--topic", r.topic, "--name", r.topic, "--kind", "chat_completion=chat"}, more...)
	cmd := exec.CommandContext(r.t.Context(), built, args...)
	cmd.Env = append(cmd.Environ(), crashpoint.Variable+"="+string(r.point))
	both, err := cmd.CombinedOutput()
	return string(both), err
}

// must is said for a call that succeeds.
func (r *rig) must(verb string, more ...string) string {
	r.t.Helper()
	out, err := r.said(verb, more...)
	if err != nil {
		r.t.Fatalf("%s %q: %v\n%s", verb, more, err, out)
	}
	return out
}

// pauses pauses or opens the stream and its queue.
func (r *rig) pauses(mode store.Mode) {
	r.t.Helper()
	_, err := r.client.SetStream(r.t.Context(), redrive.By{Actor: "ann"}, store.StreamChange{Name: r.topic, Mode: mode})
	if err = errors.Join(err, r.queue(mode)); err != nil {
		r.t.Fatal(err)
	}
}

// queue pauses or opens the queue.
func (r *rig) queue(mode store.Mode) error {
	_, err := r.client.SetQueue(r.t.Context(), redrive.By{Actor: "ann"}, redrive.QueueChange{Name: redrive.DefaultQueue, Mode: &mode})
	return err
}

// A stream is read again from a time, or from the offsets of the group; a dry run only says what would be
// read. Peek says what would become of records, and takes none.
//
// part of: S4
func TestS4_RewindToATimeAndPeek(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "rewind_tasks")
	produce(t, r.address, r.topic, tasks(0, 10), "-p", "1")
	r.start()
	eventually(t, "ten records are taken", func() bool { offsets, _ := r.committed(); return offsets == 10 && r.count("chat", job.Waiting) == 10 })
	r.stop()
	between := time.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	produce(t, r.address, r.topic, append(tasks(10, 15), "not JSON", `{"job_id":"x","task_type":"unheard_of"}`), "-p", "1")

	out := r.must("peek", append(slices.Clone(r.db), "--known", r.topic+"/1/9")...)
	for _, want := range []string{r.topic + "/1/9  ", "no new job: the job ", "is waiting", "j10           a job of the kind chat in the queue default",
		"a dead letter: byte 1: the value is not JSON", `a dead letter: task_type "unheard_of" is not declared`, "8 records; none was taken"} {
		if !strings.Contains(out, want) {
			t.Errorf("peek said\n%swithout %q", out, want)
		}
	}
	if out := r.must("peek", append(slices.Clone(r.db), r.topic, "-n", "3")...); !strings.Contains(out, "3 records; none was taken") {
		t.Errorf("peek said\n%swithout the number of records", out)
	}
	for at, want := range map[string]string{r.topic + "/7": "has no partition 7; it has 3", r.topic + "/1/99": "has the offsets 0 to 17, not 99", "nothing": "does not exist"} {
		if out, err := r.said("peek", append(slices.Clone(r.db), at)...); err == nil || !strings.Contains(out, want) {
			t.Errorf("peek %s said %q (%v), want %q", at, out, err, want)
		}
	}

	r.start()
	eventually(t, "all are taken", func() bool { offsets, _ := r.committed(); return offsets == 17 })
	r.stop()
	line := r.topic + "/1: 17 → 10, up to 7 records read again"
	if out := r.must("rewind", append(slices.Clone(r.db), "--to", between, "--dry-run")...); out != line+" (not done)\n" {
		t.Errorf("the dry run said %q, want %q", out, line)
	}
	if p := r.position(1); p.Next != 17 {
		t.Errorf("after the dry run the position is %d, want 17", p.Next)
	}
	if out := r.must("rewind", append(slices.Clone(r.db), "--to", between, "--by", "ann")...); out != line+"\n" {
		t.Errorf("rewind said %q, want %q", out, line)
	}
	if out := r.must("rewind", append(slices.Clone(r.db), "--to", "group", "--partition", "1")...); !strings.Contains(out, "10 → 17") {
		t.Errorf("rewind to the group said %q, want the move back", out)
	}
	r.must("rewind", append(slices.Clone(r.db), "--to", between)...)
	r.start()
	eventually(t, "seven records are read again", func() bool { return r.position(1).Counts.Existing == 7 })
	r.stop()
	if n := r.count("chat", job.Waiting); n != 15 {
		t.Errorf("there are %d jobs, want 15", n)
	}
}

// Tasks go to another system and come back, twice, and none is lost or there twice: the command is killed
// in the middle and called again, and a second store takes over what the first one gave back.
//
// part of: S2, S4
func TestS4_HandBackAndTakeOverAgain(t *testing.T) {
	t.Parallel()
	address, retry := broker(t), "back_retry"
	r := newRig(t, address, "back_tasks")
	if _, err := r.admin.CreateTopics(t.Context(), 2, 1, nil, retry); err != nil {
		t.Fatal(err)
	}
	const all = 150
	other := r.beside()
	produce(t, address, r.topic, tasks(0, all))
	for round, from := range []*rig{r, other, r} {
		flags := append([]string{"--retry", retry, "--group", "back"}, from.db...)
		if round == 2 { // this store has positions: the offsets of the group count only if a person says so
			from.must("rewind", append(flags, "--to", "group")...)
			from.pauses(store.Open)
		}
		from.start("--retry", retry, "--group", "back")
		eventually(t, fmt.Sprintf("round %d: all tasks are jobs", round), func() bool { return from.count("chat", job.Waiting) == all })
		if out, err := from.said("handback", flags...); err == nil || !strings.Contains(out, "it is not paused") {
			t.Errorf("handback of a running stream said %q (%v), want a refusal", out, err)
		}
		from.stop()
		if round == 2 {
			break
		}
		from.pauses(store.Paused)
		from.point = crashpoint.BackAfterWrite
		if out, err := from.said("handback", flags...); err == nil || !strings.Contains(out, crashpoint.KilledPrefix) {
			t.Fatalf("handback was not killed: %v\n%s", err, out)
		}
		from.point = ""
		if out := from.must("handback", flags...); !strings.Contains(out, "150 tasks written to back_retry, and the jobs cancelled") {
			t.Errorf("handback said %q, want the number of tasks", out)
		}
		if n := from.count("chat", job.Cancelled); n != all {
			t.Errorf("round %d: %d jobs are cancelled, want %d", round, n, all)
		}
		if out := from.must("handback", flags...); !strings.Contains(out, "0 tasks written") {
			t.Errorf("handback once more said %q, want that nothing was left", out)
		}
	}
}

// beside returns a rig with another database, for the same topic.
func (r *rig) beside() *rig {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "other.db")
	s, err := sqlite.Open(r.t.Context(), file, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	client, err := redrive.New(s, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return &rig{t: r.t, address: r.address, topic: r.topic, admin: r.admin, client: client, db: []string{"--db", file}}
}
