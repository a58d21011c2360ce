package api

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The limits of the API. Limits lists them for the document and for the tests.
const (
	BodyMax           = 4 << 20  // bytes of a JSON body
	LinesBodyMax      = 64 << 20 // bytes of a body of JSON lines
	LinesMax          = 100_000  // lines of a body of JSON lines
	LinesBatch        = 500      // lines that are enqueued in one transaction
	DepthMax          = 64       // levels of nesting in a JSON body
	JobsMax           = 1_000    // jobs in a JSON array
	IDsMax            = job.IDsMax
	PageDefault       = 50
	PageMax           = job.PageMax
	FilterTextMax     = job.TextMax   // bytes of a value in a filter
	NoteMax           = store.NoteMax // bytes of a note
	ReasonMax         = 4 << 10       // bytes of the reason of an action
	FeedbackMax       = 2_000         // characters of a feedback
	FeedbacksMax      = 10            // feedbacks of a job
	KeyHeaderMax      = job.TextMax   // bytes of an Idempotency-Key
	HeaderMax         = 16 << 10      // bytes of the header block of a request
	URLMax            = 8 << 10       // bytes of the target of a request
	CursorMax         = 128           // characters of a cursor
	MistakesMax       = 50            // mistakes that a problem lists
	RequestIDMax      = 128           // characters of an X-Request-Id
	WaitMax           = 30 * time.Second
	LongPollsMax      = 1_000            // requests of a server that wait for jobs and batches to end
	TopicsMax         = 200              // topics of a stream of events
	LiveTopicsMax     = 10               // topics of a page that is open
	StreamsMax        = 2_000            // streams of events of a server
	CallerStreamsMax  = 20               // streams of events of one caller
	EventsScanMax     = 5_000            // events that a page looks at
	FramesSize        = 8 << 10          // bytes of events that a stream writes at once, roughly
	FrameTime         = 10 * time.Second // time in which a client must read an event
	HeartbeatDefault  = 15 * time.Second // time between the frames of a stream without events
	CheckRightsEvery  = 2 * time.Second  // time between two checks of the rights of a listener
	MessagesMax       = 100              // texts of failures that are read for events, per second
	KeyUntilDefault   = 24 * time.Hour
	BodyTime          = 30 * time.Second // time in which the body of a request must arrive
	WriteTime         = 60 * time.Second // time in which a client must read an answer that is not a stream
	IdleTime          = 120 * time.Second
	HeaderTime        = 5 * time.Second
	ActTime           = 20 * time.Second // time after which an action on many jobs stops and answers with its progress
	ReadEvery         = time.Second      // time for which the answers of counters are cached
	OutcomeUnknownFor = 15 * time.Second // time for which the server looks up the jobs of an enqueue whose answer was lost
)

// Limit is a row of the table of limits.
type Limit struct {
	Name    string // what is limited
	Max     int64
	Unit    string // bytes, characters, jobs and so on
	Problem *Kind  // the problem of a request above the limit
	Setting string // the setting that changes the limit; "" if it is fixed
}

// Limits returns the limits of what callers send. The OpenAPI document and tests are made from this list.
func Limits() []Limit {
	return []Limit{
		{"JSON body", BodyMax, "bytes", TooLarge, ""},
		{"body of JSON lines", LinesBodyMax, "bytes", TooLarge, ""},
		{"JSON lines", LinesMax, "lines", TooLarge, ""},
		{"nesting of JSON", DepthMax, "levels", InvalidJSON, ""},
		{"payload", 256 << 10, "bytes", TooLarge, "limits.payload"},
		{"attributes", job.AttrsMax, "bytes", TooLarge, ""},
		{"owner, key, correlation", job.TextMax, "bytes", TooLarge, ""},
		{"names of kinds and queues", job.NameMax, "bytes", InvalidField, ""},
		{"array of jobs", JobsMax, "jobs", TooLarge, ""},
		{"ids in a call", IDsMax, "ids", TooLarge, ""},
		{"page", PageMax, "entries", InvalidField, ""},
		{"value of a filter", FilterTextMax, "bytes", TooLarge, ""},
		{"note", NoteMax, "bytes", TooLarge, ""},
		{"reason of an action", ReasonMax, "bytes", TooLarge, ""},
		{"feedback", FeedbackMax, "characters", TooLarge, ""},
		{"feedbacks of a job", FeedbacksMax, "feedbacks", TooLarge, ""},
		{"Idempotency-Key", KeyHeaderMax, "bytes", TooLarge, ""},
		{"cursor", CursorMax, "characters", InvalidCursor, ""},
		{"URL", URLMax, "bytes", URLTooLong, ""},
		{"header block", HeaderMax, "bytes", HeaderTooLarge, ""},
		{"wait", int64(WaitMax / time.Second), "seconds", InvalidField, ""},
		{"topics of a stream", TopicsMax, "topics", TooLarge, ""},
		{"streams of events", StreamsMax, "requests", RateLimited, ""},
		{"streams of events of a caller", CallerStreamsMax, "requests", RateLimited, ""},
		{"requests that wait for a job or a batch", LongPollsMax, "requests", RateLimited, ""},
		{"callbacks of a batch", store.CallbacksMax, "callbacks", TooLarge, ""},
	}
}
