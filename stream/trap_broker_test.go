package stream_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/stream"
)

// moved moves a position of the rig, as a person does.
func (r *rig) moved(partition int32, m store.PositionMove) {
	r.t.Helper()
	at := r.position(partition)
	m.Stream, m.Place, m.From = r.topic, at.Place, at.Next
	if _, err := r.client.MovePosition(r.t.Context(), redrive.By{Actor: "ann"}, m); err != nil {
		r.t.Fatal(err)
	}
}

// Trap: offsets without a record, as of transactions, are taken for a gap, or a gap for such offsets; the lag of such a topic never
// comes to 0. And what retention has removed before it was read is noticed, with the number of records; a position that the log
// does not have yet is not taken for another one.
//
// part of: S4
func TestS4_KafkaTrap3_KafkaTrap28_KafkaTrap34_OffsetsWithoutRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "holes_tasks")
	client, err := kgo.NewClient(kgo.SeedBrokers(r.address), kgo.TransactionalID("holes"), kgo.DefaultProduceTopic(r.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	committed := 0
	for n := range 10 {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, line := range tasks(n*5, n*5+5) {
			client.Produce(t.Context(), &kgo.Record{Value: []byte(line), Partition: 1}, nil)
		}
		how := kgo.TryCommit
		if n%3 == 1 {
			how = kgo.TryAbort
		} else {
			committed += 5
		}
		if err := client.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(t.Context(), how); err != nil {
			t.Fatal(err)
		}
	}
	r.start()
	eventually(t, "what was committed is taken", func() bool { return r.count("chat", job.Waiting) == int64(committed) })
	r.stop()
	if got, want := r.position(1).Counts, (store.FateCounts{Read: int64(committed), Taken: int64(committed)}); got != want {
		t.Errorf("the records are %+v, want %+v", got, want)
	}

	produce(t, r.address, r.topic, tasks(100, 110), "-p", "2")
	if _, err := r.admin.DeleteRecords(t.Context(), kadm.Offsets{r.topic: {2: {Topic: r.topic, Partition: 2, At: 4}}}); err != nil {
		t.Fatal(err)
	}
	r.moved(0, store.PositionMove{To: 77, What: "rewind"}) // as if the log had been cut
	r.start()
	eventually(t, "both partitions are stopped", func() bool { return r.reported(2).State == "behind" && r.reported(0).State == "beyond" })
	if reason := r.reported(2).Reason; !strings.Contains(reason, "up to 4 records") || !strings.Contains(reason, "accept-gap NAME --partition 2") {
		t.Errorf("the reason is %q, want the number of records and the command", reason)
	}
	if n := r.count("chat", job.Waiting); n != int64(committed) {
		t.Errorf("there are %d jobs while the partitions are stopped, want %d", n, committed)
	}
	produce(t, r.address, r.topic, tasks(200, 203), "-p", "0")
	r.moved(2, store.PositionMove{To: 4, What: "accept-gap"})
	r.moved(0, store.PositionMove{To: 0, What: "rewind"})
	eventually(t, "both are read on", func() bool { return r.count("chat", job.Waiting) == int64(committed)+6+3 })
	r.stop()
}

// Trap: a topic that is made anew has offsets that were "taken" before, and partitions that are added lose what came first.
//
// part of: S4
func TestS4_KafkaTrap4_KafkaTrap6_AnotherTopicAndMorePartitions(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "again_tasks")
	produce(t, r.address, r.topic, tasks(0, 10), "-p", "0")
	r.start()
	eventually(t, "ten are taken", func() bool { return r.count("chat", job.Waiting) == 10 })
	if _, err := r.admin.CreatePartitions(t.Context(), 2, r.topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker has the partitions", func() bool {
		found, err := r.admin.ListTopics(t.Context(), r.topic)
		return err == nil && len(found[r.topic].Partitions) == 5
	})
	produce(t, r.address, r.topic, tasks(10, 20), "-p", "4")
	r.stop()
	r.start() // the client asks for new partitions every few minutes only, and at its start
	eventually(t, "the new partition is read from its start", func() bool { return r.count("chat", job.Waiting) == 20 })
	r.stop()
	if _, err := r.admin.DeleteTopics(t.Context(), r.topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the topic is made anew", func() bool {
		made, err := r.admin.CreateTopics(t.Context(), 1, 1, nil, r.topic)
		return err == nil && made[r.topic].Err == nil
	})
	produce(t, r.address, r.topic, tasks(20, 25), "-p", "0")
	r.start()
	eventually(t, "the new topic is read from its start", func() bool { return r.count("chat", job.Waiting) == 25 })
	r.stop()
}

// Trap: one record that cannot be read, or cannot be stored, holds up its partition. One of each is among others.
//
// part of: S6
func TestS6_KafkaTrap7_OneOfEachAmongAThousand(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "poison_tasks")
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	values := tasks(0, 1_000)
	for i, bad := range []string{"\x00", "{", bomb.String(), `{"job_id":"n\u0000","task_type":"chat_completion"}`, strings.Repeat("[", 100_000),
		`{"job_id":"j1","task_type":"chat_completion","payload":"another"}`, `{"job_id":"h","task_type":"chat_completion","payload":"` + strings.Repeat("x", 300<<10) + `"}`,
		`{"job_id":"d","job_id":"d","task_type":"chat_completion"}`, "\xff\xfe"} {
		values = append(values[:100*i+100], append([]string{bad}, values[100*i+100:]...)...)
	}
	values = append(values, `{"job_id":"nul","task_type":"chat_completion","payload":"\u0000"}`) // a task
	client, err := kgo.NewClient(kgo.SeedBrokers(r.address), kgo.DefaultProduceTopic(r.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	records := make([]*kgo.Record, len(values))
	for i := range values {
		records[i] = &kgo.Record{Value: []byte(values[i]), Partition: 1}
	}
	if err := client.ProduceSync(t.Context(), append(records, &kgo.Record{Partition: 1})...).FirstErr(); err != nil { // the last one has no value
		t.Fatal(err)
	}
	r.start()
	eventually(t, "all are read", func() bool { return r.position(1).Next == 1_011 })
	r.stop()
	if jobs, dead := r.count("chat", job.Waiting), r.count(stream.RecordKind, job.Dead); jobs != 1_001 || dead != 10 {
		t.Errorf("there are %d jobs and %d dead letters, want 1001 and 10", jobs, dead)
	}
}

// Trap: the first start on an old topic reads years of it, or nothing. What it will read is said before.
//
// part of: S4
func TestS4_KafkaTrap23_TheFirstStartSaysWhatItReads(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "old_tasks")
	produce(t, r.address, r.topic, tasks(0, 7))
	r.start()
	eventually(t, "all are taken", func() bool { return r.count("chat", job.Waiting) == 7 })
	r.stop()
	if log := r.log.String(); !strings.Contains(log, "for the first time") || !strings.Contains(log, "from=earliest records=7") {
		t.Errorf("the program said\n%swithout what it reads", log)
	}
}

// Trap: a stop in the middle of a poll loses records, or waits. A program is stopped again and again while it reads.
//
// part of: S4
func TestS4_KafkaTrap25_StopsInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "stop_tasks")
	const all = 1_800
	for round := range 3 {
		produce(t, r.address, r.topic, tasks(round*all/3, (round+1)*all/3))
		r.start("--instance", "pod-1")
		eventually(t, "it reads", func() bool { return r.count("chat", job.Waiting) > int64(round*all/3) })
		begun := time.Now()
		r.stop()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("the stop took %s", took)
		}
	}
	produce(t, r.address, r.topic, tasks(all, all+1)) // the last process has something to do
	r.start("--instance", "pod-1")
	eventually(t, "all are taken", func() bool { return r.count("chat", job.Waiting) == all+1 })
	r.stop()
	var read int64
	for p := range int32(3) {
		read += r.position(p).Counts.Read
	}
	if read != all+1 {
		t.Errorf("%d records were read, want each once", read)
	}
}

// Trap: a store that was set back to an older copy believes the offsets of the group, and skips what was read since. Its
// partitions stop, and after a person has said so, the records since the copy are taken again, once.
//
// part of: S4
func TestS4_KafkaTrap33_AnOlderCopyOfTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, broker(t), "copy_tasks")
	dir := t.TempDir()
	file := filepath.Join(dir, "jobs.db")
	jobs := func(file string) (n int64) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), file, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if r.client, err = redrive.New(s, nil); err != nil {
			t.Fatal(err)
		}
		return r.count("chat", job.Waiting)
	}
	read := func(file string, want int64) {
		t.Helper()
		r.db = []string{"--db", file}
		r.start()
		eventually(t, fmt.Sprintf("%d are taken", want), func() bool {
			offsets, ends := r.committed()
			return jobs(file) == want && offsets == ends
		})
		r.stop()
	}
	jobs(file)
	produce(t, r.address, r.topic, tasks(0, 400))
	read(file, 400)
	copied, err := os.ReadFile(file) // nobody has it open
	if err != nil {
		t.Fatal(err)
	}
	for p := range 3 { // each partition is ahead of the copy
		produce(t, r.address, r.topic, tasks(400+200*p, 600+200*p), "-p", strconv.Itoa(p))
	}
	read(file, 1_000)
	older := filepath.Join(dir, "older.db")
	if err := os.WriteFile(older, copied, 0o600); err != nil {
		t.Fatal(err)
	}
	r.db = []string{"--db", older}
	r.start()
	eventually(t, "its partitions are stopped", func() bool { return strings.Count(r.log.String(), "state=ahead") >= 3 })
	if n := jobs(older); n != 400 {
		t.Errorf("the older copy has %d jobs, want the 400 that it had", n)
	}
	r.stop()
	s, err := sqlite.Open(t.Context(), older, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.client, err = redrive.New(s, nil); err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) { // what `redrive stream rewind --to store` does
		r.moved(p, store.PositionMove{To: r.position(p).Next, Reached: 1_000, What: "rewind"})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read(older, 1_000)
}
