package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/testing/mistakes"
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
		if c != nil {
			t.Fatalf("got the configuration %v together with the error %v, want only the error", c, err)
		}
		problems := mistakes.Of[config.Problems](t, err)
		mistakes.Readable(t, problems, string(data))
		_, again := config.Parse("f", data, "/srv/app")
		if d := cmp.Diff(problems, mistakes.Of[config.Problems](t, again)); d != "" {
			t.Errorf("a second reading of the same file reports other problems, want the same problems:\n%s", d)
		}
	})
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
