package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The chat system on a real broker: a permanent failure is one execution and a dead letter, one that
// always fails is six, a repeated key is skipped, a killed orchestrator and a killed broker lose
// nothing, and all operations on dead letters work.
//
// proves: Y5
func TestY5_ChatOnARealBroker(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "sh", "../../kafka/kafka.sh").Output()
	jars := strings.TrimSpace(string(out))
	if err != nil {
		t.Skipf("no Apache Kafka: %s", jars)
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no Java")
	}
	program := filepath.Join(t.TempDir(), "chat")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	said, err := exec.CommandContext(t.Context(), program, "y5", "-jars", jars).CombinedOutput()
	t.Logf("%s", said)
	if err != nil || bytes.Contains(said, []byte("FAIL")) {
		t.Fatalf("the story failed: %v", err)
	}
	for _, want := range []string{"permanent: 1 execution, dead", "always failing: 6 executions, dead", "the second is skipped: 1 execution",
		"completed, 2 executions, the second with the same idempotency key", "60 completed, 60 executions", "purge: 200", "0 failures"} {
		if !bytes.Contains(said, []byte(want)) {
			t.Errorf("%q is not in the story", want)
		}
	}
}
