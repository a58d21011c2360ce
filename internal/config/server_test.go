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
