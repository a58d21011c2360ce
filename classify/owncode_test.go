package classify_test

import (
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// part of: F8
func TestF8_OwnCodesInTexts(t *testing.T) {
	t.Parallel()
	c, mistakes := classify.NewClassifier(classify.Rules{Codes: []classify.CodeRule{
		{Code: "insufficient_funds", Class: "SoftDecline"}, {Code: "declined", Class: "Declined"}, {Code: "pg.40001", Class: "Busy"},
		{Code: "40P01", Class: "Deadlock"}, {Code: "overloaded_error", Class: "Overloaded"}, {Code: "SlowDown", Class: "Slow", Kinds: []string{"k"}},
	}})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	for text, want := range map[string]failure.Class{
		`{"error":{"decline_code":"insufficient_funds"}}`:                  "SoftDecline",
		`decline_code: insufficient_funds`:                                 "SoftDecline",
		`402 Payment Required: {"decline_code":"insufficient_funds"}`:      "SoftDecline",
		`the answer was insufficient_funds.`:                               "SoftDecline",
		`{"code":"declined"}`:                                              "Declined",
		`code=declined`:                                                    "Declined",
		`ERROR: could not serialize access (SQLSTATE 40001)`:               "Busy",
		`ERROR: deadlock detected (SQLSTATE 40P01)`:                        "Deadlock",
		`{"type":"error","error":{"type":"overloaded_error"}}`:             "Overloaded",
		`<Code>SlowDown</Code>`:                                            "Slow",
		`see the page not_insufficient_funds_at_all for the settings`:      "",
		`the offer was declined politely in the summer of the year before`: "",
	} {
		found := c.Classify(&failure.Evidence{Message: text}, "k")
		own := found.Class
		if _, builtin := failure.InfoOf(own); builtin {
			own = ""
		}
		if own != want {
			t.Errorf("%s: got the class %s by %s, want %q", text, found.Class, found.Rule, want)
		}
	}
	if found := c.Classify(&failure.Evidence{Message: "<Code>SlowDown</Code>"}, "other"); found.Class == "Slow" {
		t.Errorf("a code of another kind gave the class %s, want a built-in one", found.Class)
	}
}
