package policy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
)

// Limits on the search for a missing input.
const (
	missingLines = 64   // lines that say that a file is missing; the first ones count
	missingPaths = 1000 // paths of a payload
	pathMax      = 4096 // bytes of a path
)

// missingWords are the words with which programs say that a file does not exist, in small letters.
var missingWords = []string{
	"no such file", "file not found", "filenotfound", "nosuchfile", "does not exist", "doesn't exist",
	"cannot find the file", "cannot find the path", "could not find file", "enoent",
}

// missesInput reports whether the texts of a failure say that a file does not exist, and the payload
// of the job names this file as an input.
func missesInput(e *failure.Evidence, payload []byte) bool {
	var lines []string
	for _, text := range []string{e.Message, string(e.Stderr), string(e.Stdout)} {
		for line := range strings.SplitSeq(text, "\n") {
			if len(lines) < missingLines && saysMissing(line) {
				lines = append(lines, line[:min(len(line), 4*pathMax)])
			}
		}
	}
	if len(lines) == 0 {
		return false
	}
	return slices.ContainsFunc(inputPaths(payload), func(path string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return namesPath(line, path) })
	})
}

func saysMissing(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(missingWords, func(w string) bool { return strings.Contains(line, w) })
}

// namesPath reports whether a line contains a path as a whole, or at the end of a longer path.
func namesPath(line, path string) bool {
	for from := 0; ; {
		i := strings.Index(line[from:], path)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(path)
		if (start == 0 || !inName(line[start-1])) && endsName(line[end:]) {
			return true
		}
		from = start + 1
	}
}

func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// endsName reports whether the name of a file ends before the rest of a line.
func endsName(rest string) bool {
	switch {
	case rest == "":
		return true
	case rest[0] == '.': // the end of a sentence, or a longer name
		return len(rest) == 1 || !inName(rest[1])
	}
	return rest[0] != '/' && rest[0] != '\\' && !inName(rest[0])
}

// inputPaths returns the paths that a payload names, except those under keys for outputs. A
// payload that is not JSON can be one path.
func inputPaths(payload []byte) (paths []string) {
	add := func(text string) {
		text = strings.TrimPrefix(text, "file://")
		if len(paths) < missingPaths && isPath(text) {
			paths = append(paths, text)
		}
	}
	if !json.Valid(payload) {
		if text := string(bytes.TrimSpace(payload)); !strings.Contains(text, "\n") {
			add(text)
		}
		return paths
	}
	dec := json.NewDecoder(bytes.NewReader(payload))
	skipped := 0     // depth of the key of an output whose value is being read; 0 means no such key
	var object []int // for each open array or object: how many tokens of an object have been read, or -1 for an array
	for {
		t, err := dec.Token()
		if err != nil {
			return paths
		}
		depth := len(object)
		inObject := depth > 0 && object[depth-1] >= 0
		isKey := inObject && object[depth-1]%2 == 0
		switch t := t.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				object = object[:depth-1]
				if skipped >= depth {
					skipped = 0
				}
				continue
			}
			if inObject {
				object[depth-1]++
			}
			if t == '{' {
				object = append(object, 0)
			} else {
				object = append(object, -1)
			}
			continue
		case string:
			if isKey {
				if skipped == 0 || skipped == depth {
					skipped = 0
					if isOutput(t) {
						skipped = depth
					}
				}
			} else if skipped == 0 {
				add(t)
			}
		}
		if inObject {
			object[depth-1]++
		}
	}
}

// isPath reports whether a text has the form of a path, or of the name of a file with an
// extension.
func isPath(s string) bool {
	if len(s) < 3 || len(s) > pathMax || strings.Contains(s, "://") || strings.ContainsAny(s, "\n\x00") {
		return false
	}
	if strings.ContainsAny(s, `/\`) {
		return true
	}
	dot := strings.LastIndexByte(s, '.')
	return dot > 0 && len(s)-dot-1 >= 1 && len(s)-dot-1 <= 5 && !strings.ContainsFunc(s[dot+1:], func(c rune) bool { return c >= 0x80 || !inName(byte(c)) })
}

// isOutput reports whether a key of a payload names something that the job writes.
func isOutput(key string) bool {
	key = strings.ToLower(key)
	return key == "out" || key == "to" || strings.HasPrefix(key, "out_") || strings.HasSuffix(key, "_out") ||
		slices.ContainsFunc([]string{"output", "dest", "target", "result", "save", "tmp", "temp", "log"}, func(w string) bool { return strings.Contains(key, w) })
}
