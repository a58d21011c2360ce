package server_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
)

// A Python client, which a public generator makes from the document, submits, follows, retries and
// exports.
//
// part of: I1, D4, D5
func TestTrap43_AGeneratedPythonClient(t *testing.T) {
	t.Parallel()
	where := exec.CommandContext(t.Context(), "sh", "../scripts/openapi-client.sh")
	where.Env = append(os.Environ(), "REDRIVE_TEST_INSTALL=no")
	programs, err := where.Output()
	if err != nil {
		t.Skipf("openapi-python-client: %smake servers installs it", programs)
	}
	bin := strings.TrimSpace(string(programs))
	s := newSite(t, nil)
	redrive.HandleRaw(s.client, "render", func(context.Context, *redrive.Job[[]byte]) error {
		return failure.Permanent(errors.New("no such image"))
	}, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.client.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()

	dir := t.TempDir()
	generate := exec.CommandContext(t.Context(), filepath.Join(bin, "openapi-python-client"), "generate", "--path", "../internal/api/openapi.yaml",
		"--config", "testdata/client.yaml", "--meta", "none", "--output-path", filepath.Join(dir, "redrive_client"), "--fail-on-warning")
	generate.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("generate the client: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), filepath.Join(bin, "python"), "testdata/client.py", s.url, strings.TrimPrefix(root, "Authorization: Bearer "))
	run.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*", "no_proxy=*")
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "exported job") {
		t.Errorf("the generated client: %v\n%s", err, out)
	}
}
