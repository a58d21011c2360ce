package main

import (
	"hash/fnv"
	"strings"
)

// wrappings are words that programs and logs put around an error, whatever it is. In the labelled texts some stand beside one
// sort of errors more than beside others, and would count as evidence.
var wrappings = [...][2]string{
	{"tried 4 times, last error: ", ""},
	{"gave up after 6 tries: ", ""},
	{"retry 2 of 2 failed too: ", ""},
	{"attempt 3: ", ""},
	{"no more retries are left: ", ""},
	{"could not run step 5: ", ""},
	{"import customers: batch 12: write rows: ", ""},
	{"worker: handle job 8812: ", ""},
	{"[2026-04-02 11:05:01] production.ERROR: ", ""},
	{"<3>Apr 02 11:05:01 host-4 app[2211]: ", ""},
	{"level=error component=sync msg=", " took=12ms"},
	{"DEBUG read 12 items\nDEBUG wrote 12 items\nINFO next page\n", ""},
	{"starting\nloaded 3 plugins\nready, work begins\n", ""},
	{"", "\n    at Object.run (/app/jobs/run.js:41:11)\n    at async Worker.handle (/app/worker.js:18:5)"},
	{"Traceback (most recent call last):\n  File \"/app/run.py\", line 88, in main\n    job.run()\nRunError: ", ""},
	{"Traceback (most recent call last):\n  File \"/srv/etl/load.py\", line 31, in <module>\n    load(page)\nException: ", ""},
	{"Traceback (most recent call last):\n  File \"/usr/lib/python3/job.py\", line 7, in call\n    return self.fn(x)\nRuntimeError: ", ""},
	{"goroutine 7 failed: ", "\nexit status 1"},
	{"Error: Command failed: run.sh\n", ""},
	{"com.example.StepException: step failed: ", "\n\tat com.example.Step.run(Step.java:12)\n\t... 14 more"},
}

// aroundWeight is what a text with other words around counts, beside the text itself.
const aroundWeight = 0.5

// around returns the texts with other words around them, one of each, which is chosen by the hash of the text.
func around(samples []sample) []sample {
	var made []sample
	for i := range samples {
		s := &samples[i]
		if s.tuned || s.doubted {
			continue
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(s.item.Text))
		w := wrappings[h.Sum32()%uint32(len(wrappings))]
		it := s.item
		it.Text = w[0] + strings.TrimRight(it.Text, "\n") + w[1]
		m := newSample(s.family, s.part, it)
		m.made, m.of = true, s.item.ID
		made = append(made, m)
	}
	return made
}
