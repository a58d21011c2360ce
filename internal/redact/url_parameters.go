package redact

import (
	"strings"

	"github.com/redrive/redrive/internal/scan"
)

// parameters replaces the secrets behind ?, # and ;.
func (w *urlWriter) parameters(i int) {
	u := w.src
	for i < len(u) {
		i += separatorLength(u[i:])
		name := i
		for i < len(u) && u[i] != '=' && separatorLength(u[i:]) == 0 {
			i++
		}
		if i == len(u) || u[i] != '=' {
			w.other(name, i)
			if i < len(u) && separatorLength(u[i:]) == 0 {
				i++
			}
			continue
		}
		key := u[name:i]
		i++
		value := i
		for i < len(u) && separatorLength(u[i:]) == 0 {
			i++
		}
		w.parameter(key, value, i)
	}
}

// separatorLength returns the length of what is between two parameters, which
// JSON and HTML may have escaped.
func separatorLength(rest string) int {
	switch rest[0] {
	case '?', '#', ';':
		return 1
	case '&':
		if strings.HasPrefix(rest, "&amp;") {
			return len("&amp;")
		}
		return 1
	case '\\':
		if strings.HasPrefix(rest, `\u0026`) || strings.HasPrefix(rest, `\u003f`) || strings.HasPrefix(rest, `\u003F`) {
			return len(`\u0026`)
		}
	}
	return 0
}

func (w *urlWriter) parameter(name string, i, j int) {
	value := w.src[i:j]
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "]"), "%5D"), "%5d")
	switch from, to := scan.SecretPart(value); {
	case scan.SecretParameter(name, value), nestedSecret(value):
		w.replace(i, j, Secret)
	case from < to:
		w.replace(i+from, i+to, Secret)
	case isIPv4(value):
		w.address(i, j)
	default:
		w.other(i, j)
	}
}

// nestedSecret reports whether an escaped URL in a parameter has a secret.
func nestedSecret(value string) bool {
	for i := 0; ; i++ {
		n := strings.IndexByte(value[i:], '%')
		if n < 0 {
			return false
		}
		n += i
		i = n
		end := n + 1 // of the escaped '=', which may be escaped several times: %3D, %253D
		for strings.HasPrefix(value[end:], "25") {
			end += 2
		}
		if len(value) < end+2 || value[end] != '3' || value[end+1] != 'D' && value[end+1] != 'd' {
			continue
		}
		end += 2
		name := n
		for name > 0 && value[name-1] != '%' && value[name-1] != '.' {
			name--
		}
		if name > 0 && value[name-1] == '%' && n-name > 2 {
			for strings.HasPrefix(value[name:n], "25") && n-name > 4 {
				name += 2
			}
			name += 2 // its two digits
		}
		nested, _, _ := strings.Cut(value[end:], "%")
		if scan.SecretParameter(value[name:n], nested) {
			return true
		}
	}
}
