package policyfile_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/policy/policyfile"
)

// proves: F9
func TestF9_ACodeThatNeverApplies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"classify: {codes: [{code: A, class: Crash}, {code: a, class: NotFound}]}":                          `classify.codes: the code "a" gets the class Crash from an earlier entry, so its class NotFound never applies`,
		"classify: {codes: [{code: A, class: Crash}, {code: A, class: Crash}]}":                             "",
		"classify: {codes: [{code: A, class: Crash, kinds: k}, {code: A, class: NotFound}]}":                "",
		"extends: render\nclassify: {codes: [{code: STORAGE_UPLOAD_FAILED, class: TemporaryServiceError}]}": "",
	} {
		_, err := policyfile.Parse("f", []byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q", text, err, want)
		}
	}
}
