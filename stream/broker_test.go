package stream_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/internal/testing/servers"
)

// broker starts a private Apache Kafka, or uses the one that REDRIVE_TEST_KAFKA names. restart kills
// a private broker and starts it again; it is nil for another one.
func broker(t *testing.T) (address string, restart func()) {
	t.Helper()
	if address = os.Getenv("REDRIVE_TEST_KAFKA"); address != "" {
		return address, nil
	}
	k := private(t, nil)
	return k.Address(), func() {
		if err := errors.Join(k.Kill(), k.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// private starts an Apache Kafka of its own, with users of a listener with TLS and SASL.
func private(t *testing.T, users map[string]string) *servers.Kafka {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "../kafka/kafka.sh").Output()
	if err != nil {
		t.Skipf("no Apache Kafka: %s", bytes.TrimSpace(out))
	}
	k, err := servers.StartKafka(t.Context(), strings.TrimSpace(string(out)), users)
	if errors.Is(err, servers.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

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
