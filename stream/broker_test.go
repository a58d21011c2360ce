package stream_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

// shared is the private Apache Kafka of all tests, each of which has its own topics. It has two
// users of a listener with TLS and SASL.
var shared struct {
	once   sync.Once
	broker *servers.Kafka
	err    error
}

var errNoKafka = errors.New("no Apache Kafka")

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "redrive-stream-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = filepath.Join(dir, "redrive-stream")
	code := pgtest.Stopping(m).Run()
	_ = os.RemoveAll(dir) // it is temporary
	if shared.broker != nil {
		if err := shared.broker.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// broker returns the address of the private Apache Kafka, or of the one that REDRIVE_TEST_KAFKA
// names.
func broker(t *testing.T) (address string) {
	t.Helper()
	if address = os.Getenv("REDRIVE_TEST_KAFKA"); address != "" {
		return address
	}
	return private(t).Address()
}

// private returns the private Apache Kafka. The first test starts it.
func private(t *testing.T) *servers.Kafka {
	t.Helper()
	shared.once.Do(func() {
		out, err := exec.CommandContext(t.Context(), "sh", "../kafka/kafka.sh", cmp.Or(os.Getenv("REDRIVE_TEST_KAFKA_VERSION"), "4.4.0")).Output()
		if err != nil {
			shared.err = fmt.Errorf("%w: %s", errNoKafka, bytes.TrimSpace(out))
			return
		}
		ctx := context.WithoutCancel(t.Context()) // other tests use it, too
		users := map[string]string{"writer": "pw-writer-canary", "reader": "pw-reader-canary"}
		shared.broker, shared.err = servers.StartKafka(ctx, strings.TrimSpace(string(out)), users)
	})
	switch {
	case errors.Is(shared.err, errNoKafka), errors.Is(shared.err, servers.ErrMissing):
		t.Skip(shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	return shared.broker
}

// built is the file of redrive-stream, and build makes it, with the points at which it can be killed.
var (
	built string
	build = sync.OnceValue(func() error {
		if out, err := exec.Command("go", "build", "-tags", "crashpoint", "-o", built, "./cmd/redrive-stream").CombinedOutput(); err != nil {
			return fmt.Errorf("build redrive-stream: %w\n%s", err, out)
		}
		return nil
	})
)

// topic makes a topic of its own and returns an administrator of the broker.
func topic(t *testing.T, address, name string, partitions int32) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(t.Context(), partitions, 1, nil, name); err != nil {
		t.Fatal(err)
	}
	return admin
}

// produce writes the lines as records, with kcat: a program that is not ours.
func produce(t *testing.T, address, topic string, lines []string, more ...string) {
	t.Helper()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("no kcat (on Debian: apt-get install kcat)")
	}
	cmd := exec.CommandContext(t.Context(), "kcat", append([]string{"-P", "-b", address, "-t", topic, "-X", "acks=all"}, more...)...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kcat: %v\n%s", err, out)
	}
}

// eventually waits until done is true. The other side is a process, which can only be asked.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("it did not happen within 2 minutes: %s", what)
		}
	}
}
