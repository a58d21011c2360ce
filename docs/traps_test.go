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

var kafkaTrapOfName = regexp.MustCompile(`KafkaTrap([0-9]+)_`)

// kafkaTraps are the known ways in which a reader of topics goes wrong. The name of a test has KafkaTrap and the number, or several.
var kafkaTraps = map[int]string{
	1:  "offsets that are committed before the jobs",
	2:  "jobs that are doubled after a rebalance",
	3:  "offsets without a record that are taken for a gap, and gaps that are not noticed",
	4:  "a topic that is made anew or cut",
	5:  "offsets of the group that somebody deletes or sets",
	6:  "partitions that are added",
	7:  "one record that stops its partition",
	8:  "names in records that become kinds",
	9:  "due times that are off by a time zone",
	10: "due times that are no times",
	11: "more retries than allowed",
	12: "numbers, escapes and unknown fields that change on the way",
	13: "headers that pile up or are forged",
	14: "own records that are taken for tasks",
	15: "a bulk retry that holds up new tasks",
	16: "a sink that dies between its write and its cursor",
	17: "a document that is refused and stops all others",
	18: "a Redis that hangs",
	19: "repeats of dead tasks that vanish without a word",
	20: "retrying jobs that count as backlog",
	21: "a pause of the client that outlives a rebalance",
	22: "a heartbeat that lives on while the intake hangs",
	23: "a first start that reads years, or nothing",
	24: "passwords in logs and errors",
	25: "a stop in the middle of a poll",
	26: "two databases in one group, and two processes with one name",
	27: "a job_id that is not the number of the job",
	28: "a lag that never comes to 0",
	29: "a repeat that makes a batch slow on PostgreSQL",
	30: "other clients that do not see what is documented",
	31: "the same payload encoded anew",
	32: "a dead task that is published again",
	33: "a partition that believes the group although the store is older",
	34: "a policy of resets that jumps without a word",
}

// Each trap has a test that carries its number.
func TestTraps_EachHasATest(t *testing.T) {
	t.Parallel()
	tested, ofKafka := make(map[int]int), make(map[int]int)
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
		if !strings.HasSuffix(path, "traps_test.go") {
			for _, m := range kafkaTrapOfName.FindAllSubmatch(text, -1) {
				number, _ := strconv.Atoi(string(m[1])) // the pattern has digits only
				ofKafka[number]++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for number, trap := range kafkaTraps {
		if ofKafka[number] == 0 {
			t.Errorf("trap %d of Kafka (%s) has no test: write one with KafkaTrap%d_ in its name", number, trap, number)
		}
	}
	for number, trap := range traps {
		if tested[number] == 0 {
			t.Errorf("trap %d (%s) has no test: write one whose name begins with TestTrap%d_", number, trap, number)
		}
	}
}
