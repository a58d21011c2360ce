// Package logread finds the failures in a log: JSON lines, logfmt, and plain texts.
package logread

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Limits. What is above them is left out.
const (
	LineMax  = 1 << 20  // bytes of one line that are read
	EntryMax = 64 << 10 // bytes of the text of an entry
)

// Entry is one entry of a log that can be a failure.
type Entry struct {
	Line   int    // where the entry begins, from 1
	Text   string // the error
	Kind   string // of the job; "" if the entry does not say it
	Failed bool   // whether the entry says that it is a failure: by its level, or by a key such as "error"
	Status int    // HTTP status; 0 if the entry has none
	Exit   *int
	Signal string
}

// Headline returns the line that says best what the error is: the last line of a Python traceback, or
// the first line of any other text.
func (e *Entry) Headline() string {
	if strings.HasPrefix(e.Text, tracebackStart) {
		return e.Text[strings.LastIndexByte(e.Text, '\n')+1:]
	}
	line, _, _ := strings.Cut(e.Text, "\n")
	return line
}

// tracebackStart begins a traceback of Python.
const tracebackStart = "Traceback (most recent"

// Read calls a function for each entry that can be a failure, and returns the number of lines.
func Read(in *bufio.Reader, each func(*Entry)) (lines int, err error) {
	r := reader{each: each}
	for {
		line, err := readLine(in)
		if len(line) > 0 || err == nil {
			lines++
			r.line(lines, strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD"))
		}
		if err != nil {
			r.flush()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return lines, err
		}
	}
}

// readLine returns the first LineMax bytes of a line.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) < LineMax {
			line = append(line, part[:min(len(part), LineMax-len(line))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

type reader struct {
	each  func(*Entry)
	open  *Entry // an entry of plain text, to which further lines may belong
	trace bool   // whether the open entry is a traceback whose error has not come yet
}

func (r *reader) flush() {
	if r.open != nil {
		r.each(r.open)
	}
	r.open, r.trace = nil, false
}

func (r *reader) line(n int, line string) {
	text := strings.TrimSpace(line)
	if e, ok := structured(text); ok {
		r.flush()
		if e != nil {
			e.Line = n
			r.each(e)
		}
		return
	}
	indented := line != "" && (line[0] == ' ' || line[0] == '\t')
	switch {
	case text == "":
		if !r.trace {
			r.flush()
		}
	case r.open != nil && (indented || r.trace || strings.HasPrefix(text, "Caused by:")):
		r.trace = r.trace && (indented || strings.HasPrefix(text, tracebackStart))
		if len(r.open.Text)+len(text) < EntryMax {
			r.open.Text += "\n" + line
		}
	default:
		r.flush()
		if quiet.MatchString(text[:min(len(text), 200)]) {
			return
		}
		trace := strings.HasPrefix(text, tracebackStart)
		r.open = &Entry{Line: n, Text: text[:min(len(text), EntryMax)], Failed: trace || severe.MatchString(text[:min(len(text), 200)])}
		r.trace = trace
	}
}

// severe matches the level of a plain line that is a failure.
var severe = regexp.MustCompile(`(^|[\s\[|(<])(ERROR|FATAL|CRITICAL|CRIT|ALERT|EMERG|PANIC|Error|error|fatal|panic)([\s\]|)>:]|$)`)

// quiet matches the level of a plain line that is no failure.
var quiet = regexp.MustCompile(`^([^A-Za-z]|[A-Z][a-z]{2} )*[\[(<]?(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|Trace|Debug|Info|Notice|Warn|Warning|trace|debug|info|notice|warn|warning)([\s\]|)>:]|$)`)

// structured reads a line of JSON or logfmt. ok is false if the line is neither. The entry is nil if it is
// no failure.
func structured(text string) (e *Entry, ok bool) {
	fields, ok := fieldsOf(text)
	if !ok {
		return nil, false
	}
	first := func(names ...string) string {
		for _, name := range names {
			if v := fields[name]; v != "" {
				return v
			}
		}
		return ""
	}
	e = &Entry{Kind: first("kind", "job_kind"), Signal: first("signal")}
	said := first("error", "err", "exception", "error_message", "stack_trace", "stack")
	e.Text = first("error", "err", "exception", "error_message", "msg", "message", "text", "stack_trace", "stack")
	if e.Text == "" {
		return nil, true
	}
	e.Text = e.Text[:min(len(e.Text), EntryMax)]
	switch strings.ToLower(first("level", "severity", "lvl", "log.level")) {
	case "error", "fatal", "critical", "crit", "alert", "emerg", "panic", "50", "60":
		e.Failed = true
	case "debug", "trace", "info", "notice", "warn", "warning", "10", "20", "30", "40":
		if said == "" {
			return nil, true // a message that is no failure, whatever it quotes
		}
	}
	e.Failed = e.Failed || said != ""
	if n, err := strconv.Atoi(first("status", "http_status", "status_code", "error_status")); err == nil && n >= 400 && n <= 599 {
		e.Status = n
	}
	if n, err := strconv.Atoi(first("exit", "exit_code", "exit_status")); err == nil && n > 0 && n <= 255 {
		e.Exit = &n
	}
	return e, true
}

// fieldsOf returns the fields of a line of JSON or logfmt, as texts.
func fieldsOf(text string) (fields map[string]string, ok bool) {
	if strings.HasPrefix(text, "{") {
		var object map[string]any
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		dec.UseNumber()
		if dec.Decode(&object) != nil {
			return nil, false
		}
		fields = map[string]string{}
		for key, v := range object {
			switch v := v.(type) {
			case string:
				fields[key] = v
			case json.Number:
				fields[key] = v.String()
			case map[string]any:
				if m, ok := v["message"].(string); ok {
					fields[key] = m
				}
			}
		}
		return fields, true
	}
	return logfmt(text)
}

// logfmt reads key=value pairs. ok is false if the line has other parts, or less than two pairs.
func logfmt(text string) (fields map[string]string, ok bool) {
	fields = map[string]string{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		key, rest, found := strings.Cut(text, "=")
		if !found || key == "" || strings.ContainsAny(key, " \"\t") {
			return nil, false
		}
		var value string
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, false
			}
			value, _ = strconv.Unquote(quoted)
			rest = rest[len(quoted):]
		} else {
			value, rest, _ = strings.Cut(rest, " ")
		}
		fields[key], text = value, rest
	}
	return fields, len(fields) >= 2
}
