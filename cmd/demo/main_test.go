package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The program of the demo has no server, no PostgreSQL and no command line library in it: they would be
// compiled at the first run. This package has only the standard library, so that it starts at once.
func TestDemoCompilesOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	for packages, unwanted := range map[string]string{
		program: `pgx|/server|/cli|/internal/page|/internal/api|prometheus|protobuf|jsonschema|kong`,
		".":     `^(github|golang\.org|modernc|go\.)`,
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", packages).Output()
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			if regexp.MustCompile(unwanted).MatchString(name) && name != "github.com/redrive/redrive/cmd/demo" {
				t.Errorf("%s imports %s, want it out of the import graph", packages, name)
			}
		}
	}
}

// The build's own lines become one line a second on a terminal, and one each ten seconds elsewhere.
func TestProgress(t *testing.T) {
	t.Parallel()
	const said = "go: downloading modernc.org/sqlite v1.53.0\ngo: downloading a v1\nmodernc.org/libc\n"
	for terminal, want := range map[bool]string{
		true:  "\r\x1b[K  1 s  2 modules downloaded, 1 packages compiled",
		false: " 10 s  2 modules downloaded, 1 packages compiled\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := &progress{w: &out, terminal: terminal, began: time.Now()}
			over := p.show()
			p.read(strings.NewReader(said))
			<-time.NewTimer(10500 * time.Millisecond).C
			over()
			if !strings.HasPrefix(out.String(), want) {
				t.Errorf("terminal %v: got %q, want it to begin with %q", terminal, out.String(), want)
			}
			if p.log.String() != said {
				t.Errorf("got the log %q, want all lines of the build", p.log.String())
			}
		})
	}
}
