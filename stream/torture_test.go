package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/stream"
)

var (
	tortureKills = flag.Int("torture.kills", 0, "how often programs and the broker are killed or stopped under load; 0: not at all")
	tortureSeed  = flag.Uint64("torture.seed", 0, "seed of the torture; 0 draws one")
)

// The times of the torture.
const (
	tortureWait = 400 * time.Millisecond // wait of a task that fails once
	stopPast    = 12 * time.Second       // a stop that outlives the membership in the group
	manyKills   = 10                     // from so many on, stops outlive the membership, and PostgreSQL is tortured, too
)

// torture is a fleet of programs, a producer and a worker, and what each of them knows.
type torture struct {
	*rig
	s     store.Store
	retry string
	rand  *rand.Rand
	logs  *os.File // of all programs
	fleet [3]*exec.Cmd

	mu    sync.Mutex
	keys  int                 // tasks that are produced: their numbers are below it
	junk  int                 // records that are no tasks
	began map[int][]time.Time // when the handler began with each task
	fails map[int]time.Time   // when a task failed
}

// Records become exactly one job each while the programs that read them are killed, at named points and anywhere, and stopped for
// longer than the group waits, while the broker is killed, and while producers repeat themselves and write what is no task.
//
// part of: S1, S2, S4, S6
func TestS4_TortureOfTheIntake(t *testing.T) { // it is not parallel: it kills the broker of the other tests
	if *tortureKills == 0 {
		t.Skip("only with -torture.kills: TestS4_KafkaTrap1_EachRecordBecomesOneJob has a kill at each point")
	}
	address := broker(t)
	file := t.TempDir() + "/jobs.db"
	s, err := sqlite.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	tortured(t, newRigOn(t, address, "torture_tasks", s, "--db", file), s)
}

// The same is true when the jobs are in PostgreSQL.
//
// part of: S1, S2, S4, S6
func TestS4_TortureOfTheIntakeInPostgreSQL(t *testing.T) { // it is not parallel: it kills the broker of the other tests
	if *tortureKills < manyKills {
		t.Skip("only with -torture.kills of at least", manyKills)
	}
	address := broker(t)
	dsn, schema := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	tortured(t, newRigOn(t, address, "torture_postgres", s, "--db", dsn, "--schema", schema), s)
}

func tortured(t *testing.T, r *rig, s store.Store) {
	t.Helper()
	seed := *tortureSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-torture.seed=%d -torture.kills=%d", seed, *tortureKills)
	x := &torture{rig: r, s: s, retry: r.topic + "_retry", rand: rand.New(rand.NewPCG(seed, 1)), began: map[int][]time.Time{}, fails: map[int]time.Time{}}
	if _, err := r.admin.CreateTopics(t.Context(), 2, 1, nil, x.retry); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.logs, err = os.Create(t.TempDir() + "/log"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.explain)
	ctx, cancel := context.WithCancel(t.Context())
	worked, produced := make(chan error, 1), make(chan error, 1)
	go func() { worked <- x.work(ctx) }()
	producing, stop := context.WithCancel(ctx)
	go func() { produced <- x.produce(producing) }()
	for i := range x.fleet {
		x.launch(i, "")
	}
	for range *tortureKills {
		x.fault()
	}
	stop()
	if err := <-produced; err != nil {
		t.Error(err)
	}
	for i := range x.fleet {
		x.end(i, syscall.SIGKILL)
	}
	x.launch(0, "")
	eventually(t, "everything is taken and has ended", x.quiet)
	x.end(0, syscall.SIGINT)
	cancel()
	if err := <-worked; err != nil {
		t.Error(err)
	}
	x.compare()
}

// work runs the jobs. Each tenth task fails once.
func (x *torture) work(ctx context.Context) error {
	p, err := policy.Default().WithSchedule("chat", &policy.Schedule{First: tortureWait, Factor: 1, MaxRetries: 3})
	if err != nil {
		return err
	}
	client, err := redrive.New(x.s, &redrive.Config{Policy: p, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	redrive.HandleRaw(client, "chat", func(_ context.Context, j *redrive.Job[[]byte]) error {
		var task struct{ N int }
		if err := json.Unmarshal(j.Args, &task); err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.began[task.N] = append(x.began[task.N], time.Now())
		if task.N%10 == 0 && j.Attempt == 1 {
			x.fails[task.N] = time.Now()
			return errors.New("connection refused")
		}
		return nil
	}, nil)
	return client.Run(ctx)
}

// produce writes tasks until the context ends: a part of them twice, and some records that are no tasks. It writes what was
// not acknowledged again.
func (x *torture) produce(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(x.address), kgo.DefaultProduceTopic(x.topic), kgo.RetryTimeout(time.Minute), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer client.Close()
	random := rand.New(rand.NewPCG(x.rand.Uint64(), 2))
	for next := 0; ctx.Err() == nil; next += 20 {
		var records []*kgo.Record
		for _, line := range tasks(next, next+20) {
			records = append(records, kgo.StringRecord(line))
			if random.IntN(50) == 0 {
				records = append(records, kgo.StringRecord(line))
			}
		}
		junk := random.IntN(10) == 0
		if junk {
			records = append(records, kgo.StringRecord("junk"))
		}
		// What is under way is finished: a stop is no fault of the broker.
		if err := client.ProduceSync(context.WithoutCancel(ctx), records...).FirstErr(); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
		x.mu.Lock()
		x.keys = next + 20
		if junk {
			x.junk++
		}
		x.mu.Unlock()
		pause(ctx, 10*time.Millisecond)
	}
	return nil
}

// launch starts a program. The first is a static member of the group.
func (x *torture) launch(i int, at crashpoint.Point) {
	x.t.Helper()
	args := slices.Concat([]string{"run", "--brokers", x.address, "--topic", x.topic, "--retry", x.retry, "--min-wait", "200ms", "--name", x.topic, "--kind", "chat_completion=chat"}, x.db)
	if i == 0 {
		args = append(args, "--instance", "pod-0")
	}
	x.fleet[i] = exec.CommandContext(x.t.Context(), built, args...)
	x.fleet[i].Env = append(os.Environ(), crashpoint.Variable+"="+string(at))
	x.fleet[i].Stderr = x.logs
	if err := x.fleet[i].Start(); err != nil {
		x.t.Fatal(err)
	}
}

func (x *torture) end(i int, with syscall.Signal) {
	x.t.Helper()
	if err := x.fleet[i].Process.Signal(with); err != nil && !errors.Is(err, os.ErrProcessDone) {
		x.t.Error(err)
	}
	_ = x.fleet[i].Wait() // it was killed, or has killed itself
}

// fault does something bad to a program or to the broker, and mends it.
func (x *torture) fault() {
	x.t.Helper()
	i := x.rand.IntN(len(x.fleet))
	switch kind := x.rand.IntN(8); {
	case kind < 4: // at a named point, or after two seconds
		points := crashpoint.StreamPoints[:4]
		x.end(i, syscall.SIGKILL)
		x.launch(i, points[kind])
		late := time.AfterFunc(2*time.Second, func() { _ = x.fleet[i].Process.Kill() })
		_ = x.fleet[i].Wait() // it has killed itself, or was killed
		late.Stop()
		x.launch(i, "")
	case kind < 6:
		pause(x.t.Context(), time.Duration(x.rand.IntN(500))*time.Millisecond)
		x.end(i, syscall.SIGKILL)
		x.launch(i, "")
	case kind == 6:
		_ = x.fleet[i].Process.Signal(syscall.SIGSTOP)
		if *tortureKills < manyKills {
			pause(x.t.Context(), time.Second)
		} else {
			pause(x.t.Context(), stopPast)
		}
		_ = x.fleet[i].Process.Signal(syscall.SIGCONT)
	default:
		if k := shared.broker; k != nil {
			if err := errors.Join(k.Kill(), k.Start(context.WithoutCancel(x.t.Context()))); err != nil {
				x.t.Fatal(err)
			}
		}
	}
}

// pause lets the fleet work for a time: the faults come at random times.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// explain logs where a run that failed has come to.
func (x *torture) explain() {
	if !x.t.Failed() {
		return
	}
	ctx := context.WithoutCancel(x.t.Context())
	positions, err := x.client.Positions(ctx, x.topic)
	x.t.Logf("positions: %+v (%v)", positions, err)
	group, err := x.admin.FetchOffsets(ctx, "redrive-"+x.topic)
	x.t.Logf("group: %+v (%v)", group, err)
	ends, err := x.admin.ListEndOffsets(ctx, x.topic, x.retry)
	x.t.Logf("ends: %+v (%v)", ends, err)
	members, err := x.admin.DescribeGroups(ctx, "redrive-"+x.topic)
	x.t.Logf("members: %+v (%v)", members, err)
	counts, err := x.client.Counts(ctx)
	x.t.Logf("jobs: %+v (%v)", counts, err)
	text, err := os.ReadFile(x.logs.Name())
	x.t.Logf("the programs said at last (%v):\n%s", err, text[max(0, len(text)-20_000):])
}

// quiet reports whether the group has read both topics to their ends, and no job is left to run.
func (x *torture) quiet() bool {
	group, err := x.admin.FetchOffsets(x.t.Context(), "redrive-"+x.topic)
	if err != nil {
		return false
	}
	ends, err := x.admin.ListEndOffsets(x.t.Context(), x.topic, x.retry)
	if err != nil {
		return false
	}
	behind := false
	ends.Each(func(o kadm.ListedOffset) {
		at, ok := group.Lookup(o.Topic, o.Partition)
		behind = behind || o.Offset > 0 && (!ok || at.At < o.Offset)
	})
	return !behind && x.count("chat", job.Waiting, job.Running, job.Retrying) == 0
}

// compare compares what the producer and the handler know with the store and the topics.
func (x *torture) compare() {
	t := x.t
	t.Helper()
	positions, err := x.client.Positions(t.Context(), x.topic)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]*store.FateCounts{x.topic: {}, x.retry: {}}
	for i := range positions {
		p := &positions[i]
		sums[p.Topic].Add(&p.Counts)
		if p.Counts.Read != p.Next-p.First {
			t.Errorf("%s/%d: %d records were read, and the position is %d: each offset is a record", p.Topic, p.Partition, p.Counts.Read, p.Next)
		}
	}
	ends, err := x.admin.ListEndOffsets(t.Context(), x.topic)
	if err != nil {
		t.Fatal(err)
	}
	written := int64(0)
	ends.Each(func(o kadm.ListedOffset) { written += o.Offset })
	c := sums[x.topic]
	if c.Read != written || c.Taken != int64(x.keys) || c.Dead < int64(x.junk) || c.Taken+c.Existing+c.Dead != c.Read {
		t.Errorf("%d records with %d tasks and %d or more that are not tasks became %+v: want each once", written, x.keys, x.junk, *c)
	}
	if completed, dead := x.count("chat", job.Completed), x.count(stream.RecordKind, job.Dead); completed != int64(x.keys) || dead != c.Dead {
		t.Errorf("%d jobs have completed and %d records are dead, want %d and %d", completed, dead, x.keys, c.Dead)
	}
	for n := range x.keys {
		want := 1
		if n%10 == 0 {
			want = 2
		}
		if got := x.began[n]; len(got) != want {
			t.Errorf("task %d ran %d times, want %d: no worker was killed", n, len(got), want)
		} else if want == 2 && got[1].Sub(x.fails[n]) < tortureWait {
			t.Errorf("task %d ran again after %s, want at least %s", n, got[1].Sub(x.fails[n]), tortureWait)
		}
	}
	events := map[string]string{} // by the wait
	twice := 0
	for _, w := range read(t, x.address, x.retry) {
		wait, event := w.header("redrive-job"), w.header("redrive-event")
		if known, ok := events[wait]; ok {
			twice++
			if known != event {
				t.Errorf("the wait %s has records of the events %s and %s", wait, known, event)
			}
		}
		events[wait] = event
	}
	if r := sums[x.retry]; r.Taken != 0 || r.Own != int64(len(events)+twice) {
		t.Errorf("%d records of the retry topic became %+v, want that all are known", len(events)+twice, *r)
	}
	if len(events) == 0 || len(events) > len(x.fails) {
		t.Errorf("%d waits of %d have a record", len(events), len(x.fails))
	}
	t.Logf("%d tasks in %d records, %d repeats, %d that are no tasks, %d read again and dropped; %d of %d waits have a record, %d twice; 0 lost, 0 twice, 0 early",
		x.keys, written, c.Existing, c.Dead, c.Replayed, len(events), len(x.fails), twice)
}
