package lines

import (
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// Noise is how much less evidence is worth in a line that says nothing: in a frame of a stack, a setting, a banner.
const Noise = 99

// Worth tells a line of a stack or of settings from one that says something.
// After the line of a Python frame comes a line of the program.
func Worth(line string, frame, single bool) (worth int8, isFrame bool) {
	text := strings.TrimLeft(line, " \t")
	indented := len(text) < len(line)
	switch {
	case strings.HasPrefix(text, `File "`) && strings.Contains(text, ", line "):
		return -Noise, true
	case frame && indented:
		return -Noise, false
	case indented && (strings.HasPrefix(text, "at ") || strings.HasPrefix(text, "AT ")) && strings.ContainsAny(text, "(/:."),
		strings.HasPrefix(text, "goroutine ") && strings.Contains(text, "["),
		strings.HasPrefix(text, "created by "),
		strings.HasPrefix(text, "Traceback (most recent"),
		indented && strings.HasPrefix(text, "/") && strings.Contains(text, ".go:"),
		indented && strings.HasPrefix(text, "from ") && strings.Contains(text, ":in "),
		strings.HasPrefix(text, "#") && len(text) > 4 && strings.Contains(text, " 0x"):
		return -Noise, false
	case isBanner(text, indented):
		return -Noise, false
	}
	if !single && isAside(text) {
		return -12, false
	}
	if !single {
		if level := levelOf(text); level < 0 {
			return level, false
		}
		if isPythonWarning(text) { // the next line is of the source
			return -Noise, true
		}
	}
	return 0, false
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// isPythonWarning tells a warning of Python, such as "/app/a.py:2: DeprecationWarning: …". One that was
// raised as an exception has no place before its name.
func isPythonWarning(text string) bool {
	head, _, ok := strings.Cut(text, "Warning: ")
	place, name, named := strings.Cut(head, ": ")
	return ok && named && name != "" && strings.Trim(name, letters) == "" && strings.TrimRight(place, "0123456789") != place
}

// isAside tells the lines that explain the one before.
func isAside(text string) bool {
	var buf [16]byte
	head := string(phrase.LowerASCII(buf[:0], text[:min(len(text), 12)]))
	for _, aside := range [...]string{"detail:", "hint:", "context:", "line ", "statement:", "note:", "help:", "= help", "= note", "see ", "for more inf"} {
		if strings.HasPrefix(head, aside) {
			return true
		}
	}
	return false
}

// banners are how programs begin to speak of themselves and of their input.
var banners = []string{
	"ffmpeg version", "ffprobe version", "built with ", "configuration:", "Stream #", "Metadata:", "Input #", "Output #", "Press [q]", "frame=", "Stream mapping:",
	"libav", "libsw", "libpostproc", "encoder         :", "handler_name ", "Side data:", "<style", "<script", "<meta", "<link", "Duration:", "User-Agent:", "Server:",
}

// tags are what programs print, indented, about a file.
var tags = []string{
	"title ", "artist ", "album ", "comment ", "description ", "encoder ", "copyright ", "creation_time ", "major_brand ", "compatible_brands ", "minor_version ",
}

// isBanner tells what programs print about themselves and their input.
func isBanner(text string, indented bool) bool {
	return beginsWith(text, banners) || indented && beginsWith(text, tags) && strings.Contains(text, ": ")
}

func beginsWith(text string, prefixes []string) bool {
	if text == "" {
		return false
	}
	for _, prefix := range prefixes {
		if prefix[0] == text[0] && strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// levelOf looks for the level of a line of a log near its beginning.
func levelOf(text string) int8 {
	head := text[:min(len(text), 64)]
	for _, word := range [...]string{"WARN", "warn", "INFO", "info", "DEBUG", "debug", "TRACE", "trace", "NOTICE", "notice", "Warning", "warning", "WARNING"} {
		i := strings.Index(head, word)
		if i < 0 || i > 0 && isLetterOrDigit(head[i-1]) {
			continue
		}
		if end := i + len(word); end == len(head) || !isLetterOrDigit(head[end]) || strings.HasPrefix(head[end:], "ING") || strings.HasPrefix(head[end:], "ing") {
			if i == 0 || strings.IndexByte("[=:<(|\" 0123456789", head[i-1]) >= 0 && logHead(head[:i]) {
				return -18
			}
		}
	}
	return 0
}

// logHead reports whether what stands before a level looks like the head of a
// line of a log: no words but names of fields.
func logHead(head string) bool {
	words := 0
	for f := range strings.FieldsSeq(head) {
		if isLetterOrDigit(f[0]) && (f[0] < '0' || f[0] > '9') && !strings.ContainsAny(f, "=[]:.") {
			words++
		}
	}
	return words <= 1
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
