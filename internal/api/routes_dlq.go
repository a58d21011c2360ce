package api

import (
	"net/http"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
)

var pathJobID = Param{Name: "job_id", In: "path", Required: true,
	Doc: "The outside id of the job, which is its correlation id, or its id. Digits that are an outside id are not an id."}

// deadAnswer is the answer that shows a dead letter.
var deadAnswer = Answer{Status: http.StatusOK, Doc: "The dead letter as it is now. Callers with an owner get the entry only, from outside.",
	Body: OneOf{DeadOut{}, wire.DeadEntry{}}}

// deadRoutes returns the routes of dead letters.
func deadRoutes() []Route {
	act := func(name, path, doc string, in any, problems []*Kind, handle func(*API, *Call) error) Route {
		return Route{
			Method: "POST", Path: "/api/admin/dlq/{job_id}/" + path, Name: name, Group: "Dead letters", Doc: doc, Roles: access.Operate,
			Params: []Param{pathJobID, ifMatch}, In: in, InOptional: true, Out: []Answer{deadAnswer}, Problem: append(problems, NotFound, StateMoved), Handle: handle,
		}
	}
	retry := act("retryDeadLetter", "retry", "Retries the job of a dead letter: it waits again, in its next life, as it was or changed.",
		ChangeJobIn{}, []*Kind{NotDead, PayloadInvalid, QueueDraining, OwnerMayNot}, (*API).retryDead)
	retry.Owner = Own
	ignore := act("ignoreDeadLetter", "ignore", "Marks a dead letter as ignored, for ever or until a time.", IgnoreIn{}, nil, (*API).ignoreDead)
	ignore.Params = append(ignore.Params, Param{Name: "reason", In: "query", Doc: "The reason, for the dead letter and the audit log."})
	return []Route{
		{
			Method: "GET", Path: "/api/admin/dlq", Name: "listDeadLetters", Group: "Dead letters",
			Doc:   "Lists dead letters, the newest death first, by the number of the page or by a cursor.",
			Roles: access.View, Owner: Own,
			Params: append(deadParams(),
				Param{Name: "page", In: "query", Doc: "The number of the page, from 1. Pages reach the first 10,000 dead letters; beyond, use the cursor.", Type: "integer"},
				Param{Name: "limit", In: "query", Doc: "The largest number of entries, 1 to 500; default 20.", Type: "integer"},
				Param{Name: "cursor", In: "query", Doc: "The field next of the previous page, instead of the parameter page."}),
			Out:     []Answer{{Status: 200, Doc: "A page of dead letters.", Body: DeadList{}}},
			Problem: []*Kind{InvalidCursor, TooFar, TooLarge},
			Handle:  (*API).listDead,
		},
		{
			Method: "GET", Path: "/api/admin/dlq/{job_id}", Name: "getDeadLetter", Group: "Dead letters",
			Doc:   "Shows everything that is stored about a dead letter: its failures, its cause, the past actions and the possible next ones.",
			Roles: access.View, Owner: Own,
			Params:  []Param{pathJobID, {Name: "If-None-Match", In: "header", Doc: "The Etag of an earlier answer: 304 if nothing has changed."}},
			Out:     []Answer{deadAnswer, {Status: 304, Doc: "The dead letter has not changed."}},
			Problem: []*Kind{NotFound}, Handle: (*API).showDead,
		},
		{
			Method: "GET", Path: "/api/admin/dlq/stats", Name: "deadLetterStats", Group: "Dead letters",
			Doc:    "Counts dead letters by status, reason, class and kind, and says how many retries succeed.",
			Roles:  access.View,
			Params: []Param{{Name: "window", In: "query", Doc: "The time that the figures about retries cover, 1h to 30d; default 24h."}},
			Out:    []Answer{{Status: 200, Doc: "The numbers.", Body: wire.DeadStats{}}}, Handle: (*API).deadStats,
		},
		{
			Method: "GET", Path: "/api/admin/dlq/export", Name: "exportDeadLetters", Group: "Dead letters", Stream: true,
			Doc: "Exports dead letters, without secrets. If an export fails, the server closes the connection; a complete export ends with the trailer " +
				headerComplete + ", and in JSON lines with a line that says complete.",
			Roles: access.View,
			Params: append(deadParams(),
				Param{Name: "format", In: "query", Doc: "The format; default json.", Enum: []string{"csv", "json", "ndjson"}},
				Param{Name: "raw", In: "query", Doc: "Payloads, attributes and notes as they are stored, with their secrets. Needs the role administer.", Type: "boolean"}),
			Out: []Answer{
				{Status: 200, Doc: "An array of dead letters.", Body: []wire.DeadEntry{}},
				{Status: 200, Doc: "A dead letter in each line, and a last line that says complete.", Media: MediaLines},
				{Status: 200, Doc: "A table with a header line.", Media: "text/csv"},
			},
			Handle: (*API).exportDead,
		},
		retry,
		act("resolveDeadLetter", "resolve", "Marks a dead letter as resolved.", ResolveIn{}, nil, (*API).resolveDead),
		ignore,
		act("reopenDeadLetter", "reopen", "Makes a resolved or ignored dead letter pending again.", ActIn{}, nil, (*API).reopenDead),
		{
			Method: "POST", Path: "/api/admin/dlq/bulk-retry", Name: "bulkRetryDeadLetters", Group: "Dead letters",
			Doc:   "Retries many dead letters: by their ids, or by a filter after a preview; as they were, or changed.",
			Roles: access.Operate, In: BulkRetryIn{}, OrIn: []string{},
			Out:     []Answer{{Status: 200, Doc: "The result for each id, or the progress of a retry by a filter.", Body: OneOf{BulkRetryOut{}, BulkRetryDone{}}}},
			Problem: []*Kind{RedriveState}, Handle: (*API).bulkRetryDead,
		},
		{
			Method: "POST", Path: "/api/admin/dlq/preview", Name: "previewDeadLetters", Group: "Dead letters",
			Doc:   "Counts the dead letters that an action would change, and freezes the set for the action.",
			Roles: access.Operate, In: DeadActIn{},
			Out: []Answer{{Status: 200, Doc: "What the action would change.", Body: DeadPreview{}}}, Handle: (*API).previewDead,
		},
		{
			Method: "POST", Path: "/api/admin/dlq/act", Name: "actOnDeadLetters", Group: "Dead letters",
			Doc:   "Carries out an action on all dead letters of a frozen set. A purge needs the role administer.",
			Roles: access.Operate, In: DeadActIn{},
			Out: []Answer{{Status: 200, Doc: "The progress of the action.", Body: DeadDone{}}}, Handle: (*API).actOnDead,
		},
		{
			Method: "DELETE", Path: "/api/admin/dlq/purge", Name: "purgeDeadLetters", Group: "Dead letters",
			Doc:   "Removes resolved and ignored dead letters, with everything about their jobs. Pending ones are never removed.",
			Roles: access.Administer, In: PurgeIn{}, InOptional: true,
			Params: []Param{
				{Name: "before_date", In: "query", Doc: "Removes only dead letters of jobs that died before this time (without zone: UTC). Required, here or in the body."},
				{Name: "status", In: "query", Doc: "Removes only dead letters with these statuses; default resolved and ignored.", Many: true, Enum: []string{"resolved", "ignored"}},
				{Name: "note", In: "query", Doc: "The reason, for the audit log."}, previewParam,
			},
			Out: []Answer{{Status: 200, Doc: "The progress of the purge, or the preview.", Body: OneOf{PurgeOut{}, DeadPreview{}}}}, Handle: (*API).purgeDead,
		},
	}
}
