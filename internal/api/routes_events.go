package api

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/server/access"
)

// EventOut is an event in a page and in the data of a stream.
type EventOut struct {
	event.Event
	// Message is the text of the failure, for a job that has failed.
	Message string `json:"message,omitempty"`
	// More is true if the job has a failure whose text was left out, because too many jobs fail at
	// once. GET /api/jobs/{id} has it.
	More bool `json:"more,omitempty"`
}

// EventPage is a page of events, oldest first.
type EventPage struct {
	Items []EventOut `json:"items"`
	// Next is the cursor of the next page: "after" of the next request. It is set even if the page
	// has no items.
	Next event.Cursor `json:"next"`
	// End is true if there are no more events now.
	End bool `json:"end"`
}

// OutsideEventPage is a page of events as users see them, oldest first.
type OutsideEventPage struct {
	Items []OutsideEvent `json:"items"`
	Next  event.Cursor   `json:"next"`
	End   bool           `json:"end"`
}

// MediaEvents is the media type of a stream of events.
const MediaEvents = "text/event-stream"

func eventRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/api/events", Name: "events", Group: "Events", Stream: true,
			Doc:   "Streams events as they happen (Accept: text/event-stream), or lists past events. Each frame of a stream has the cursor of the event as its id. A frame named reset says that events were missed: read the present state, and go on.",
			Roles: access.View, Owner: Own,
			Params: []Param{
				{Name: "topic", In: "query", Many: true, Doc: "What to follow: all, job:ID, owner:NAME, kind:NAME, queue:NAME, batch:NUMBER, group:FINGERPRINT, redrive:NUMBER, dead, queues. Default all."},
				{Name: "after", In: "query", Doc: "The cursor of the last event that the caller has seen. A stream without it begins with the events that happen from now on, a page with the oldest event."},
				{Name: "Last-Event-ID", In: "header", Doc: "The same as after, and stronger: browsers send it when they come back."},
				{Name: "limit", In: "query", Type: "integer", Min: 1, Max: PageMax, Doc: "The number of events of a page."},
			},
			Out: []Answer{
				{Status: 200, Doc: "A page of events. Callers with an owner get the outside view.", Body: OneOf{EventPage{}, OutsideEventPage{}}},
				{Status: 200, Doc: "The stream.", Media: MediaEvents},
			},
			Problem: []*Kind{NotAcceptable, RateLimited, TooLarge, Gone},
			Handle:  (*API).events,
		},
	}
}
