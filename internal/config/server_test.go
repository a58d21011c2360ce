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
		{"listen: 8080", "server.listen must be an address such as 127.0.0.1:8080, or unix:PATH"},
		{"listen: '8080'", `server.listen "8080": must be an address and a port from 0 to 65535, such as 127.0.0.1:8080, or unix:PATH`},
		{"listen: 'localhost:99999'", "must be an address and a port from 0 to 65535"},
		{"listen: 'localhost:http'", "must be an address and a port from 0 to 65535"},
		{"listen: 'unix:'", "unix: needs a path, such as unix:/run/redrive/redrive.sock"},
		{"listen: 'unix:/" + strings.Repeat("a", 103) + "'", "the path of a Unix socket has 104 bytes; at most 103 are allowed"},
		{"listen: unix:/a, socket_mode: '0066'", `server.socket_mode must be permissions in octal form from "0600" to "0777"`},
		{"listen: unix:/a, socket_mode: rw-rw----", `; write "0660"`},
		{"listen: unix:/a, socket_mode: 0o1777", `; write "0660"`},
		{"listen: unix:/a, tls: {cert: a, key: b}", "server.tls is for a network address, but server.listen is a Unix socket; remove one of them"},
		{"tls: server.crt", "server.tls must be a mapping such as {cert: server.crt, key: server.key}"},
		{"tls: {cert: server.crt}", "server.tls has no key; add the file with the private key of the certificate"},
		{"tls: {key: server.key}", "server.tls has no cert; add the file with the certificate"},
		{"tls: {cert: '', key: a}", "server.tls.cert is empty"},
		{"tls: {cert: a, key: c, keys: b}", `did you mean "key"?`},
		{"auth: proxy, proxy: {roles: {a: view}}", "server.proxy.trusted names no proxy: add the addresses of the proxy"},
		{"auth: proxy, proxy: {trusted: [10.0.0.0/8]}", "server.proxy.roles gives nobody a role: add the roles of groups"},
		{"hosts: jobs.example.org", "server.hosts must be a list of names"},
		{"hosts: ['https://jobs.example.org']", "server.hosts[0] must be the name or the address of a host, without scheme and port"},
		{"hosts: ['jobs.example.org:80']", "server.hosts[0] must be the name"},
		{"hosts: ['']", "server.hosts[0] must be the name"},
		{"hosts: [a, b, a]", "server.hosts[2] repeats"},
		{"hosts: [" + strings.Repeat("a, ", 101) + "]", "server.hosts has 101 entries; at most 100 are allowed"},
		{"environment: ''", "server.environment must have 1 to 24 visible characters"},
		{"environment: " + strings.Repeat("x", 25), "server.environment must have 1 to 24 visible characters"},
		{"environment: [a]", "server.environment must be a word such as production"},
		{"links: {logs: ''}", "server.links.logs is empty"},
		{"links: {logs: 'https://logs.example/{job}'}", `server.links.logs unknown value "job"`},
		{"links: {logs: 'logs.example/{id}'}", "server.links.logs must be a URL that begins with https:// or http://"},
		{"links: https://logs.example", "server.links must be a mapping such as"},
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
			continue
		}
		if p := problems[0]; p.Line != 1 || p.Col < len("server: {") || p.File == "" {
			t.Errorf("%.80s: the problem is at %s:%d:%d, want its place in the server's part", tt.text, p.File, p.Line, p.Col)
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
