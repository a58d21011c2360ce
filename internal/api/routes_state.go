package api

import (
	"encoding/json"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

func pathName(of string) []Param {
	return []Param{{Name: "name", In: "path", Doc: "The name of the " + of + ".", Required: true}}
}

// stateRoutes returns the routes of queues, processes, schedules and kinds.
func stateRoutes() []Route {
	queue := func(do, name, doc string, handle func(*API, *Call) error) Route {
		return Route{
			Method: "POST", Path: "/api/queues/{name}/" + do, Name: name, Group: "Queues", Doc: doc, Roles: access.Operate,
			Params: pathName("queue"), In: ReasonIn{}, InOptional: true, Out: []Answer{{Status: 200, Doc: "The queue.", Body: QueueOut{}}}, Problem: []*Kind{NotFound}, Handle: handle,
		}
	}
	process := func(do, name, doc string, quiet bool) Route {
		return Route{
			Method: "POST", Path: "/api/processes/{name}/" + do, Name: name, Group: "Processes", Doc: doc, Roles: access.Operate,
			Params: pathName("process"), In: ReasonIn{}, InOptional: true, Out: []Answer{{Status: 200, Doc: "The process.", Body: wire.Worker{}}}, Problem: []*Kind{NotFound}, Handle: orderProcess(quiet),
		}
	}
	schedule := func(do, name, doc string, paused bool) Route {
		return Route{
			Method: "POST", Path: "/api/schedules/{name}/" + do, Name: name, Group: "Schedules", Doc: doc, Roles: access.Operate,
			Params: pathName("schedule"), In: ReasonIn{}, InOptional: true, Out: []Answer{{Status: 200, Doc: "The schedule.", Body: redrive.CronStatus{}}}, Problem: []*Kind{NotFound}, Handle: pauseSchedule(paused),
		}
	}
	return []Route{
		{
			Method: "GET", Path: "/api/queues", Name: "listQueues", Group: "Queues", Doc: "Lists the queues with their settings, numbers of jobs, oldest due jobs and processes. The answer is up to a second old.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The queues, by name.", Body: QueueList{}}}, Handle: (*API).listQueues,
		},
		{
			Method: "PATCH", Path: "/api/queues/{name}", Name: "changeQueue", Group: "Queues", Doc: "Changes the settings of a queue for all processes. They override the configuration until they are removed.",
			Roles: access.Operate, Params: pathName("queue"), In: QueueChangeIn{}, Out: []Answer{{Status: 200, Doc: "The queue.", Body: QueueOut{}}},
			Problem: []*Kind{NotFound}, Handle: (*API).changeQueue,
		},
		queue("pause", "pauseQueue", "Pauses a queue: it takes jobs, and none of them starts.", queueMode(redrive.QueuePaused)),
		queue("resume", "resumeQueue", "Opens a queue that is paused or draining.", queueMode(redrive.QueueOpen)),
		queue("drain", "drainQueue", "Drains a queue: its jobs run, and it takes no new ones.", queueMode(redrive.QueueDraining)),
		{
			Method: "GET", Path: "/api/processes", Name: "listProcesses", Group: "Processes", Doc: "Lists the processes that work on the store.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The processes, by name.", Body: ProcessList{}}}, Handle: (*API).listProcesses,
		},
		process("quiet", "quietProcess", "Orders a process to claim no new jobs.", true),
		process("resume", "resumeProcess", "Withdraws the order to be quiet.", false),
		{
			Method: "GET", Path: "/api/schedules", Name: "listSchedules", Group: "Schedules", Doc: "Lists the schedules with their last and next slots.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The schedules, by name.", Body: ScheduleList{}}}, Handle: (*API).listSchedules,
		},
		{
			Method: "GET", Path: "/api/schedules/next", Name: "nextOfExpression", Group: "Schedules", Doc: "Lists the next times of a cron expression, which need not belong to a schedule.",
			Roles: access.View, Params: append(nextParams(),
				Param{Name: "expression", In: "query", Doc: "Five fields, such as 0 3 * * 1-5, or @hourly, @daily, @weekly, @monthly, @yearly, or @every 90s.", Required: true, Max: cron.TextMax},
				Param{Name: "timezone", In: "query", Doc: "The time zone of the expression, such as Europe/Berlin; default UTC.", Max: job.TextMax}),
			Out: []Answer{{Status: 200, Doc: "The times, the first one first.", Body: ScheduleTimes{}}}, Handle: (*API).nextOfExpression,
		},
		{
			Method: "GET", Path: "/api/schedules/{name}/next", Name: "nextOfSchedule", Group: "Schedules", Doc: "Lists the next times of a schedule that this server has. A paused one has the times that it would have without its pause.",
			Roles: access.View, Params: append(pathName("schedule"), nextParams()...),
			Out:     []Answer{{Status: 200, Doc: "The times, the first one first.", Body: ScheduleTimes{}}},
			Problem: []*Kind{NotFound}, Handle: (*API).nextOfSchedule,
		},
		{
			Method: "POST", Path: "/api/schedules/{name}/run", Name: "runSchedule", Group: "Schedules", Doc: "Enqueues the job of a schedule at once, also while it is paused. The times of the schedule stay as they are.",
			Roles: access.Operate, Params: append(pathName("schedule"), Param{Name: headerKey, In: "header", Doc: "Makes the request safe to repeat for 24 hours: a repeat returns the job that the first one has made."}), In: ReasonIn{}, InOptional: true,
			Out:     []Answer{{Status: 201, Doc: "The job was enqueued.", Body: Receipt{}}, {Status: 200, Doc: "An earlier request with the key has enqueued it.", Body: Receipt{}}},
			Problem: []*Kind{NotFound, KeyReused, QueueDraining}, Handle: (*API).runSchedule,
		},
		schedule("pause", "pauseSchedule", "Pauses a schedule for all processes. Slots that pass meanwhile are not fired later.", true),
		schedule("resume", "resumeSchedule", "Resumes a schedule with its next slot.", false),
		{
			Method: "GET", Path: "/api/kinds", Name: "listKinds", Group: "Kinds", Doc: "Lists the kinds of the configuration and of the stored jobs.",
			Roles: access.Submit | access.Work | access.View, Out: []Answer{{Status: 200, Doc: "The kinds, by name.", Body: KindList{}}}, Handle: (*API).listKinds,
		},
		{
			Method: "GET", Path: "/api/kinds/{kind}/schema", Name: "showSchema", Group: "Kinds", Doc: "Shows the JSON Schema that the payloads of a kind must fit, as it is in its file.",
			Roles: access.Submit | access.Work | access.View, Params: []Param{{Name: "kind", In: "path", Doc: "The name of the kind.", Required: true}, {Name: "If-None-Match", In: "header", Doc: "The Etag of an earlier answer: 304 if nothing has changed."}},
			Out:     []Answer{{Status: 200, Doc: "The schema.", Body: json.RawMessage{}, Media: mediaSchema}, {Status: 304, Doc: "The client has this version (If-None-Match)."}},
			Problem: []*Kind{NotFound}, Handle: (*API).showSchema,
		},
	}
}

// figureRoutes returns the routes of figures, the audit log and policies.
func figureRoutes() []Route {
	q := func(name, doc string) Param { return Param{Name: name, In: "query", Doc: doc} }
	audit := []Param{
		q("actor", "Actions of this person or key."), {Name: "action", In: "query", Doc: "Actions with these names, such as job.retry; a name with a dot at its end selects all actions that begin with it.", Many: true},
		q("target", "Actions on this object, such as the id of a job."), q("since", "Actions at this time or later."), q("until", "Actions before this time."),
		{Name: "cursor", In: "query", Doc: "The field next of the previous page."},
		{Name: "limit", In: "query", Doc: "The largest number of entries, 1 to 500; default 50.", Type: "integer"},
	}
	return []Route{
		{
			Method: "GET", Path: "/api/overview", Name: "overview", Group: "Figures", Doc: "Shows the numbers of jobs, dead letters, redrives and processes. The answer is up to a second old.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The overview.", Body: Overview{}}}, Handle: (*API).overview,
		},
		{
			Method: "GET", Path: "/api/figures", Name: "figures", Group: "Figures", Doc: "Shows how many retries succeed and what they cost, with formulas and goals.",
			Roles: access.View, Params: []Param{q("window", "The time up to now, such as 24h; default 24h.")},
			Out: []Answer{{Status: 200, Doc: "The figures.", Body: FiguresOut{}}}, Handle: (*API).figures,
		},
		{
			Method: "GET", Path: "/api/series", Name: "series", Group: "Figures", Doc: "Shows figures over time: jobs that were enqueued, completed, failed, died and so on. A step without figures has no point.",
			Roles: access.View,
			Params: []Param{
				q("since", "The beginning: a time (without zone: UTC), or a duration ago; default 1h."), q("until", "The end; default now."),
				q("step", "The length of a step, such as 5m; by default about 60 steps."), q("queue", "Only this queue."), q("kind", "Only this kind."),
				{Name: "by", In: "query", Doc: "What divides the points.", Enum: []string{"queue", "kind", "class"}},
			},
			Out: []Answer{{Status: 200, Doc: "The figures.", Body: wire.Series{}}}, Handle: (*API).series,
		},
		{
			Method: "GET", Path: "/api/due", Name: "due", Group: "Figures", Doc: "Counts the retries that fall due in each of the next minutes.",
			Roles: access.View, Params: []Param{{Name: "minutes", In: "query", Doc: "The number of minutes; default 60.", Type: "integer", Min: 1, Max: redrive.DueMinutesMax}},
			Out: []Answer{{Status: 200, Doc: "The counts.", Body: redrive.DueRetries{}}}, Handle: (*API).due,
		},
		exportRoute("/api/audit/export", "exportAudit", "Audit", "the audit log, the newest action first", audit, (*API).exportAudit),
		{
			Method: "GET", Path: "/api/audit", Name: "audit", Group: "Audit", Doc: "Lists the actions of people, redrives and retention, the newest first.",
			Roles:  access.View,
			Params: audit,
			Out:    []Answer{{Status: 200, Doc: "A page of the audit log.", Body: AuditList{}}}, Problem: []*Kind{InvalidCursor}, Handle: (*API).audit,
		},
		{
			Method: "GET", Path: "/api/policy", Name: "currentPolicy", Group: "Policy", Doc: "Shows the policy of this server, with its source.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The policy.", Body: PolicyOut{}}}, Handle: (*API).currentPolicy,
		},
		{
			Method: "GET", Path: "/api/policies", Name: "listPolicies", Group: "Policy", Doc: "Lists the stored policies, the newest first.",
			Roles: access.View, Out: []Answer{{Status: 200, Doc: "The policies.", Body: PolicyList{}}}, Handle: (*API).listPolicies,
		},
		{
			Method: "GET", Path: "/api/policies/{hash}", Name: "getPolicy", Group: "Policy", Doc: "Shows a stored policy. Each decision names the hash of its policy.",
			Roles: access.View, Params: []Param{{Name: "hash", In: "path", Doc: "The hash of the policy.", Required: true}},
			Out: []Answer{{Status: 200, Doc: "The policy.", Body: PolicyOut{}}}, Problem: []*Kind{NotFound}, Handle: (*API).storedPolicy,
		},
		{
			Method: "POST", Path: "/api/policy/check", Name: "checkPolicy", Group: "Policy", Doc: "Checks a policy file, and names each mistake with line and column. Nothing is stored.",
			Roles: access.View, In: json.RawMessage{}, InMedia: mediaYAML, Out: []Answer{{Status: 200, Doc: "The mistakes, or the hash of the policy.", Body: wire.PolicyCheck{}}}, Handle: (*API).checkPolicy,
		},
		{
			Method: "POST", Path: "/api/policy/explain", Name: "explainPolicy", Group: "Policy", Doc: "Says what the policy of this server would decide about a failure. Nothing is stored.",
			Roles: access.View, In: QuestionIn{}, Out: []Answer{{Status: 200, Doc: "The decision, in fields and in words.", Body: wire.Ruling{}}}, Handle: (*API).explainPolicy,
		},
	}
}
