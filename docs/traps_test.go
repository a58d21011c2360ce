package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var trapOfName = regexp.MustCompile(`(?m)^func TestTrap0*([0-9]+)_`)

// traps are the known ways in which an HTTP server of jobs goes wrong. Each has at least one test,
// whose name begins with TestTrap and the number.
var traps = map[int]string{
	1:  "texts of strangers that become HTML, scripts or styles of a page",
	2:  "data in the scripts of a page",
	3:  "requests with two meanings, and headers of a user from an untrusted peer",
	4:  "DNS rebinding: a Host that is not the server's",
	5:  "forms, requests and pages of other sites",
	6:  "a GET that changes state",
	7:  "a route without a rule of access",
	8:  "a job of another owner that can be distinguished from one that does not exist",
	9:  "fields of the record, such as state, in a submit",
	10: "foreign, huge and damaged cursors",
	11: "pages far behind the first",
	12: "an empty page of a rare filter that looks like the end",
	13: "a second click, a refresh, and a second operator",
	14: "an action on a state that has moved on",
	15: "an action by a filter that takes what came after its preview",
	16: "streams and waiting requests through a proxy that buffers",
	17: "events that are lost when a listener comes back",
	18: "listeners that stop reading",
	19: "tabs that take all connections of a browser",
	20: "a revoked key that stays logged in or goes on listening",
	29: "a keyed array that is killed and repeated",
	30: "JSON lines of which one is wrong",
	31: "an export that is cut and taken for whole",
	32: "formulas in CSV",
	33: "payloads that are changed on the way",
	34: "times without zone, and times that do not exist",
	35: "numbers on one page that contradict each other",
	36: "a row that changes under the pointer",
	37: "buttons that pretend while the store is away",
	38: "a redirect to another site",
	39: "long words, and texts in other directions",
	40: "secrets in logs",
	41: "a stop that drops acknowledged jobs or never ends",
	42: "slow and idle connections",
	43: "a document that differs from the server",
}

// Each trap has a test that carries its number.
func TestTraps_EachHasATest(t *testing.T) {
	t.Parallel()
	tested := make(map[int]int)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range trapOfName.FindAllSubmatch(text, -1) {
			number, _ := strconv.Atoi(string(m[1])) // the pattern has digits only
			tested[number]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for number, trap := range traps {
		if tested[number] == 0 {
			t.Errorf("trap %d (%s) has no test: write one whose name begins with TestTrap%d_", number, trap, number)
		}
	}
}
