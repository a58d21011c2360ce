package api

import (
	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

var (
	pathBatch  = Param{Name: "id", In: "path", Doc: "The number of the batch.", Required: true}
	pathMember = Param{Name: "key", In: "path", Doc: "The key of the member.", Required: true}
)

// batchStates are the words of the states of a batch.
func batchStates() (list []string) {
	for _, s := range job.BatchStates {
		list = append(list, s.String())
	}
	return list
}

// batchRoutes returns the routes of batches.
func batchRoutes() []Route {
	q := func(name, doc string) Param { return Param{Name: name, In: "query", Doc: doc} }
	limit := Param{Name: "limit", In: "query", Doc: "The largest number of entries, 1 to 500; default 50.", Type: "integer"}
	shown := []Answer{{Status: 200, Doc: "The batch as it is now.", Body: BatchOut{}}}
	return []Route{
		{
			Method: "POST", Path: "/api/batches", Name: "createBatch", Group: "Batches",
			Doc:   "Creates a batch in the state DRAFT, or finds the one with the same key.",
			Roles: access.Submit | access.Operate, Owner: Own,
			Params: []Param{{Name: headerKey, In: "header", Doc: "Makes the request safe to repeat: it is the key of the batch, if the body has none."}},
			In:     BatchIn{}, Problem: []*Kind{TooLarge, KeyReused},
			Out:    []Answer{{Status: 201, Doc: "The new batch.", Body: BatchOut{}}, {Status: 200, Doc: "The batch existed.", Body: BatchOut{}}},
			Handle: (*API).createBatch,
		},
		{
			Method: "GET", Path: "/api/batches", Name: "listBatches", Group: "Batches", Doc: "Lists batches, the newest first, with their counts.",
			Roles: access.View, Owner: Own,
			Params: []Param{
				{Name: "state", In: "query", Doc: "Batches in this state.", Enum: batchStates()}, q("owner", "Batches of this owner."),
				q("key", "Batches with this key."), q("name", "Batches whose name has this text."), q("cursor", "The field \"next\" of the previous page."), limit,
			},
			Out: []Answer{{Status: 200, Doc: "A page of batches.", Body: BatchList{}}}, Problem: []*Kind{InvalidCursor, TooLarge}, Handle: (*API).listBatches,
		},
		{
			Method: "GET", Path: "/api/batches/{id}", Name: "getBatch", Group: "Batches", Doc: "Shows a batch with its counts. It can wait for the end of the batch.",
			Roles: access.View | access.Submit, Owner: Own,
			Params: []Param{
				pathBatch, q("wait", "The longest time that the request waits for the batch to end, up to 30s."),
				{Name: "until", In: "query", Doc: "What the answer waits for.", Enum: []string{"ended"}},
				{Name: "after", In: "query", Doc: "With wait: the answer waits for an outcome with a number above this one.", Type: "integer"},
				{Name: "If-None-Match", In: "header", Doc: "The Etag of an earlier answer: 304 if the batch has not changed."},
			},
			Out:     []Answer{{Status: 200, Doc: "The batch.", Body: BatchOut{}}, {Status: 304, Doc: "The batch has not changed."}},
			Problem: []*Kind{NotFound, RateLimited}, Handle: (*API).getBatch,
		},
		{
			Method: "PATCH", Path: "/api/batches/{id}", Name: "changeBatch", Group: "Batches", Doc: "Changes when a batch expires after its end.",
			Roles: access.Operate, Params: []Param{pathBatch}, In: BatchChangeIn{}, Out: shown, Problem: []*Kind{NotFound, TooLarge, BatchExpired}, Handle: (*API).changeBatch,
		},
		{
			Method: "DELETE", Path: "/api/batches/{id}", Name: "discardBatch", Group: "Batches",
			Doc:   "Throws the drafts of a batch away: all of them, or the ones that are named. A batch in DRAFT goes with all its drafts.",
			Roles: access.Submit | access.Operate, Owner: Own,
			Params: []Param{pathBatch, {Name: "draft", In: "query", Doc: "Only the drafts with these ids.", Many: true}},
			Out:    []Answer{{Status: 200, Doc: "What was thrown away.", Body: DiscardOut{}}}, Problem: []*Kind{NotFound, TooLarge, BatchBusy, BatchExpired}, Handle: (*API).discardBatch,
		},
		{
			Method: "GET", Path: "/api/batches/{id}/explain", Name: "explainBatch", Group: "Batches", Doc: "Explains in words what a batch waits for, and what can be done next.",
			Roles: access.View, Params: []Param{pathBatch}, Out: []Answer{{Status: 200, Doc: "The explanation.", Body: wire.BatchExplanation{}}}, Problem: []*Kind{NotFound}, Handle: (*API).explainBatch,
		},
		{
			Method: "GET", Path: "/api/batches/{id}/outcomes", Name: "listOutcomes", Group: "Batches", Doc: "Lists the ends of a batch: each time its last member ended.",
			Roles: access.View | access.Submit, Owner: Own, Params: []Param{pathBatch, {Name: "after", In: "query", Doc: "Outcomes with a number above this one.", Type: "integer"}},
			Out: []Answer{{Status: 200, Doc: "The outcomes, the first one first; at most 500.", Body: OutcomeList{}}}, Problem: []*Kind{NotFound}, Handle: (*API).listOutcomes,
		},
		{
			Method: "GET", Path: "/api/batches/{id}/members", Name: "listMembers", Group: "Batches", Doc: "Lists the members of a batch: jobs and drafts, those with the lowest ids first.",
			Roles: access.View | access.Submit, Owner: Own,
			Params: []Param{
				pathBatch, {Name: "state", In: "query", Doc: "Members in this state.", Enum: append(stateNames(), "draft")},
				q("cursor", "The field \"next\" of the previous page."), limit,
			},
			Out:     []Answer{{Status: 200, Doc: "A page of members. Callers with an owner get the outside view of their jobs.", Body: OneOf{MemberList{}, OutsideMembers{}}}},
			Problem: []*Kind{NotFound, InvalidCursor}, Handle: (*API).listMembers,
		},
		{
			Method: "POST", Path: "/api/batches/{id}/members", Name: "addMembers", Group: "Batches",
			Doc:   "Adds a member, or an array of members, as drafts: all of them or none. A member whose key is known is not added again.",
			Roles: access.Submit | access.Operate, Owner: Own,
			Params: []Param{
				pathBatch, {Name: "keys", In: "query", Doc: "false: members may lack a key. Such a member is added again when the request is repeated. Default true.", Type: "boolean"},
				{Name: headerKey, In: "header", Doc: "The key of a single member, if it has none."},
			},
			In: JobIn{}, OrIn: []JobIn{}, Lines: true,
			Out: []Answer{
				{Status: 200, Doc: "JSON lines: the receipt or the mistake of each line, and a last line with counts.", Media: MediaLines, Body: OneOf{MemberLine{}, LinesDone{}}},
				{Status: 201, Doc: "The receipt of the member, or an array of receipts.", Body: OneOf{MemberReceipt{}, []MemberReceipt{}}},
				{Status: 200, Doc: "All members existed.", Body: OneOf{MemberReceipt{}, []MemberReceipt{}}},
			},
			Problem: []*Kind{NotFound, InvalidJSON, UnknownField, PayloadInvalid, TooLarge, UnsupportedMediaType, QueueDraining, KeyReused, BatchExpired, BatchBusy, OutcomeUnknown, StoreFull},
			Handle:  (*API).addMembers,
		},
		{
			Method: "GET", Path: "/api/batches/{id}/members/{key}", Name: "getMember", Group: "Batches", Doc: "Shows the member with a key.",
			Roles: access.View | access.Submit, Owner: Own, Params: []Param{pathBatch, pathMember},
			Out:     []Answer{{Status: 200, Doc: "The member. Callers with an owner get the outside view.", Body: OneOf{MemberOut{}, OutsideMember{}}}},
			Problem: []*Kind{NotFound}, Handle: (*API).getMember,
		},
		{
			Method: "POST", Path: "/api/batches/{id}/members/{key}/retry", Name: "retryMember", Group: "Batches",
			Doc:   "Retries one dead member. The batch is PROCESSING again in the same transaction. The second of two requests is refused.",
			Roles: access.Operate, Owner: Own, Params: []Param{pathBatch, pathMember}, In: ReasonIn{}, InOptional: true,
			Out:     []Answer{{Status: 200, Doc: "The member and its batch now.", Body: RetriedMember{}}},
			Problem: []*Kind{NotFound, NotFailed, OwnerMayNot, TooLarge, QueueDraining, BatchExpired}, Handle: (*API).retryMember,
		},
		{
			Method: "POST", Path: "/api/batches/{id}/publish", Name: "publishBatch", Group: "Batches",
			Doc:   "Makes jobs of the drafts and gives dead members a new life. Completed members are not touched. The work goes on after the answer, if it takes longer.",
			Roles: access.Submit | access.Operate, Owner: Own, Params: []Param{pathBatch}, In: ReasonIn{}, InOptional: true,
			Out:     []Answer{{Status: 200, Doc: "What is published, and the batch now. The batch has a task while there is more to publish.", Body: PublishedOut{}}},
			Problem: []*Kind{NotFound, OwnerMayNot, TooLarge, BatchEmpty, BatchExpired, BatchBusy}, Handle: (*API).publishBatch,
		},
		{
			Method: "POST", Path: "/api/batches/{id}/retry", Name: "retryBatch", Group: "Batches",
			Doc:   "Retries the dead members of a batch. A batch that has ended is PROCESSING again in the transaction of the first one.",
			Roles: access.Operate, Owner: Own, Params: []Param{pathBatch, {Name: "preview", In: "query", Doc: "Only count the dead members.", Type: "boolean"}}, In: ReasonIn{}, InOptional: true,
			Out:     []Answer{{Status: 200, Doc: "How many members were retried, or would be.", Body: RetriedBatch{}}},
			Problem: []*Kind{NotFound, OwnerMayNot, TooLarge, QueueDraining, BatchDraft, BatchExpired}, Handle: (*API).retryBatch,
		},
		{
			Method: "POST", Path: "/api/batches/{id}/cancel", Name: "cancelBatch", Group: "Batches", Doc: "Cancels the members that have not ended: those that wait at once; those that run are asked to stop.",
			Roles: access.Operate, Params: []Param{pathBatch}, In: ReasonIn{}, InOptional: true, Out: shown,
			Problem: []*Kind{NotFound, TooLarge, BatchDraft, BatchExpired, BatchBusy}, Handle: (*API).cancelBatch,
		},
	}
}

// OutcomeList are the ends of a batch.
type OutcomeList struct {
	Items []redrive.BatchOutcome `json:"items"`
}
