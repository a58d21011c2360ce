package api

import (
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
)

// StreamList is a list of streams.
type StreamList struct {
	Items []wire.Stream `json:"items"`
}

// RewindIn says from where partitions are read again.
type RewindIn struct {
	// To is store (the position of the store, although the group is ahead of it), start or end of the
	// partition, or an offset, which needs a partition.
	To string `json:"to" jsonschema:"maxLength=40"`
	wire.StreamPart
	DryRun bool   `json:"dry_run,omitempty"`                          // answers with the moves, and changes nothing
	Note   string `json:"note,omitempty" jsonschema:"maxLength=4096"` // the reason, for the audit log
}

// GapIn names the partitions that are read on although records were removed before they were read.
type GapIn struct {
	wire.StreamPart
	DryRun bool   `json:"dry_run,omitempty"`                          // answers with the moves, and changes nothing
	Note   string `json:"note,omitempty" jsonschema:"maxLength=4096"` // the reason, for the audit log
}

// StreamMoves are the positions that were moved.
type StreamMoves struct {
	Moves  []wire.StreamMove `json:"moves"`
	DryRun bool              `json:"dry_run"` // nothing was changed
}

// streamRoutes returns the routes of streams. They act on the store; the processes that read the
// streams obey within a second.
func streamRoutes() []Route {
	name := pathName("stream")
	one := []Answer{{Status: 200, Doc: "The stream.", Body: wire.Stream{}}}
	moves := []Answer{{Status: 200, Doc: "The moves, by topic and partition.", Body: StreamMoves{}}}
	problems := []*Kind{NotFound, StateMoved}
	return []Route{
		{
			Method: "GET", Path: "/api/streams", Name: "listStreams", Group: "Streams", Doc: "Lists the streams that make jobs of the records of topics, with their partitions and sinks.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The streams, by name.", Body: StreamList{}}}, Handle: (*API).listStreams,
		},
		{
			Method: "GET", Path: "/api/streams/{name}", Name: "showStream", Group: "Streams", Doc: "Shows a stream: its state, how far its partitions were taken, and how much is left.",
			Roles: access.View, Params: name, Out: one, Problem: []*Kind{NotFound}, Handle: (*API).showStream,
		},
		{
			Method: "POST", Path: "/api/streams/{name}/pause", Name: "pauseStream", Group: "Streams", Doc: "Pauses a stream: no records are taken until it is resumed. Jobs that it has made run.",
			Roles: access.Operate, Params: name, In: ReasonIn{}, InOptional: true, Out: one, Problem: []*Kind{NotFound}, Handle: setStream(redrive.QueuePaused),
		},
		{
			Method: "POST", Path: "/api/streams/{name}/resume", Name: "resumeStream", Group: "Streams", Doc: "Ends the pause of a stream.",
			Roles: access.Operate, Params: name, In: ReasonIn{}, InOptional: true, Out: one, Problem: []*Kind{NotFound}, Handle: setStream(redrive.QueueOpen),
		},
		{
			Method: "POST", Path: "/api/streams/{name}/rewind", Name: "rewindStream", Group: "Streams",
			Doc:   "Reads partitions from another offset. Records that are read again become jobs only if no job has their key.",
			Roles: access.Administer, Params: name, In: RewindIn{}, Out: moves, Problem: problems, Handle: (*API).rewindStream,
		},
		{
			Method: "POST", Path: "/api/streams/{name}/accept-gap", Name: "acceptGap", Group: "Streams",
			Doc:   "Reads partitions on whose records were removed by the topic's retention before they were read.",
			Roles: access.Operate, Params: name, In: GapIn{}, Out: moves, Problem: problems, Handle: (*API).acceptGap,
		},
	}
}

func (a *API) listStreams(c *Call) error {
	list, err := wire.StreamsOf(c.Context(), a.client, a.now())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, StreamList{Items: list})
}

func (a *API) showStream(c *Call) error {
	s, err := a.streamInPath(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, s)
}

// streamInPath returns the stream that the path names.
func (a *API) streamInPath(c *Call) (*wire.Stream, error) {
	return wire.StreamOf(c.Context(), a.client, c.R.PathValue("name"), a.now())
}

func setStream(mode redrive.QueueMode) func(*API, *Call) error {
	return func(a *API, c *Call) error {
		note, err := c.reason()
		if err != nil {
			return err
		}
		if err := checkReason(note); err != nil {
			return err
		}
		if _, err := a.client.SetStream(c.Context(), c.By(note), redrive.StreamChange{Name: c.R.PathValue("name"), Mode: mode}); err != nil {
			return err
		}
		return a.showStream(c)
	}
}

func (a *API) rewindStream(c *Call) error {
	var in RewindIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	if err := wire.CheckRewind(in.To, &in.StreamPart); err != nil {
		return InvalidField.Mistaken(Mistake{Pointer: "/to", Detail: err.Error()})
	}
	return a.movePositions(c, in.Note, in.DryRun, func(s *wire.Stream) ([]wire.StreamMove, error) { return s.Rewind(in.To, &in.StreamPart) })
}

func (a *API) acceptGap(c *Call) error {
	var in GapIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	return a.movePositions(c, in.Note, in.DryRun, func(s *wire.Stream) ([]wire.StreamMove, error) { return s.AcceptGap(&in.StreamPart) })
}

func (a *API) movePositions(c *Call, note string, dry bool, plan func(*wire.Stream) ([]wire.StreamMove, error)) error {
	if err := checkReason(note); err != nil {
		return err
	}
	moves, err := wire.MoveStream(c.Context(), a.client, c.R.PathValue("name"), a.now(), c.By(note), dry, plan)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, StreamMoves{Moves: moves, DryRun: dry})
}
