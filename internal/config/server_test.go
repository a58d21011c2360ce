package config_test

import (
	"strings"
	"testing"
)

// part of: X2
func TestX2_MistakesOfTheServerPartHaveTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"auth: key", `server.auth must be one of auto, none, keys, proxy, found "key", did you mean "keys"?`},
		{"atuh: keys", `unknown key "atuh", did you mean "auth"?`},
		{"hosts: jobs.example.org", "server.hosts must be a list of names"},
		{"hosts: ['https://jobs.example.org']", "server.hosts[0] must be the name or the address of a host, without scheme and port"},
		{"hosts: ['jobs.example.org:80']", "server.hosts[0] must be the name"},
		{"hosts: ['']", "server.hosts[0] must be the name"},
		{"hosts: [a, b, a]", "server.hosts[2] repeats"},
		{"hosts: [" + strings.Repeat("a, ", 101) + "]", "server.hosts has 101 entries; at most 100 are allowed"},
		{"proxy: {trusted: [10.1.2.3/8]}", "; write 10.0.0.0/8"},
		{"proxy: {trusted: ['::ffff:10.0.0.0/104']}", "; write it as IPv4"},
		{"proxy: {trusted: [lan]}", "server.proxy.trusted[0] must be a network such as 10.0.0.0/8"},
		{"proxy: {trusted: ['fe80::1%eth0']}", "server.proxy.trusted[0] must be a network"},
		{"proxy: {user: 'X User'}", "server.proxy.user must be the name of a header"},
		{"proxy: {roles: {sre: admin}}", `server.proxy.roles."sre" must be one of submit, work, view, operate, administer, found "admin"`},
		{"proxy: {roles: {'a,b': view}}", `has the group "a,b"`},
		{"proxy: {roles: view}", "server.proxy.roles must be a mapping"},
		{"proxy: {role: {}}", `did you mean "roles"?`},
	} {
		problems := problemsOf(t, "server: {"+tt.text+"}")
		if len(problems) == 0 || !strings.Contains(problems[0].Message, tt.want) {
			t.Errorf("%.80s: got the problems %v, want %q", tt.text, problems, tt.want)
		}
	}
}

// part of: X1
func TestX1_MistakesOfDoorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	const kinds = "kinds: {render: {command: [x]}, note: {command: [x], payload: text}}\n"
	for _, tt := range []struct{ text, want string }{
		{"{render: {kind: render}}", "server.doors.render has no path; add one such as path: /jobs"},
		{"{render: {path: /jobs}}", `server.doors.render has no kind; name one of "kinds"`},
		{"{render: {path: jobs, kind: render}}", `server.doors.render: the path "jobs" must be words`},
		{"{render: {path: /api/jobs, kind: render}}", "begins with /api, which belongs to the server itself"},
		{"{render: {path: /jobs, kind: rendr}}", `server.doors.render.kind: unknown kind "rendr", did you mean "render"?`},
		{"{render: {path: /jobs, kind: note}}", `the kind note has "payload: text"; a door takes JSON`},
		{"{render: {path: /jobs, kind: render, words: rendr}}", `found "rendr", did you mean "render"?`},
		{"{a: {path: /jobs, kind: render}, b: {path: /JOBS, kind: render}}", `server.doors.b.path is the path of the door "a", too`},
		{"{render: {pfad: /jobs}}", `unknown key "pfad"`},
		{"[a]", "server.doors must be a mapping"},
	} {
		problems := problemsOf(t, kinds+"server: {doors: "+tt.text+"}")
		if len(problems) == 0 || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("%.80s: got the problems %v, want %q", tt.text, problems, tt.want)
		}
	}
}
