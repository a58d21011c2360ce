package api

import (
	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server/access"
)

var (
	pathGroup   = Param{Name: "fp", In: "path", Doc: "The fingerprint of the group, such as 2:957bd32c0b2a967f.", Required: true}
	pathRedrive = Param{Name: "n", In: "path", Doc: "The number of the redrive.", Required: true}
)

// groupRoutes returns the routes of groups and of redrives.
func groupRoutes() []Route {
	q := func(name, doc string) Param { return Param{Name: name, In: "query", Doc: doc} }
	act := func(name, path, doc string, in any, optional bool, handle func(*API, *Call) error) Route {
		return Route{
			Method: "POST", Path: "/api/groups/{fp}/" + path, Name: name, Group: "Groups", Doc: doc, Roles: access.Operate,
			Params: []Param{pathGroup, ifMatch}, In: in, InOptional: optional, Problem: []*Kind{NotFound, StateMoved},
			Out: []Answer{{Status: 200, Doc: "The group as it is now.", Body: GroupDone{}}}, Handle: handle,
		}
	}
	control := func(do redrive.RedriveOp, doc string) Route {
		return Route{
			Method: "POST", Path: "/api/redrives/{n}/" + string(do), Name: string(do) + "Redrive", Group: "Redrives", Doc: doc, Roles: access.Operate,
			Params: []Param{pathRedrive, ifMatch}, In: RedriveActIn{}, InOptional: true, Problem: []*Kind{NotFound, StateMoved, RedriveState},
			Out: []Answer{{Status: 200, Doc: "The redrive as it is now.", Body: RedriveOut{}}}, Handle: controlRedrive(do),
		}
	}
	list := []Param{
		q("kind", "Groups of this kind."), q("class", "Groups of this class of failure."),
		{Name: "state", In: "query", Doc: "Groups in this state.", Enum: groupStates[:]},
		q("assignee", "Groups that this person works on."), q("set", "Groups of this set."),
		{Name: "pending", In: "query", Doc: "Only groups with pending dead letters.", Type: "boolean"},
		{Name: "order", In: "query", Doc: "The order: the last death first, or the most pending dead letters first.", Enum: []string{"newest", "largest"}},
		q("cursor", "The field next of the previous page."),
		{Name: "limit", In: "query", Doc: "The largest number of entries, 1 to 500; default 50.", Type: "integer"},
	}
	return []Route{
		exportRoute("/api/groups/export", "exportGroups", "Groups", "groups: the dead letters by root cause", list, (*API).exportGroups),
		{
			Method: "GET", Path: "/api/groups", Name: "listGroups", Group: "Groups", Doc: "Lists groups: the dead letters by root cause.",
			Roles:  access.View,
			Params: list,
			Out:    []Answer{{Status: 200, Doc: "A page of groups.", Body: GroupList{}}}, Problem: []*Kind{InvalidCursor, TooLarge}, Handle: (*API).listGroups,
		},
		{
			Method: "GET", Path: "/api/groups/{fp}", Name: "getGroup", Group: "Groups", Doc: "Shows a group with its notes and redrives.",
			Roles: access.View, Params: []Param{pathGroup}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 200, Doc: "The group.", Body: GroupOut{}}}, Handle: (*API).showGroup,
		},
		act("assignGroup", "assign", "Says who works on the cause of a group.", AssignIn{}, false, (*API).assignGroup),
		act("resolveGroup", "resolve", "Marks the cause of a group as gone. A later death makes the group regressed. Its dead letters stay as they are.",
			GroupActIn{}, true, (*API).resolveGroup),
		act("ignoreGroup", "ignore", "Ignores the pending dead letters of a group, and with until or count also those to come.",
			GroupIgnoreIn{}, true, (*API).ignoreGroup),
		act("reopenGroup", "reopen", "Marks the cause of a group as not gone. If the group is ignored, its ignored dead letters become pending again.",
			GroupActIn{}, true, (*API).reopenGroup),
		{
			Method: "POST", Path: "/api/groups/{fp}/notes", Name: "addGroupNote", Group: "Groups", Doc: "Adds a note to a group.",
			Roles: access.Operate, Params: []Param{pathGroup}, In: NoteIn{}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 201, Doc: "The note.", Body: redrive.Note{}}}, Handle: (*API).addGroupNote,
		},
		{
			Method: "POST", Path: "/api/groups/{fp}/reclassify", Name: "reclassifyGroup", Group: "Groups",
			Doc:   "Says which class the failures of a group have: later failures with the same words get it. Dead letters that are there stay as they are.",
			Roles: access.Operate, Params: []Param{pathGroup, ifMatch}, In: ReclassifyIn{}, Problem: []*Kind{NotFound, StateMoved},
			Out: []Answer{{Status: 201, Doc: "The note that keeps it.", Body: redrive.Note{}}}, Handle: (*API).reclassifyGroup,
		},
		{
			Method: "GET", Path: "/api/redrives", Name: "listRedrives", Group: "Redrives", Doc: "Lists redrives, the newest first.", Roles: access.View,
			Out: []Answer{{Status: 200, Doc: "The redrives, at most 200.", Body: RedriveOuts{}}}, Handle: (*API).listRedrives,
		},
		{
			Method: "POST", Path: "/api/redrives", Name: "startRedrive", Group: "Redrives",
			Doc:   "Retries all dead letters of a filter: a few first, then more and more, until too many fail again.",
			Roles: access.Operate, Params: []Param{{Name: headerKey, In: "header", Doc: "Makes the request safe to repeat: a repeat returns the redrive that the first one has started."}},
			In: RedriveIn{}, Problem: []*Kind{NotFound, KeyReused},
			Out: []Answer{
				{Status: 201, Doc: "The redrive.", Body: RedriveOut{}},
				{Status: 200, Doc: "An earlier request with the same Idempotency-Key has started it.", Body: RedriveOut{}},
			},
			Handle: (*API).startRedrive,
		},
		{
			Method: "GET", Path: "/api/redrives/{n}", Name: "getRedrive", Group: "Redrives", Doc: "Shows a redrive and its progress.", Roles: access.View,
			Params: []Param{pathRedrive, {Name: "If-None-Match", In: "header", Doc: "The Etag of an earlier answer: 304 if nothing has changed."}}, Problem: []*Kind{NotFound},
			Out: []Answer{{Status: 200, Doc: "The redrive.", Body: RedriveOut{}}, {Status: 304, Doc: "The redrive has not changed."}}, Handle: (*API).showRedrive,
		},
		control(redrive.RedrivePause, "Pauses a redrive: it retries no more jobs until it is resumed."),
		control(redrive.RedriveResume, "Continues a redrive that is paused or has stopped by itself."),
		control(redrive.RedriveProceed, "Ends the canary of a redrive: more jobs are retried without waiting for its results."),
		control(redrive.RedriveCancel, "Cancels a redrive: it retries no more jobs. Retried jobs go on."),
	}
}
