package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// tagOf returns the weak entity tag of a job: it changes with every change of the job that an
// answer to any caller shows.
func tagOf(d *words.Details) string {
	text, err := json.Marshal(struct {
		Job      job.Job
		Payload  []byte
		Attrs    []byte
		Failures int
		Letter   *job.DeadLetter
		Notes    int
	}{d.Job, d.Job.Payload, d.Job.Attrs, len(d.Failures), d.Letter, len(d.Notes)})
	if err != nil {
		panic("encode a job: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// hasTag reports whether a list of entity tags, as in If-Match, has a tag or is "*". Weak and strong
// tags are equal if their texts are.
func hasTag(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
