package job

import (
	"fmt"
	"slices"
)

// BatchState is the state of a batch. The numbers are stored, so they never change; new numbers
// can be added.
type BatchState uint8

// The states of a batch. BatchNone stands for a batch that does not exist.
const (
	BatchNone       BatchState = 0
	BatchDraft      BatchState = 1 // not published: its members are drafts, and no worker can claim them
	BatchProcessing BatchState = 2 // published, and not all of its members have ended
	BatchReady      BatchState = 3 // all members are completed
	BatchPartial    BatchState = 4 // all members have ended, and some of them are completed
	BatchFailed     BatchState = 5 // all members have ended, and none of them is completed
	BatchExpired    BatchState = 6 // the batch had ended, and its time is over; this state is final
)

// BatchStates lists all states of a batch, in order.
var BatchStates = [...]BatchState{BatchDraft, BatchProcessing, BatchReady, BatchPartial, BatchFailed, BatchExpired}

var batchStateNames = [...]string{"NONE", "DRAFT", "PROCESSING", "READY", "PARTIAL", "FAILED", "EXPIRED"}

// String returns the state's word, in capital letters.
func (s BatchState) String() string {
	if int(s) < len(batchStateNames) {
		return batchStateNames[s]
	}
	return fmt.Sprintf("BATCH(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s BatchState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *BatchState) UnmarshalText(text []byte) error {
	parsed, err := ParseBatchState(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ParseBatchState returns the state with the given word.
func ParseBatchState(word string) (BatchState, error) {
	for _, s := range BatchStates {
		if s.String() == word {
			return s, nil
		}
	}
	return BatchNone, fmt.Errorf("unknown state of a batch %.32q: must be one of DRAFT, PROCESSING, READY, PARTIAL, FAILED, EXPIRED", word)
}

// Ended reports whether all members of a batch in this state have ended, and a retry can bring it
// back to PROCESSING. EXPIRED is not such a state.
func (s BatchState) Ended() bool { return s >= BatchReady && s <= BatchFailed }

// BatchEvent is something that happens to a batch, or that a caller asks for.
type BatchEvent uint8

// The events of a batch. A member is counted, unless it is aside: a member of a kind without
// retry.
const (
	BatchAdd       BatchEvent = iota + 1 // drafts are added
	BatchPublish                         // drafts become jobs, and pending dead members get a new life
	BatchJoin                            // an enqueue names the batch; the job is counted
	BatchJoinAside                       // the same for a job that is aside
	BatchEnd                             // the last counted member has ended
	BatchRetry                           // counted dead members are retried
	BatchCancel                          // a person cancels the batch
	BatchDiscard                         // drafts are thrown away
	BatchSet                             // expires_at is changed
	BatchPasses                          // the time expires_at is over
	batchEventsAbove
)

var batchEventNames = [...]string{"", "add", "publish", "join", "join aside", "end", "retry", "cancel", "discard", "set", "passes"}

// String returns the event's word.
func (e BatchEvent) String() string {
	if e != 0 && int(e) < len(batchEventNames) {
		return batchEventNames[e]
	}
	return fmt.Sprintf("batch event(%d)", uint8(e))
}

// BatchEvents returns all events of a batch, in order.
func BatchEvents() []BatchEvent {
	var all []BatchEvent
	for e := BatchAdd; e < batchEventsAbove; e++ {
		all = append(all, e)
	}
	return all
}

// BatchTransition says which states a batch can have after an event.
type BatchTransition struct {
	From  BatchState
	Event BatchEvent
	To    []BatchState // with From itself if the batch can stay as it is
}

// BatchTransitions is the state machine of batches. An event that is not listed for a state is
// refused in it. Stores, tests and the checker read this table.
var BatchTransitions = [...]BatchTransition{
	{BatchDraft, BatchAdd, []BatchState{BatchDraft}},
	{BatchDraft, BatchPublish, []BatchState{BatchProcessing}},
	{BatchDraft, BatchJoinAside, []BatchState{BatchDraft}},
	{BatchDraft, BatchDiscard, []BatchState{BatchDraft, BatchNone}}, // the batch goes with its last draft
	{BatchDraft, BatchSet, []BatchState{BatchDraft}},
	{BatchDraft, BatchPasses, []BatchState{BatchDraft}},

	{BatchProcessing, BatchAdd, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchPublish, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchJoin, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchJoinAside, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchEnd, []BatchState{BatchReady, BatchPartial, BatchFailed}},
	{BatchProcessing, BatchRetry, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchCancel, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchDiscard, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchSet, []BatchState{BatchProcessing}},
	{BatchProcessing, BatchPasses, []BatchState{BatchProcessing}}, // its end comes first

	{BatchReady, BatchAdd, []BatchState{BatchReady}},
	{BatchReady, BatchPublish, []BatchState{BatchReady, BatchProcessing}},
	{BatchReady, BatchJoinAside, []BatchState{BatchReady}},
	{BatchReady, BatchCancel, []BatchState{BatchReady}},
	{BatchReady, BatchDiscard, []BatchState{BatchReady}},
	{BatchReady, BatchSet, []BatchState{BatchReady}},
	{BatchReady, BatchPasses, []BatchState{BatchExpired}},

	{BatchPartial, BatchAdd, []BatchState{BatchPartial}},
	{BatchPartial, BatchPublish, []BatchState{BatchPartial, BatchProcessing}},
	{BatchPartial, BatchJoinAside, []BatchState{BatchPartial}},
	{BatchPartial, BatchRetry, []BatchState{BatchProcessing}},
	{BatchPartial, BatchCancel, []BatchState{BatchPartial}},
	{BatchPartial, BatchDiscard, []BatchState{BatchPartial}},
	{BatchPartial, BatchSet, []BatchState{BatchPartial}},
	{BatchPartial, BatchPasses, []BatchState{BatchExpired}},

	{BatchFailed, BatchAdd, []BatchState{BatchFailed}},
	{BatchFailed, BatchPublish, []BatchState{BatchFailed, BatchProcessing}},
	{BatchFailed, BatchJoinAside, []BatchState{BatchFailed}},
	{BatchFailed, BatchRetry, []BatchState{BatchProcessing}},
	{BatchFailed, BatchCancel, []BatchState{BatchFailed}},
	{BatchFailed, BatchDiscard, []BatchState{BatchFailed}},
	{BatchFailed, BatchSet, []BatchState{BatchFailed}},
	{BatchFailed, BatchPasses, []BatchState{BatchExpired}},

	{BatchExpired, BatchJoinAside, []BatchState{BatchExpired}},
	{BatchExpired, BatchDiscard, []BatchState{BatchExpired}},
}

// After returns the states that a batch in this state can have after an event. It returns nil if
// the event is refused in this state.
func (s BatchState) After(e BatchEvent) []BatchState {
	for i := range BatchTransitions {
		if t := &BatchTransitions[i]; t.From == s && t.Event == e {
			return t.To
		}
	}
	return nil
}

// Takes reports whether an event is allowed in this state.
func (s BatchState) Takes(e BatchEvent) bool { return s.After(e) != nil }

// BatchLegal reports whether a batch can change from one state to another by the event.
func BatchLegal(from, to BatchState, e BatchEvent) bool { return slices.Contains(from.After(e), to) }

// BatchOutcomeOf returns the state of a batch whose counted members have all ended: READY if all
// are completed, FAILED if none is, otherwise PARTIAL. Dead and cancelled members are not
// completed.
func BatchOutcomeOf(completed, dead, cancelled int64) BatchState {
	switch {
	case dead+cancelled == 0:
		return BatchReady
	case completed == 0:
		return BatchFailed
	}
	return BatchPartial
}
