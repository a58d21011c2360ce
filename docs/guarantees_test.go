package docs_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

func TestGuarantees_LimitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	limits := map[string]int{
		"job.PayloadMax": job.PayloadMax, "redrive.PayloadMaxDefault": redrive.PayloadMaxDefault,
		"job.ResultMax": job.ResultMax, "job.AttrsMax": job.AttrsMax, "job.NameMax": job.NameMax,
		"job.TextMax": job.TextMax, "job.MessageMax": job.MessageMax, "job.EvidenceMax": job.EvidenceMax,
		"job.EnqueueMax": job.EnqueueMax, "job.ExchangeMax": job.ExchangeMax, "job.IDsMax": job.IDsMax,
		"job.PageMax": job.PageMax, "job.LanesMax": job.LanesMax, "job.MaxCrashes": job.MaxCrashes,
		"policy.MaxAttemptsDefault": policy.MaxAttemptsDefault, "store.WorkersMax": store.WorkersMax,
		"store.LimitMax": store.LimitMax, "store.ExpiredMax": store.ExpiredMax,
	}
	if engine.WorkersMax != store.WorkersMax {
		t.Errorf("a process can have %d workers and a person can set %d; guarantees.md has one row for both limits", engine.WorkersMax, store.WorkersMax)
	}
	row := regexp.MustCompile("(?m)^\\| .* \\| ([0-9]+)(?: bytes)? \\| `([a-zA-Z.]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(read(t, "guarantees.md"), -1) {
		want, known := limits[m[2]]
		if !known {
			t.Errorf("guarantees.md has the limit %s, which this test does not know", m[2])
		} else if m[1] != strconv.Itoa(want) {
			t.Errorf("guarantees.md says that %s is %s, but in the code it is %d", m[2], m[1], want)
		}
		delete(limits, m[2])
	}
	for name := range limits {
		t.Errorf("guarantees.md does not mention the limit %s", name)
	}
}

func TestGuarantees_LeasesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	text := read(t, "guarantees.md")
	for name, is := range map[string]bool{
		"10 s":                                   engine.LeaseDefault.Seconds() == 10,
		"100 ms to 1 h":                          engine.LeaseMin.Milliseconds() == 100 && engine.LeaseMax.Hours() == 1,
		"every 30 s":                             engine.RescueIntervalDefault.Seconds() == 30,
		"the lease, extended just before | 10 s": engine.LeaseDefault.Seconds() == 10,
		"sign of life, every 10 s":               store.PresentEvery.Seconds() == 10 && store.PresentEvery <= engine.LeaseDefault,
		"was lost | 1 s":                         engine.PollDefault.Seconds() == 1,
		"| together | 12.5 s |":                  (engine.LeaseDefault + 1500*time.Millisecond + engine.PollDefault).Seconds() == 12.5,
		"`shutdown_grace` (30":                   engine.GraceDefault.Seconds() == 30,
	} {
		if !is || !strings.Contains(text, name) {
			t.Errorf("guarantees.md does not contain %q, or the code has another value", name)
		}
	}
}
