package score_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/score"
)

func classOf(e *failure.Evidence) classify.Classification { return classify.Builtin().Classify(e, "") }

const labelled = `{"id":"a","text":"connection refused","retriable":true,"class":"TemporaryServiceError","source":"x"}
{"id":"b","text":"connection refused","retriable":false,"class":"NotFound","source":"x"}

{"id":"c","text":"404 Not Found","retriable":true,"class":"NetworkTimeout","source":"y"}
{"id":"d","text":"","status":503,"retriable":true,"class":"NetworkTimeout","also_ok":["TemporaryServiceError"],"source":"y"}
{"id":"e","text":"x","code":"ECONNRESET","retriable":true,"class":"NetworkTimeout","source":"y"}
{"id":"f","text":"x","code":404,"retriable":false,"class":"NotFound","source":"y"}
{"id":"g","text":"x","exit_code":137,"retriable":true,"class":"ResourceConstraint","ambiguous":true,"source":"y"}
`

// part of: F8
func TestF8_ScoreOfLabelledLines(t *testing.T) {
	t.Parallel()
	rep, err := score.Score(strings.NewReader(labelled), classOf)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Items != 7 || rep.Ambiguous != 1 || rep.NonretriableAsRetriable != 0.5 || rep.RetriableAsPermanent != 0.25 ||
		rep.ClassRight != 4.0/6 || rep.AmbiguousClassRight != 1 {
		t.Errorf("got the report %+v, want 7 items with 1 ambiguous, a class right in 4 of 6 items, and the shares 1/2 and 1/4 of wrong verdicts", rep)
	}
	var kinds []string
	for _, m := range rep.Misses {
		kinds = append(kinds, m.ID+" "+m.Kind+" "+m.Rule)
	}
	want := []string{"b nonretriable_as_retriable transport.refused", "c retriable_as_permanent " + rep.Misses[1].Rule}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("the report has the wrong misses (-want +got):\n%s", diff)
	}
	if rep.Confusion["NotFound"]["TemporaryServiceError"] != 1 || rep.Confusion["NetworkTimeout"]["NetworkTimeout"] != 2 {
		t.Errorf("got the numbers by expected and assigned class %v, want 1 NotFound as TemporaryServiceError and 2 NetworkTimeout as NetworkTimeout", rep.Confusion)
	}
	if rep.Rules["transport.refused"] != 2 {
		t.Errorf("got the numbers of items by rule %v, want 2 items for transport.refused", rep.Rules)
	}
	var fields map[string]any
	data, err := json.Marshal(rep)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"items", "ambiguous", "nonretriable_as_retriable", "retriable_as_permanent", "class_right", "confusion", "misses"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("the JSON of the report has no field %q", name)
		}
	}
}

func TestScore_ErrorNamesTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"id\":\"a\",\"text\":\"x\",\"class\":\"A\",\"retriable\":true}\n\nno JSON\n": "line 3",
		`{"id":"a","text":"x","retriable":true}`:                                        `line 1: "class" is missing`,
		`{"id":"a","text":"x","class":"A"}`:                                             `line 1: "retriable" is missing`,
		`{"id":"a","text":5,"class":"A","retriable":true}`:                              "line 1",
	} {
		if _, err := score.Score(strings.NewReader(text), classOf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("input %s: got the error %v, want an error that contains %q", text, err, want)
		}
	}
	rep, err := score.Score(strings.NewReader(""), classOf)
	if err != nil || rep.Items != 0 || rep.ClassRight != 0 {
		t.Errorf("an empty input gave the report %+v and the error %v, want an empty report", rep, err)
	}
}

// Transforms keep the class of texts from all families of errors and of messages from
// programs.
//
// part of: F8
func TestF8_TransformsKeepTheClass(t *testing.T) {
	t.Parallel()
	var items []score.Item
	for class, text := range map[failure.Class]string{
		failure.NetworkTimeout:        "read tcp 10.0.0.1:4711: connection reset by peer",
		failure.TemporaryServiceError: `{"error":{"code":503,"message":"The service is overloaded","status":"UNAVAILABLE"}}`,
		failure.RateLimitExceeded:     "ThrottlingException: Rate exceeded (request 7f1c0a2b9d8e)",
		failure.QuotaExceeded:         "monthly quota exceeded for project 88123401",
		failure.AuthenticationFailure: "Invalid API key provided",
		failure.PermissionError:       "AccessDenied: Access Denied",
		failure.NotFound:              "NoSuchKey: The specified key does not exist.",
		failure.InputExceedsLimits:    "413 Request Entity Too Large",
		failure.ValidationError:       "missing required field: name",
		failure.BusinessLogicError:    "duplicate key value violates unique constraint \"orders_pkey\"",
		failure.ContentViolation:      "blocked by the content policy",
		failure.PaymentRequired:       "Your credit balance is too low",
		failure.ResourceConstraint:    "write /srv/a: no space left on device",
		failure.InvalidInput:          "moov atom not found",
	} {
		items = append(items, score.Item{ID: string(class), Text: text, Class: class})
	}
	rep := score.Metamorph(items, classOf)
	if rep.Kept < 1 {
		t.Errorf("only a share of %.3f of the texts kept its class, want all of them: %+v", rep.Kept, rep.Changed)
	}
	for _, transform := range score.Transforms() {
		if got := transform.Apply(items[0].Text); got == "" {
			t.Errorf("the transform %s returned no text for the first item, want a changed text", transform.Name)
		}
	}
	broken := score.Metamorph(items, func(e *failure.Evidence) classify.Classification {
		return classify.Classification{Class: failure.Class(e.Message)}
	})
	if broken.Kept > 0 {
		t.Errorf("with a classifier that depends on every letter, a share of %.3f kept its class, want 0", broken.Kept)
	}
}

func TestBySource(t *testing.T) {
	t.Parallel()
	items, err := score.Read(strings.NewReader(labelled))
	if err != nil {
		t.Fatal(err)
	}
	by := score.BySource(items, classOf)
	if len(by) != 2 || by["x"].Items != 2 || by["y"].Items != 5 {
		t.Errorf("got the reports by source %v, want 2 items from x and 5 items from y", by)
	}
}
