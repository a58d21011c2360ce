package redact

import (
	"slices"
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// urlWriter writes a URL with parts of it replaced.
type urlWriter struct {
	options *Options
	src     string
	lower   string // the scheme
	b       strings.Builder
	from    int // what of src is not written yet
	done    bool
}

// replace writes mark for src[i:j].
func (w *urlWriter) replace(i, j int, mark string) {
	if i >= j || i < w.from || w.src[i:j] == mark || slices.Contains(w.options.Keep, w.src[i:j]) {
		return
	}
	w.b.WriteString(w.src[w.from:i])
	w.b.WriteString(mark)
	w.from = j
}

// address replaces an IP address.
func (w *urlWriter) address(i, j int) {
	if !w.options.KeepAddresses {
		w.replace(i, j, IP)
	}
}

func (w *urlWriter) finish(end int) string {
	if w.from == 0 {
		return w.src
	}
	w.b.WriteString(w.src[w.from:end])
	return w.b.String()
}

// other replaces e-mail addresses in src[i:j] where they are to go.
func (w *urlWriter) other(i, j int) {
	if !w.options.Emails || !strings.ContainsAny(w.src[i:j], "@%") {
		return
	}
	part := strings.Replace(strings.Replace(w.src[i:j], "%40", "@", 1), "%2B", "+", 1)
	read := scan.Read(part)
	defer read.Release()
	for _, t := range read.Tokens {
		if t.Kind == scan.Email {
			w.replace(i, j, Email)
			return
		}
	}
}

// isAddress reports whether a host is an IPv4 address, or a name that contains one.
func isAddress(host string) bool {
	if strings.Count(host, "-") < 4 {
		return isIPv4(host)
	}
	read := scan.Read(host)
	defer read.Release()
	return len(read.Tokens) == 1 && read.Tokens[0].Kind == scan.IP
}

func isIPv4(host string) bool {
	if len(host) < len("0.0.0.0") || len(host) > len("255.255.255.255") || host[0] > '9' || host[0] < '0' {
		return false
	}
	read := scan.Read(host)
	defer read.Release()
	return len(read.Tokens) == 1 && read.Tokens[0].Kind == scan.IP
}
