package policy

import (
	"encoding/json"
	"time"

	"github.com/redrive/redrive/failure"
)

// memoVersion is the format of an encoded memo.
const memoVersion = 1

// memoClasses bounds the classes that a memo counts; failures of more classes
// than that are counted together under "".
const memoClasses = 16

// Memo is what one decision leaves for the next of the same life, so that none
// has to read the history.
type Memo struct {
	Failures map[failure.Class]int // retried so far, by class
	Wait     time.Duration         // before the last retry
}

// storedMemo is a memo as it is kept with the job.
type storedMemo struct {
	V        int                   `json:"v"`
	Failures map[failure.Class]int `json:"failures,omitempty"`
	Wait     int64                 `json:"wait_us,omitempty"`
}

// ParseMemo reads a memo. One that is damaged, or of a version that this
// program does not know, is empty: a decision without history is better than
// none.
func ParseMemo(b []byte) Memo {
	var s storedMemo
	if len(b) == 0 || json.Unmarshal(b, &s) != nil || s.V != memoVersion {
		return Memo{}
	}
	return Memo{Failures: s.Failures, Wait: time.Duration(s.Wait) * time.Microsecond}
}

// Encode writes the memo as ParseMemo reads it.
func (m Memo) Encode() []byte {
	b, err := json.Marshal(storedMemo{V: memoVersion, Failures: m.Failures, Wait: m.Wait.Microseconds()})
	if err != nil {
		panic("policy: a memo holds nothing that could not be encoded: " + err.Error())
	}
	return b
}

// add counts one failure of class that is retried after wait.
func (m Memo) add(class failure.Class, wait time.Duration) Memo {
	if m.Failures == nil {
		m.Failures = make(map[failure.Class]int, 1)
	}
	if _, known := m.Failures[class]; !known && len(m.Failures) >= memoClasses {
		class = ""
	}
	m.Failures[class]++
	m.Wait = wait
	return m
}
