package redact

import (
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// cleanURL returns a URL without the secrets and addresses in it; the same string
// when there are no such parts.
func cleanURL(u string, o *Options) string {
	w := urlWriter{options: o, src: u}
	rest := w.scheme()
	if w.done {
		return w.finish(len(u))
	}
	if rest > 0 {
		rest = w.authority(rest)
	}
	query := len(u)
	if n := strings.IndexAny(u[rest:], "?#;"); n >= 0 {
		query = rest + n
	}
	w.path(rest, query)
	w.parameters(query)
	return w.finish(len(u))
}

// scheme returns where the authority begins; 0 when there is no scheme. What is
// behind file:// is a path.
func (w *urlWriter) scheme() int {
	u := w.src
	start := 0
	if n := strings.Index(u, "://"); n >= 0 {
		w.lower, start = strings.ToLower(u[:n]), n+3
	} else if n := strings.Index(u, `:\/\/`); n >= 0 {
		w.lower, start = strings.ToLower(u[:n]), n+5
	} else if n := strings.IndexByte(u, '@'); n >= 0 && strings.HasPrefix(strings.ToLower(u), "jdbc:") {
		// jdbc:oracle:thin:user/password@//host
		if slash := strings.IndexByte(u[:n], '/'); slash >= 0 {
			w.replace(slash+1, n, Secret)
		}
		return n + 1
	}
	if w.lower == "file" {
		if !w.options.KeepPaths {
			w.replace(start, len(u), Path)
		}
		w.done = true
	}
	return start
}

// web reports whether the scheme is one whose passwords are escaped, and whose
// paths may have an @.
func (w *urlWriter) web() bool {
	switch w.lower {
	case "http", "https", "ws", "wss", "":
		return true
	}
	return false
}

// authority reads user, password and hosts, and returns their end.
func (w *urlWriter) authority(start int) int {
	u := w.src
	end := start + authorityLength(u[start:])
	if strings.HasPrefix(w.lower, "jdbc:") {
		if n := strings.IndexByte(u[start:end], ';'); n >= 0 {
			end = start + n
		}
	}
	at := strings.LastIndexByte(u[start:end], '@')
	colon := passwordColon(u[start:end])
	if last := strings.LastIndexByte(u[start:], '@'); last > at && w.passwordGoesOn(u[start:start+last], at, colon) {
		at = last
		end = start + at + 1 + authorityLength(u[start+at+1:])
	}
	if at >= 0 {
		w.user(start, start+at)
		w.hosts(start+at+1, end)
		return end
	}
	if colon >= 0 && !harmlessPort(u[start+colon+1:end]) {
		// A password that was cut off, with the host behind it.
		if !w.web() {
			end = len(u)
		}
		w.replace(start+colon+1, end, Secret)
		return end
	}
	w.hosts(start, end)
	return end
}

// passwordGoesOn reports whether the '@' at the end of what is before is that of
// a password which has slashes, question marks or an @ of its own: there is a
// ':' that no port follows, and the scheme is not one whose paths have an @.
func (w *urlWriter) passwordGoesOn(before string, at, colon int) bool {
	if colon >= 0 {
		return at < 0 || !w.web() && colon < at
	}
	if at >= 0 || w.web() {
		return false
	}
	first := strings.IndexByte(before, ':')
	return first >= 0 && (first+1 == authorityLength(before) || !strings.ContainsAny(before, "?="))
}

func authorityLength(rest string) int {
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		if rest[n] == '/' && n > 0 && rest[n-1] == '\\' {
			n--
		}
		return n
	}
	return len(rest)
}

// passwordColon returns where in an authority a ':' is that no port follows; -1
// is nowhere.
func passwordColon(authority string) int {
	for i := 0; i < len(authority); i++ {
		switch authority[i] {
		case '[': // an address of version 6
			if n := strings.IndexByte(authority[i:], ']'); n >= 0 {
				i += n
			}
		case ':':
			j := i + 1
			for j < len(authority) && '0' <= authority[j] && authority[j] <= '9' {
				j++
			}
			if j < len(authority) && authority[j] != ',' {
				return i
			}
		}
	}
	return -1
}

// harmlessPort reports whether what is behind a ':' stands for a port.
func harmlessPort(text string) bool {
	switch strings.ToLower(strings.Trim(text, "<>{}$[]%")) {
	case "port", "", "*", "redacted":
		return true
	}
	return text == Secret
}

// tokenMin is the length in bytes from which a user without a password is taken
// for a token.
const tokenMin = 20

// user reads user:password, or a token alone.
func (w *urlWriter) user(i, j int) {
	u := w.src
	name, rest, both := strings.Cut(u[i:j], ":")
	tokenIsName := rest == "" || rest == "x-oauth-basic"
	if both && !tokenIsName && strings.Trim(rest, "x*") != "" {
		w.tokenName(i, name)
		w.other(i, i+len(name))
		w.replace(i+len(name)+1, j, Secret)
		return
	}
	if from, to := scan.SecretPart(name); from < to || len(name) >= tokenMin || both && tokenIsName && rest != "" {
		w.replace(i, i+len(name), Secret)
		return
	}
	w.other(i, i+len(name))
}

func (w *urlWriter) tokenName(i int, name string) {
	if from, to := scan.SecretPart(name); from < to || len(name) >= tokenMin && scan.LooksSecret(name) {
		w.replace(i, i+len(name), Secret)
	}
}

// hosts replaces the addresses in a list of hosts.
func (w *urlWriter) hosts(i, j int) {
	for i < j {
		end := j
		if n := strings.IndexByte(w.src[i:j], ','); n >= 0 {
			end = i + n
		}
		host := w.src[i:end]
		if strings.HasPrefix(host, "[") {
			if n := strings.IndexByte(host, ']'); n > 0 {
				w.address(i, i+n+1)
			}
		} else {
			if n := strings.IndexByte(host, ':'); n >= 0 {
				host = host[:n]
			}
			if isAddress(host) {
				w.address(i, i+len(host))
			}
		}
		i = end + 1
	}
}

// path replaces the secrets and addresses in the parts of a path: keys by their
// looks, and what stands behind a word that announces one, as in the addresses
// of webhooks.
func (w *urlWriter) path(i, end int) {
	hook := strings.Contains(w.src[:i], "hooks.")
	announced := hook
	last := i + len(strings.TrimRight(w.src[i:end], "/"))
	for i < end {
		if w.src[i] == '/' || w.src[i] == '\\' {
			i++
			continue
		}
		j := i
		for j < end && w.src[j] != '/' && w.src[j] != '\\' {
			j++
		}
		part := w.src[i:j]
		switch from, to := scan.SecretPart(part); {
		case from < to:
			w.replace(i+from, i+to, Secret)
		case announced && scan.LooksSecret(part), hook && j == last && shortKey(w.src[:i], part), j == end && strings.HasPrefix(w.lower, "rtmp") && streamKey(part):
			w.replace(i, j, Secret)
		case isIPv4(part):
			w.address(i, j)
		default:
			w.other(i, j)
			announced = announced || announces(part)
		}
		i = j
	}
}

// shortKey reports whether the last part of the address of a webhook may be its key.
func shortKey(before, part string) bool {
	behindNumber := len(before) > 2 && strings.IndexByte("0123456789", before[len(before)-2]) >= 0
	return len(part) >= 6 && (behindNumber || strings.ContainsAny(part, "0123456789")) && strings.Trim(part, "0123456789") != ""
}

// streamKey reports whether the last part of the path of a stream looks like the key of its sender, as
// services for live video give them.
func streamKey(part string) bool {
	return len(part) >= 12 && strings.ContainsAny(part, "0123456789") && !strings.ContainsRune(part, '.')
}

func announces(part string) bool {
	switch strings.ToLower(part) {
	case "webhook", "webhooks", "webhookb2", "hook", "hooks", "key", "keys", "apikey", "secret", "token", "tokens", "reset", "reset-password", "password-reset", "verify", "invite", "magic",
		"confirm", "activate", "unsubscribe", "auth", "login":
		return true
	}
	return false
}
