package page

import (
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server/access"
)

// Routes returns the table of pages.
func (p *Pages) Routes() []api.Route {
	get := func(path, name string, handle func(*api.API, *api.Call) error, params ...api.Param) api.Route {
		return api.Route{Method: "GET", Path: path, Name: name, Group: "Pages", Page: true, Roles: access.View, Params: params, Handle: p.shared(handle)}
	}
	post := func(path, name string, handle func(*api.API, *api.Call) error, params ...api.Param) api.Route {
		return api.Route{Method: "POST", Path: path, Name: name, Group: "Pages", Page: true, Roles: access.Operate, Params: params, Handle: handle}
	}
	in := func(where, name string) api.Param {
		return api.Param{Name: name, In: where, Required: where == "path"}
	}
	id, fp, n, name := in("path", "id"), in("path", "fp"), in("path", "n"), in("path", "name")
	routes := []api.Route{
		get("/ui/{$}", "pageOverview", p.overview),
		get("/ui/groups", "pageGroups", p.groups, in("query", "state"), in("query", "kind"), in("query", "class"), in("query", "assignee"), in("query", "skip"), in("query", "order")),
		get("/ui/groups/{fp}", "pageGroup", p.group, fp),
		get("/ui/jobs", "pageJobs", p.jobs, api.JobParams()...),
		get("/ui/jobs/{id}", "pageJob", p.job, id),
		get("/ui/dead", "pageDead", p.dead, api.DeadParams()...),
		get("/ui/redrives", "pageRedrives", p.redrives),
		get("/ui/redrives/new", "pageNewRedrive", p.newRedrive, api.DeadParams()...),
		get("/ui/redrives/{n}", "pageRedrive", p.redrive, n),
		get("/ui/jobs/act", "pageAskJobs", p.liveSet, append(api.JobParams(), in("query", "do"))...),
		get("/ui/dead/act", "pageAskDead", p.deadSet, append(api.DeadParams(), in("query", "do"))...),
		get("/ui/batches", "pageBatches", p.batches, in("query", "state"), in("query", "owner"), in("query", "key"), in("query", "name"), in("query", "cursor"), in("query", "limit")),
		get("/ui/batches/{id}", "pageBatch", p.batch, id),
		get("/ui/batches/{id}/ask", "pageAskRetry", p.askRetry, id),
		get("/ui/queues", "pageQueues", p.queues, in("query", "skip")),
		get("/ui/queues/{name}", "pageQueue", p.queue, name),
		get("/ui/workers", "pageWorkers", p.workers),
		get("/ui/audit", "pageAudit", p.audit, in("query", "actor"), in("query", "action"), in("query", "target"), in("query", "before")),
		get("/ui/find", "pageFind", p.find, in("query", "q")),
		get("/ui/schedules", "pageSchedules", p.schedules),
		get("/ui/charts", "pageCharts", p.charts, in("query", "window"), in("query", "by"), in("query", "kind"), in("query", "queue")),
		get("/ui/policy", "pagePolicy", p.policy, in("query", "kind"), in("query", "error"), in("query", "show")),
		get("/ui/events", "pageEvents", p.events, in("query", "type"), in("query", "to"), in("query", "since"), in("query", "kind"), in("query", "queue"), in("query", "owner"), in("query", "job"), in("query", "before")),
		get("/ui/webhooks", "pageWebhooks", p.webhooks),
		get("/ui/new", "pageNewJob", p.askNewJob, in("query", "kind"), in("query", "from")),

		post("/ui/jobs/{id}/{act}", "pageActOnJob", p.actOnJob, id, in("path", "act")),
		post("/ui/jobs/act", "pageActOnJobs", p.actOnJobs),
		post("/ui/dead/act", "pageActOnDead", p.actOnDead),
		post("/ui/groups/{fp}/{act}", "pageActOnGroup", p.actOnGroup, fp, in("path", "act")),
		post("/ui/batches/{id}/{act}", "pageActOnBatch", p.actOnBatch, id, in("path", "act")),
		post("/ui/redrives", "pageStartRedrive", p.startRedrive),
		post("/ui/queues/{name}/{act}", "pageActOnQueue", p.actOnQueue, name, in("path", "act")),
		post("/ui/workers/{name}/{act}", "pageActOnWorker", p.actOnWorker, name, in("path", "act")),
	}
	ask := post("/ui/policy", "pageAskPolicy", p.askPolicy)
	ask.Roles = access.View
	add := post("/ui/new", "pageAddJob", p.addJob)
	add.Roles = access.Submit | access.Operate
	webhook := post("/ui/webhooks/{name}/{act}", "pageActOnWebhook", p.actOnWebhook, name, in("path", "act"))
	webhook.Roles = access.Administer
	routes = append(routes, ask, add, webhook, post("/ui/schedules/{name}/{act}", "pageActOnSchedule", p.actOnSchedule, name, in("path", "act")))
	live := get("/ui/live", "pageLive", nil, in("query", "topic"), in("query", "after"))
	live.Params[0].Many, live.Stream, live.Handle = true, true, p.stream
	routes = append(routes, live)
	for _, do := range []redrive.RedriveOp{redrive.RedrivePause, redrive.RedriveResume, redrive.RedriveProceed, redrive.RedriveCancel} {
		routes = append(routes, post("/ui/redrives/{n}/"+string(do), "page"+string(do)+"Redrive", p.controlRedrive(do), n))
	}
	// These pages need no role: the files of the pages, and the page that asks for a key.
	open := []api.Route{
		get("/ui/assets/{name}", "pageAsset", p.asset, name),
		get("/ui/login", "pageLogin", p.askLogin, in("query", "next")),
		post("/ui/login", "pageLogIn", p.logIn),
		post("/ui/logout", "pageLogOut", p.logOut),
	}
	for i := range open {
		open[i].Roles = 0
	}
	return slices.Concat(routes, open)
}
