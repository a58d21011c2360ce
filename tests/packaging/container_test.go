package packaging_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// part of: I1
//
// The container file names only files that exist, and builds where there is a builder that can fetch
// its bases.
func TestContainerfile_Builds(t *testing.T) {
	t.Parallel()
	const root = "../../"
	text, err := os.ReadFile(root + "packaging/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^COPY ([^-\n].*)$`).FindAllStringSubmatch(string(text), -1) {
		files := strings.Fields(line[1])
		for _, file := range files[:len(files)-1] {
			if _, err := os.Stat(root + file); err != nil {
				t.Errorf("the container file copies %s: %v", file, err)
			}
		}
	}
	if testing.Short() {
		t.Skip("the image is built by the long tests only")
	}
	for _, builder := range []string{"podman", "buildah", "docker"} {
		if exec.CommandContext(t.Context(), builder, "info").Run() != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		for _, base := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1) {
			if out, err := exec.CommandContext(ctx, builder, "pull", base[1]).CombinedOutput(); err != nil {
				t.Skipf("%s cannot fetch %s, so the image is not built: %v\n%s", builder, base[1], err, out)
			}
		}
		const tag = "localhost/redrive-test"
		if out, err := exec.CommandContext(ctx, builder, "build", "-f", root+"packaging/Containerfile", "-t", tag, root).CombinedOutput(); err != nil {
			t.Fatalf("%s build: %v\n%s", builder, err, out)
		}
		command(t, builder, "rmi", tag)
		return
	}
	t.Skip("there is no working podman, buildah or docker here: the image is not built")
}
