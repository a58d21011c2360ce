package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples of config.md in three languages report what the page says.
//
// proves: Q11
func TestQ11_TheReportsOfTheManual(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ language, program, name, want string }{
		{"sh", "sh", "job.sh", "code IMAGE_DOWNLOAD_FAILED\ndetail url file:///etc/passwd\ncode\nprogress 1/2 downloaded\n"},
		{"python", "python3", "job.py", "progress 50%\nresult {\"pages\": 3}\n"},
		{"js", "node", "job.js", "message the invoice has no lines\npermanent\n"},
	} {
		t.Run(tt.language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skipf("%s is not installed", tt.program)
			}
			section := string(page[strings.Index(string(page), "### What a command can report"):])
			example := regexp.MustCompile("(?s)```" + tt.language + "\n(.*?)```").FindStringSubmatch(section)
			if example == nil {
				t.Fatalf("config.md has no example in %s", tt.language)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, tt.name)
			if err := os.WriteFile(file, []byte(example[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			said, err := os.Create(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			cmd := exec.CommandContext(t.Context(), tt.program, file)
			cmd.Env = append(os.Environ(), "REDRIVE_FD=3", "TMPDIR="+dir, "url=file:///etc/passwd")
			cmd.ExtraFiles = []*os.File{said}
			out, _ := cmd.CombinedOutput() // the example in JavaScript fails
			got, err := os.ReadFile(said.Name())
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("the example reported %q and wrote %s, want %q", got, out, tt.want)
			}
		})
	}
}
