package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/stream"
)

// rig is a topic, a database and the program that reads the one into the other.
type rig struct {
	t       *testing.T
	admin   *kadm.Client
	client  *redrive.Client
	address string
	topic   string
	db      []string         // the flags that name the database
	point   crashpoint.Point // where the next program kills itself; "" for nowhere
	started *exec.Cmd
	log     bytes.Buffer
}

// newRig makes a rig with a new SQLite file.
func newRig(t *testing.T, address, name string) *rig {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlite.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newRigOn(t, address, name, s, "--db", file)
}

// newRigOn makes a rig with a store, which the flags name.
func newRigOn(t *testing.T, address, name string, s store.Store, db ...string) *rig {
	t.Helper()
	t.Cleanup(func() { s.Close() })
	if err := build(); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, address: address, topic: name, admin: topic(t, address, name, 3), db: db}
	var err error
	if r.client, err = redrive.New(s, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the program said:\n%s", r.log.String())
		}
	})
	return r
}

func (r *rig) start(more ...string) {
	r.t.Helper()
	args := slices.Concat([]string{"run", "--brokers", r.address, "--topic", r.topic, "--name", r.topic, "--kind", "chat_completion=chat"}, r.db, more)
	r.started = exec.CommandContext(r.t.Context(), built, args...)
	r.started.Env = append(os.Environ(), crashpoint.Variable+"="+string(r.point))
	r.started.Stderr = &r.log
	if err := r.started.Start(); err != nil {
		r.t.Fatal(err)
	}
}

// killed waits until the program has killed itself with SIGKILL at the point.
func (r *rig) killed() {
	r.t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = r.started.Process.Kill() })
	defer late.Stop()
	_ = r.started.Wait() // it was killed
	if want := crashpoint.KilledPrefix + " " + string(r.point); !strings.Contains(r.log.String(), want) {
		r.t.Fatalf("the program has not come to the point %s", r.point)
	}
	r.point = ""
}

// stop ends the program as a service manager does.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.started.Process.Signal(os.Interrupt); err != nil {
		r.t.Fatal(err)
	}
	if err := r.started.Wait(); err != nil {
		r.t.Errorf("the program ended with %v, want exit code 0", err)
	}
}

// count returns how many jobs of the kind there are in all states.
func (r *rig) count(kind string, states ...job.State) (n int64) {
	r.t.Helper()
	counts, err := r.client.Counts(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range counts {
		if c.Kind != kind {
			continue
		}
		for _, s := range states {
			if c.State == s {
				n += c.N
			}
		}
	}
	return n
}

// committed returns the sum of the group's offsets, and that of the ends of the topic.
func (r *rig) committed() (offsets, ends int64) {
	r.t.Helper()
	group, err := r.admin.FetchOffsets(r.t.Context(), "redrive-"+r.topic)
	if kerr.IsRetriable(err) { // the coordinator is not ready yet
		return 0, -1
	}
	if err != nil {
		r.t.Fatal(err)
	}
	listed, err := r.admin.ListEndOffsets(r.t.Context(), r.topic)
	if err != nil {
		r.t.Fatal(err)
	}
	group.Each(func(o kadm.OffsetResponse) { offsets += o.At })
	listed.Each(func(o kadm.ListedOffset) { ends += o.Offset })
	return offsets, ends
}

func tasks(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, fmt.Sprintf(`{"job_id": "j%d", "task_type": "chat_completion", "payload": {"n": %d}, "metadata": {"retry_count": 0, "max_retry": 5}}`, i, i))
	}
	return lines
}

// Records become exactly one job each, although the program is killed when it has read records, when
// their jobs are stored and the offsets are not, and when both are; although producers repeat
// themselves, and the broker is killed.
//
// part of: S1, S4
func TestS4_KafkaTrap1_EachRecordBecomesOneJob(t *testing.T) { // it is not parallel: it kills the broker of the other tests
	each(t, newRig(t, broker(t), "killed_tasks"), 6_000, func() {
		if k := shared.broker; k != nil {
			if err := errors.Join(k.Kill(), k.Start(context.WithoutCancel(t.Context()))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The same is true when the jobs are in PostgreSQL.
//
// part of: S1, S4
func TestS4_EachRecordBecomesOneJobInPostgreSQL(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	each(t, newRigOn(t, broker(t), "postgres_tasks", s, "--db", dsn, "--schema", schema), 600, func() {})
}

// each takes a number of records in three rounds, in each of which the program is killed at another
// point. In the second one the function is called, too.
func each(t *testing.T, r *rig, all int, second func()) {
	t.Helper()
	const rounds = 3
	for round, at := range []struct {
		point        crashpoint.Point
		taken, known bool // whether the jobs of this round are stored, and the offsets reported
	}{{crashpoint.StreamAfterPoll, false, false}, {crashpoint.StreamAfterTake, true, false}, {crashpoint.StreamAfterCommit, true, true}} {
		produce(t, r.address, r.topic, tasks(round*all/rounds, (round+1)*all/rounds))
		produce(t, r.address, r.topic, tasks(round*all/rounds, round*all/rounds+100)) // the producer repeats itself
		jobs := r.count("chat", job.Waiting)
		offsets, _ := r.committed()
		r.point = at.point
		r.start("--instance", "pod-1") // a static member comes back at once
		r.killed()
		moved, _ := r.committed()
		if taken, known := r.count("chat", job.Waiting) > jobs, moved > offsets; taken != at.taken || known != at.known {
			t.Errorf("killed at %s: jobs are stored: %v, offsets are reported: %v; want %v and %v", at.point, taken, known, at.taken, at.known)
		}
		if round == 1 {
			second()
		}
	}
	produce(t, r.address, r.topic, tasks(all, all+500)) // the last process has something to do
	r.start("--instance", "pod-1")
	eventually(t, "all records are read", func() bool { offsets, ends := r.committed(); return offsets == ends })
	r.stop()
	if got := r.count("chat", job.Waiting); got != int64(all)+500 {
		t.Errorf("there are %d jobs, want %d", got, all+500)
	}
	positions, err := r.client.Positions(t.Context(), r.topic)
	if err != nil || len(positions) != 3 {
		t.Fatalf("got %d positions and the error %v, want 3 positions", len(positions), err)
	}
	var counts store.FateCounts
	for i := range positions {
		counts.Taken, counts.Existing, counts.Read = counts.Taken+positions[i].Counts.Taken, counts.Existing+positions[i].Counts.Existing, counts.Read+positions[i].Counts.Read
	}
	if want := (store.FateCounts{Read: int64(all) + rounds*100 + 500, Taken: int64(all) + 500, Existing: rounds * 100}); counts != want {
		t.Errorf("the positions count %+v, want %+v", counts, want)
	}
	for _, id := range []string{"j0", fmt.Sprintf("j%d", all/rounds-1), fmt.Sprintf("j%d", all-1)} {
		page, err := r.client.List(t.Context(), redrive.JobFilter{Correlation: id})
		if err != nil || len(page.Jobs) != 1 {
			t.Errorf("job_id %s: got %d jobs and the error %v, want one", id, len(page.Jobs), err)
		}
	}
}

// The offsets of the group are a report only: when somebody deletes them, no record is lost or taken
// twice, and when somebody sets one ahead of the store, its partition stops until a person decides. A
// position that was moved back is read again from there.
//
// part of: S4
func TestS4_KafkaTrap5_KafkaTrap21_ThePositionIsThatOfTheStore(t *testing.T) {
	t.Parallel()
	address := broker(t)
	r := newRig(t, address, "carol_tasks")
	group := "redrive-" + r.topic
	produce(t, address, r.topic, tasks(0, 10), "-p", "1")
	r.start()
	eventually(t, "ten records are taken", func() bool { offsets, _ := r.committed(); return offsets == 10 && r.count("chat", job.Waiting) == 10 })
	r.stop()
	eventually(t, "the group is deleted", func() bool {
		answer, err := r.admin.DeleteGroup(t.Context(), group)
		return err == nil && answer.Err == nil
	})
	produce(t, address, r.topic, tasks(10, 20), "-p", "1")
	r.start()
	eventually(t, "the next ten are taken", func() bool { offsets, _ := r.committed(); return offsets == 20 && r.count("chat", job.Waiting) == 20 })
	at := r.position(1)
	if want := (store.FateCounts{Read: 20, Taken: 20}); at.Counts != want || at.Next != 20 {
		t.Errorf("after the group was deleted the position is %d with the counts %+v, want 20 with %+v", at.Next, at.Counts, want)
	}
	by := redrive.By{Actor: "ann", Reason: "the model was wrong"}
	if _, err := r.client.MovePosition(t.Context(), by, store.PositionMove{Stream: r.topic, Place: at.Place, From: 20, To: 15, What: "rewind"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "five records are read again", func() bool { return r.position(1).Counts.Existing == 5 })
	r.stop()
	eventually(t, "the offset of the group is set", func() bool {
		return r.admin.CommitAllOffsets(t.Context(), group, offsetsOf(r.topic, 1, 999)) == nil
	})
	produce(t, address, r.topic, tasks(20, 30), "-p", "1")
	r.start()
	eventually(t, "the partition is stopped as ahead", func() bool { return r.reported(1).State == "ahead" })
	if n := r.count("chat", job.Waiting); n != 20 {
		t.Errorf("there are %d jobs while the partition is stopped, want 20", n)
	}
	if _, err := r.client.MovePosition(t.Context(), by, store.PositionMove{Stream: r.topic, Place: at.Place, From: 20, To: 20, Reached: 999, What: "rewind"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the partition is read on", func() bool { return r.count("chat", job.Waiting) == 30 })
	if _, err := r.client.SetStream(t.Context(), by, store.StreamChange{Name: r.topic, Mode: store.Paused}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stream is paused", func() bool { return r.reported(0).State == "paused" })
	r.stop()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(r.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Value: []byte("old"), Timestamp: time.Now().Add(-time.Hour)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	r.start()
	eventually(t, "the age of what is not read is reported", func() bool { return r.reported(0).LagSeconds >= 3_600 })
	r.stop()
}

func (r *rig) position(partition int32) (found store.Position) {
	r.t.Helper()
	positions, err := r.client.Positions(r.t.Context(), r.topic)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range positions {
		if positions[i].Partition == partition {
			found = positions[i]
		}
	}
	return found
}

// reported returns the last report about a partition.
func (r *rig) reported(partition int32) (found store.PartitionReport) {
	r.t.Helper()
	reports, err := r.client.StreamReports(r.t.Context(), r.topic)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range reports {
		for k := range reports[i].Partitions {
			if p := reports[i].Partitions[k]; p.Partition == partition {
				found = p
			}
		}
	}
	return found
}

func offsetsOf(topic string, partition int32, at int64) (o kadm.Offsets) {
	o.AddOffset(topic, partition, at, -1)
	return o
}

// What cannot be a task becomes a dead letter with the record's place and bytes. It holds up
// nothing, and after a retry with a corrected payload it becomes a job.
//
// proves: S6
// part of: I1
func TestS6_KafkaTrap7_KafkaTrap31_WhatCannotBeATaskIsADeadLetter(t *testing.T) {
	t.Parallel()
	address := broker(t)
	r := newRig(t, address, "bob_tasks")
	produce(t, address, r.topic, []string{
		`{"job_id":"a","task_type":"chat_completion","payload":{"x":1,"y":2}}`,
		"not JSON",
		`{"job_id":"b","task_type":"unheard_of","payload":1}`,
		`{"job_id":"a","task_type":"chat_completion","payload":{ "y":2, "x":1 }}`, // the same value, encoded anew
		`{"job_id":"a","task_type":"chat_completion","payload":{"x":9}}`,
		`{"job_id":"last","task_type":"chat_completion","payload":null}`,
	}, "-p", "1")
	if err := r.queue(store.Paused); err != nil {
		t.Fatal(err)
	}
	r.start()
	eventually(t, "three records are dead, without a worker", func() bool { return r.count(stream.RecordKind, job.Dead) == 3 })
	eventually(t, "all records are read", func() bool { offsets, ends := r.committed(); return offsets == ends })
	if got := r.count("chat", job.Waiting); got != 2 {
		t.Errorf("there are %d jobs, want those of a and last", got)
	}
	page, err := r.client.DeadLetters(t.Context(), redrive.DeadFilter{}, redrive.DeadPaging{})
	if err != nil {
		t.Fatal(err)
	}
	var unreadable job.ID
	codes := map[string]string{}
	for i := range page.Entries {
		d := &page.Entries[i]
		codes[d.Code] = d.Message
		if string(d.Reason) != d.Code {
			t.Errorf("the reason of a dead letter with the code %s is %s, want the same word", d.Code, d.Reason)
		}
		if d.Code == "malformed" {
			unreadable = d.DeadLetter.Job
		}
	}
	for code, want := range map[string]string{"malformed": "bob_tasks/1/1: byte 1: the value is not JSON",
		"unknown_type": `task_type "unheard_of" is not declared`, "key_conflict": `held by job`} {
		if !strings.Contains(codes[code], want) {
			t.Errorf("the message of %s is %q, want one with %q", code, codes[code], want)
		}
	}
	dead, err := r.client.Get(t.Context(), unreadable)
	if err != nil || string(dead.Payload) != "not JSON" {
		t.Fatalf("the payload is %q (%v), want the record's bytes", dead.Payload, err)
	}
	var attrs struct {
		Stream struct{ Offset, Partition int64 }
	}
	if err := json.Unmarshal(dead.Attrs, &attrs); err != nil || attrs.Stream.Offset != 1 || attrs.Stream.Partition != 1 {
		t.Errorf("the attributes are %s (%v), want the record's partition and offset", dead.Attrs, err)
	}
	if err := r.queue(store.Open); err != nil {
		t.Fatal(err)
	}
	fixed := []byte(`{"job_id":"fixed","task_type":"chat_completion"}`)
	if err := r.client.Retry(t.Context(), redrive.By{Actor: "ann"}, unreadable, &redrive.Change{Payload: fixed}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the corrected record is a job", func() bool { return r.count("chat", job.Waiting) == 3 })
	r.stop()
}
