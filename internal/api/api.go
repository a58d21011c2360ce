package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/server/events"
)

// Options configure an API. The zero value of every field is its default.
type Options struct {
	// Kinds are the kinds that jobs may have, by name. Nil means that every name is accepted.
	Kinds map[string]KindOptions
	// Queues are the names of the queues that jobs may name. Nil means every name.
	Queues []string
	// Limits are the limits of queues in the configuration, by name. They are for explanations only.
	Limits map[string]words.Pace
	// Doors are the kinds with paths of their own.
	Doors []Door
	// Heartbeat is the time after which a stream without events sends a frame; the default is
	// HeartbeatDefault.
	Heartbeat time.Duration
	// PayloadMax is the maximum size of a payload in bytes; the default is
	// redrive.PayloadMaxDefault. It is for messages: the client refuses larger payloads.
	PayloadMax int
	// CompletedKept is how long completed jobs are kept (Retention.Completed of the client);
	// the default is a day. After it, a request whose answer is not known is not carried out
	// again, because its jobs may have been completed and removed.
	CompletedKept time.Duration
	// ViewersSeePayloads shows payloads to callers that may view. By default only operators see
	// them.
	ViewersSeePayloads bool
	// HideEmails removes e-mail addresses from exports, as secrets are removed.
	HideEmails bool
	// Member is what people call a member of a batch. Default Member.
	Member string
	// Base is the path below which the server is mounted, for links. Default "".
	Base   string
	Logger *slog.Logger
	// Metrics writes the metrics of the server.
	Metrics http.Handler
	// Gate makes and checks logins; nil if the program that the server is a part of identifies
	// callers itself.
	Gate *access.Gate
	// Now is the clock, for times that are written as durations. The default is the system's.
	Now func() time.Time
}

// KindOptions say how jobs of a kind are accepted.
type KindOptions struct {
	Queue    string // the queue of a job that names none; default redrive.DefaultQueue
	Priority int    // the priority of a job that has none
	// Text means that the payload is a JSON string whose text becomes the payload. Otherwise
	// the JSON value itself is the payload, byte for byte.
	Text bool
	// Attempts is the number of attempts in the schedule of the kind; 0 if it has none.
	Attempts int
	// Limits are the limits of the kind, for explanations only.
	Limits words.Pace
	// Owner says what owners may do with their jobs, beyond seeing them.
	Owner OwnerRules
}

// OwnerRules say what callers with an owner may do with their jobs of a kind. The zero value
// allows them to see their jobs only.
type OwnerRules struct {
	Retry      bool     // retry dead jobs
	MaxRetries int      // the number of manual retries of a job; 0 means no limit
	Change     []string // the JSON pointers into the payload that a retry may set by a patch
	Cancel     bool     // cancel jobs that wait
	NoFeedback bool     // no feedback on jobs
}

// API answers the requests of the routes in the table.
type API struct {
	client *redrive.Client
	o      Options
	// stopping is closed when the server stops. Then requests that wait for a job to end are
	// answered at once.
	stopping <-chan struct{}
	waiters  *waiters

	queues    kept[[]QueueOut]
	counts    kept[[]redrive.JobCount]
	overviews kept[Overview]
	standings kept[Standing]
	hours     kept[LastHours]
	exports   exports
	hub       *events.Hub
	watches   *events.Watches
	streams   streams
	writes    writes
}

// New makes an API on a client. When the channel is closed, requests that wait for a job to end are
// answered at once.
func New(stopping <-chan struct{}, client *redrive.Client, o Options) *API {
	if o.PayloadMax == 0 {
		o.PayloadMax = redrive.PayloadMaxDefault
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = HeartbeatDefault
	}
	if o.CompletedKept == 0 {
		o.CompletedKept = 24 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = systemNow
	}
	hub := events.New(client, o.Logger)
	return &API{hub: hub, watches: events.NewWatches(hub), client: client, o: o, stopping: stopping, waiters: &waiters{client: client, by: make(map[awaited]map[chan struct{}]bool)}}
}

// Listeners returns the number of streams of events that are open.
func (a *API) Listeners() int { return a.streams.count() }

// Held returns the number of requests that wait until their job has ended.
func (a *API) Held() int { return a.waiters.count() }

// Stop ends all streams of events.
func (a *API) Stop() { a.hub.Close() }
