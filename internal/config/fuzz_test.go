package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
)

func FuzzParse(f *testing.F) {
	for _, name := range []string{"testdata/full.yaml", "testdata/mistakes.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("f", data, "/srv/app")
		if err == nil {
			checkConfig(t, c)
			return
		}
		var problems config.Problems
		if !errors.As(err, &problems) || len(problems) == 0 || c != nil {
			t.Fatalf("got the configuration %v and the error %#v, want no configuration and Problems", c, err)
		}
		checkProblems(t, problems, strings.TrimPrefix(string(data), "\ufeff"))
		_, again := config.Parse("f", data, "/srv/app")
		if d := cmp.Diff(problems, again); d != "" {
			t.Errorf("a second reading of the same file reports other problems, want the same problems:\n%s", d)
		}
	})
}

// checkProblems checks that the problems are readable and sorted, and that their places are
// inside the text.
func checkProblems(t *testing.T, problems config.Problems, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	var before config.Problem
	for _, p := range problems {
		if p.Line < 1 || p.Line > len(lines) || p.Col < 1 || p.Col > utf8.RuneCountInString(lines[p.Line-1])+1 {
			t.Errorf("the position of a problem is outside the text: %v", p)
		}
		if p.Line < before.Line || p.Line == before.Line && p.Col < before.Col {
			t.Errorf("the problem %v comes after the problem %v, want the problems sorted by position", p, before)
		}
		if p.Message == "" || !utf8.ValidString(p.Message) || strings.ContainsFunc(p.Message, unicode.IsControl) {
			t.Errorf("the message of a problem is empty or not printable: %q", p.Message)
		}
		if strings.Contains(p.Message, "the parser failed") {
			t.Errorf("a problem reports a panic of the parser: %v", p)
		}
		before = p
	}
}

// checkConfig checks the properties that users of a Config rely on.
func checkConfig(t *testing.T, c *config.Config) {
	t.Helper()
	if len(c.QueueNames) != len(c.Queues) || len(c.Queues) == 0 || len(c.KindNames) != len(c.Kinds) {
		t.Errorf("the names do not match the maps: queue names %v, queues %v, kind names %v, kinds %v", c.QueueNames, c.Queues, c.KindNames, c.Kinds)
	}
	for _, name := range c.QueueNames {
		if q, ok := c.Queues[name]; !ok || q.Workers < 1 {
			t.Errorf("queue %s is missing or has no workers: %+v", name, q)
		}
	}
	for _, name := range c.KindNames {
		k := c.Kinds[name]
		if _, ok := c.Queues[k.Queue]; !ok || len(k.Command) == 0 || k.Command[0] == "" || !strings.HasPrefix(k.Dir, "/") {
			t.Errorf("kind %s has an unknown queue, no command or a relative directory: %+v", name, k)
		}
		if k.Retry == nil {
			continue
		}
		if k.Retry.MaxRetries < 0 || k.Retry.MaxRetries >= c.MaxAttempts || len(k.Retry.Waits) == 0 {
			t.Errorf("kind %s has an invalid number of retries or no waits: %+v", name, k.Retry)
		}
	}
}
