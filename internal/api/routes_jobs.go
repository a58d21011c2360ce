package api

import (
	"encoding/json"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

var pathID = Param{Name: "id", In: "path", Doc: "The id of the job.", Required: true}

// jobRoutes returns the routes of jobs.
func jobRoutes() []Route {
	return []Route{
		{
			Method: "POST", Path: "/api/jobs", Name: "submitJobs", Group: "Jobs",
			Doc:   "Adds a job, or an array of jobs: all of them or none. The jobs are durable when the answer arrives.",
			Roles: access.Submit | access.Operate, Owner: Own,
			Params: []Param{{Name: headerKey, In: "header", Doc: "Makes the request safe to repeat: a repeat returns the first answer."}},
			In:     JobIn{}, OrIn: []JobIn{}, Lines: true,
			Out: []Answer{
				{Status: 200, Doc: "JSON lines: the receipt or the mistake of each line, and a last line with counts.", Media: MediaLines, Body: OneOf{LineOut{}, LinesDone{}}},
				{Status: 201, Doc: "The receipt of the job, or an array of receipts.", Body: OneOf{Receipt{}, []Receipt{}}},
				{Status: 200, Doc: "All jobs existed.", Body: OneOf{Receipt{}, []Receipt{}}},
			},
			Problem: []*Kind{InvalidJSON, UnknownField, PayloadInvalid, TooLarge, UnsupportedMediaType, QueueDraining, KeyReused, OutcomeUnknown, StoreFull},
			Handle:  (*API).submit,
		},
		{
			Method: "GET", Path: "/api/jobs", Name: "listJobs", Group: "Jobs",
			Doc:   "Lists jobs, a page at a time.",
			Roles: access.View, Owner: Own,
			Params: append(listParams(), pageParams()...),
			Out: []Answer{
				{Status: 200, Doc: "A page of jobs. Callers with an owner get the outside view.", Body: OneOf{JobList{}, OutsideList{}}},
			},
			Problem: []*Kind{InvalidCursor, TooLarge},
			Handle:  (*API).listJobs,
		},
		exportRoute("/api/jobs/export", "exportJobs", "Jobs", "jobs, without their payloads", listParams(), (*API).exportJobs),
		{
			Method: "GET", Path: "/api/jobs/{id}", Name: "getJob", Group: "Jobs",
			Doc:   "Shows everything that is stored about a job.",
			Roles: access.View | access.Submit, Owner: Own,
			Params: []Param{
				pathID, {Name: "wait", In: "query", Doc: "The longest time that the request waits for the job to end, up to 30s."},
				{Name: "until", In: "query", Doc: "What the answer waits for.", Enum: []string{"ended"}},
				{Name: "If-None-Match", In: "header", Doc: "The Etag of an earlier answer: 304 if the job has not changed."},
			},
			Out: []Answer{
				{Status: 200, Doc: "The job. Callers with an owner, and those that only submit, get the outside view.", Body: OneOf{JobOut{}, Outside{}}},
				{Status: 304, Doc: "The job has not changed."},
			},
			Problem: []*Kind{NotFound},
			Handle:  (*API).getJob,
		},
		{
			Method: "GET", Path: "/api/jobs/{id}/explain", Name: "explainJob", Group: "Jobs", Doc: "Explains in words why a job is in its state, what was decided about its runs, and what happens next.",
			Roles: access.View, Params: []Param{pathID}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 200, Doc: "The explanation.", Body: wire.Explanation{}}}, Handle: (*API).explainJob,
		},
		{
			Method: "GET", Path: "/api/jobs/{id}/payload", Name: "getPayload", Group: "Jobs", Doc: "Returns the payload of a job, byte for byte.",
			Roles: access.Operate, Payloads: true, Params: []Param{pathID}, Problem: []*Kind{NotFound},
			Out:    []Answer{{Status: 200, Doc: "The payload, if it is JSON.", Body: json.RawMessage{}}, {Status: 200, Doc: "Any other payload.", Media: "application/octet-stream"}},
			Handle: (*API).payload,
		},
		{
			Method: "GET", Path: "/api/jobs/{id}/original", Name: "getOriginal", Group: "Jobs", Doc: "Shows a job as it was before its first change.",
			Roles: access.View, Params: []Param{pathID}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 200, Doc: "The job before its first change.", Body: OriginalOut{}}}, Handle: (*API).original,
		},
		{
			Method: "POST", Path: "/api/jobs/{id}/cancel", Name: "cancelJob", Group: "Jobs", Doc: "Cancels a waiting job, and asks a running one to stop.",
			Roles: access.Operate, Owner: Own, Params: []Param{pathID, ifMatch}, In: ActIn{}, InOptional: true,
			Out: []Answer{{Status: 200, Doc: "The state of the job now.", Body: ChangedJob{}}}, Problem: []*Kind{NotFound, Ended, StateMoved, OwnerMayNot}, Handle: (*API).cancelJob,
		},
		{
			Method: "POST", Path: "/api/jobs/{id}/retry", Name: "retryJob", Group: "Jobs", Doc: "Retries a dead job: it waits again, in its next life, as it was or changed.",
			Roles: access.Operate, Owner: Own, Params: []Param{pathID, ifMatch}, In: ChangeJobIn{}, InOptional: true,
			Out: []Answer{{Status: 200, Doc: "The state of the job now.", Body: ChangedJob{}}}, Problem: []*Kind{NotFound, NotDead, StateMoved, OwnerMayNot, PayloadInvalid, QueueDraining}, Handle: (*API).retryJob,
		},
		{
			Method: "POST", Path: "/api/jobs/{id}/run", Name: "runJob", Group: "Jobs", Doc: "Makes a waiting job due now.",
			Roles: access.Operate, Params: []Param{pathID, ifMatch}, In: ActIn{}, InOptional: true,
			Out: []Answer{{Status: 200, Doc: "The state of the job now.", Body: ChangedJob{}}}, Problem: []*Kind{NotFound, StateMoved}, Handle: (*API).runJob,
		},
		{
			Method: "PATCH", Path: "/api/jobs/{id}", Name: "changeJob", Group: "Jobs", Doc: "Changes a waiting job: when it is due, its queue, priority, settings for retries, or payload.",
			Roles: access.Operate, Params: []Param{pathID, ifMatch}, In: ChangeJobIn{},
			Out: []Answer{{Status: 200, Doc: "The state of the job now.", Body: ChangedJob{}}}, Problem: []*Kind{NotFound, StateMoved, PayloadInvalid, QueueDraining}, Handle: (*API).changeJob,
		},
		{
			Method: "POST", Path: "/api/jobs/cancel", Name: "cancelJobs", Group: "Jobs", Doc: "Cancels many jobs: by their ids, or by a filter after a preview.",
			Roles: access.Operate, Params: []Param{previewParam}, In: BulkIn{},
			Out: []Answer{{Status: 200, Doc: "The result for each id; the progress of an action by filter; or the preview.", Body: OneOf{BulkOut{}, BulkDone{}, BulkPreview{}}}}, Handle: (*API).cancelJobs,
		},
		{
			Method: "POST", Path: "/api/jobs/alter", Name: "alterJobs", Group: "Jobs", Doc: "Changes many waiting jobs: by their ids, or by a filter after a preview.",
			Roles: access.Operate, Params: []Param{previewParam}, In: BulkChangeIn{},
			Out: []Answer{{Status: 200, Doc: "The result for each id; the progress of an action by filter; or the preview.", Body: OneOf{BulkOut{}, BulkDone{}, BulkPreview{}}}}, Handle: (*API).alterJobs,
		},
		{
			Method: "GET", Path: "/api/jobs/{id}/notes", Name: "listNotes", Group: "Jobs", Doc: "Lists the notes and feedbacks of a job.",
			Roles: access.View, Params: []Param{pathID}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 200, Doc: "The notes, from the oldest to the newest.", Body: NoteList{}}}, Handle: (*API).listNotes,
		},
		{
			Method: "POST", Path: "/api/jobs/{id}/notes", Name: "addNote", Group: "Jobs", Doc: "Adds a note to a job.",
			Roles: access.Operate, Params: []Param{pathID}, In: NoteIn{}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 201, Doc: "The note.", Body: redrive.Note{}}}, Handle: (*API).addNote,
		},
		{
			Method: "POST", Path: "/api/jobs/{id}/feedback", Name: "addFeedback", Group: "Jobs", Doc: "Adds what a user says about a job. Operators see it.",
			Roles: access.Submit | access.Operate, Owner: Own, Params: []Param{pathID}, In: FeedbackIn{}, Problem: []*Kind{NotFound, OwnerMayNot},
			Out: []Answer{{Status: 201, Doc: "The feedback.", Body: redrive.Note{}}}, Handle: (*API).addFeedback,
		},
	}
}

var (
	ifMatch      = Param{Name: "If-Match", In: "header", Doc: "The Etag of an earlier answer: 412 if the object has changed since."}
	previewParam = Param{Name: "preview", In: "query", Doc: "Only count the jobs of a filter, and freeze the set.", Type: "boolean"}
)

// OneOf is the body of an answer that has one of several forms.
type OneOf []any

func stateNames() []string {
	var names []string
	for _, s := range job.States {
		names = append(names, s.String())
	}
	return names
}

// listParams returns the parameters that select jobs.
func listParams() []Param {
	q := func(name, doc string) Param { return Param{Name: name, In: "query", Doc: doc} }
	return []Param{
		{Name: "state", In: "query", Doc: "Jobs in these states.", Many: true, Enum: stateNames()},
		q("kind", "Jobs of this kind."), q("queue", "Jobs of this queue."), q("owner", "Jobs of this owner."),
		{Name: "batch", In: "query", Doc: "Jobs of this batch.", Type: "integer"},
		q("worker", "Jobs that this process runs or has run last."), q("correlation", "Jobs with this correlation id."),
		q("key", "The job that holds this idempotency key; needs \"kind\", and \"owner\" if it has one."),
		q("attr", "Jobs with this attribute: NAME=VALUE."), q("class", "Retrying and dead jobs whose last failure has this class."),
		q("group", "Retrying and dead jobs whose last failure has this fingerprint."),
		q("text", "Retrying and dead jobs whose last failure has this text in its message."),
		q("reason", "Dead jobs with this reason."),
		{Name: "since", In: "query", Doc: "Jobs that were enqueued at this time or later: a time (without zone: UTC), or a duration ago. In the order \"ended\": that ended; in the order \"due\": that are due.", Type: "string"},
		{Name: "until", In: "query", Doc: "Jobs that were enqueued before this time. In the order \"ended\": that ended; in the order \"due\": that are due.", Type: "string"},
	}
}

// pageParams returns the parameters of a list with cursors.
func pageParams() []Param {
	return []Param{
		{Name: "order", In: "query", Doc: "The order: the highest id first, the earliest due time first, or the latest end first.", Enum: []string{"newest", "due", "ended"}},
		{Name: "cursor", In: "query", Doc: "The field \"next\" of the previous page."},
		{Name: "limit", In: "query", Doc: "The largest number of entries, 1 to 500; default 50.", Type: "integer"},
	}
}
