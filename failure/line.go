package failure

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// What a line of the output of a program can be, the better message with the greater number.
type lineWorthy uint8

const (
	lineEmpty  lineWorthy = iota // nothing but punctuation
	lineFrame                    // where it happened: frames of a stack, places in sources, banners
	lineFooter                   // what programs write after the error, whatever it was
	lineAside                    // warnings, what was done before, explanations
	linePlain
	lineTells // has a word of failure
	lineHeads // begins with it, as in "error: …" and "java.io.IOException: …"
)

// Complete returns the message of a failure: that of the evidence, and, if it only says how a
// subprocess ended, the line of the output that says why. This is the line on which the
// classification rests, if the process wrote it. Otherwise it is chosen by its form: of the lines
// that speak of a failure the last, of others the first that is neither a frame of a stack nor
// one of the lines with which known programs end. Standard error comes before standard output.
func Complete(e *Evidence, by *Classification) string {
	if !e.saysHowItEnded() {
		return e.Message
	}
	line := by.Line
	if line == "" {
		line = cause(withoutNoise(string(e.Stderr)))
	}
	if line == "" {
		line = cause(withoutNoise(string(e.Stdout)))
	}
	if line == "" && (isBinary(string(e.Stderr)) || isBinary(string(e.Stdout))) {
		line = "the output is not text"
	}
	if line == "" {
		return e.Message
	}
	return Message(e.Message + ": " + line)
}

// saysHowItEnded reports whether a message ends with how a subprocess ended: nothing says why.
func (e *Evidence) saysHowItEnded() bool {
	if len(e.Stderr) == 0 && len(e.Stdout) == 0 {
		return false
	}
	if e.Exit != nil {
		if front, ok := strings.CutSuffix(e.Message, strconv.Itoa(*e.Exit)); ok {
			return strings.HasSuffix(front, "exit code ") || strings.HasSuffix(front, "exit status ")
		}
	}
	if e.Signal == "" {
		return false
	}
	_, name, ok := cutLast(e.Message, "signal: ") // as Go says it: "signal: segmentation fault (core dumped)"
	return ok && !strings.ContainsAny(name, ":\n") || strings.HasSuffix(e.Message, "killed by "+e.Signal)
}

// cause returns the line of a program's output that says best what went wrong, without the help
// of rules: of the lines that speak of a failure the last, of others the first that is neither a
// frame, a banner nor a known footer. It returns "" if all lines are empty.
func cause(text string) string {
	best, found := lineEmpty, ""
	frame := frames{}
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		worth := frame.worth(line, rest)
		if worth > best || worth == best && worth >= lineTells {
			best, found = worth, line
		}
	}
	return strings.TrimSpace(found)
}

// lineAt returns the line of a text around an offset, and what it is.
func lineAt(text string, at int) (string, lineWorthy) {
	frame := frames{}
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		worth := frame.worth(line, rest)
		if at < len(text)-len(rest) {
			return strings.TrimSpace(line), worth
		}
	}
	return "", lineEmpty
}

// frames remembers what the lines before tell about the next one.
type frames struct {
	source bool // a line of the source follows: the last line was a Python frame or a place
	placed bool // the last line was a place, whose line of source is not indented
	trace  bool // the error follows, after frames or a line of the source that are above it
	stack  bool // the last lines were frames of a numbered stack
	dump   bool // the properties of an error follow, as Node prints them
}

// worth returns what a line is. The rest is the text after it.
func (f *frames) worth(line, rest string) lineWorthy {
	text := strings.TrimSpace(line)
	if !strings.ContainsFunc(text, isLetterOrNumber) {
		return lineEmpty
	}
	indented := line[0] == ' ' || line[0] == '\t'
	source := f.source && (indented || f.placed) // code without a file, as python -c runs it, has no line of source
	worth, isFrame := lineWorth(line[:min(len(line), phrase.LineMax)], source, false)
	place := isPlace(text)
	f.source, f.placed = isFrame || place, place
	f.trace = f.trace || place || strings.HasPrefix(text, "Traceback (most recent") || strings.Contains(text, "panicked at ") && strings.HasSuffix(text, ":")
	dump := f.dump && indented
	f.dump = dump || text != "{" && strings.HasSuffix(text, " {")
	stack := f.stack
	f.stack = false
	switch {
	case worth <= -inNoise, source && !isFrame, place, indented && strings.HasPrefix(text, "at "), strings.HasPrefix(text, "+ "), isGoFrame(text, rest),
		isRegister(text), strings.Contains(text, "panicked at ") && strings.HasSuffix(text, ":"), dump && isProperty(text):
		return lineFrame
	case isNumbered(text) && (stack || indented || strings.Contains(text, " 0x")):
		f.stack = true
		return lineFrame
	case isFooter(text):
		f.stack = text == "stack backtrace:"
		return lineFooter
	case f.trace && !indented:
		f.trace = false
		return lineHeads
	case worth < 0, strings.Contains(text, "Warning:"), strings.Contains(text, "warning:"):
		return lineAside
	}
	return wordsOfFailure(text)
}

func isLetterOrNumber(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0xAA
}

// isGoFrame reports whether the next line is the place of a function of Go.
func isGoFrame(text, rest string) bool {
	return strings.HasSuffix(text, ")") && strings.HasPrefix(rest, "\t") && strings.Contains(rest[:min(len(rest), phrase.LineMax)], ".go:")
}

// isRegister reports whether a line shows a register of the processor, as Go does after a
// signal.
func isRegister(text string) bool {
	name, value, ok := strings.Cut(text, " ")
	return ok && len(name) <= 6 && strings.HasPrefix(strings.TrimSpace(value), "0x") && !strings.Contains(strings.TrimSpace(value), " ")
}

// isPlace reports whether a line is only a place in a source, as Node writes it above the line
// of the source: /app/main.js:3.
func isPlace(text string) bool {
	file, number, ok := cutLast(text, ":")
	return ok && number != "" && strings.Trim(number, "0123456789") == "" && !strings.ContainsAny(file, " \t") &&
		(strings.HasPrefix(file, "/") || strings.HasPrefix(file, "file:") || strings.HasPrefix(file, "node:") || strings.Contains(file, ":\\"))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// isNumbered reports whether a line is a frame with its number, as PHP ("#0 /app/x.php(3)"),
// Rust and V8 ("12: core::panicking") write it.
func isNumbered(text string) bool {
	digits := strings.TrimLeft(strings.TrimPrefix(text, "#"), "0123456789")
	n := len(strings.TrimPrefix(text, "#")) - len(digits)
	if n == 0 || n > 4 {
		return false
	}
	if text[0] == '#' {
		return strings.HasPrefix(digits, " ")
	}
	return strings.HasPrefix(digits, ": ")
}

// isProperty reports whether a line is a property of an error, such as "code: 'ENOENT',".
func isProperty(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789'\"") == ""
}

// footers are what programs write after an error, or around it, whatever the error was. A line
// is a footer if it begins with the one text and has the other.
var footers = [...]struct{ program, begins, has string }{
	{"Node", "Node.js v", ""},
	{"Node", "thrown at:", ""},
	{"Node", "(Use `node --", ""},
	{"Node", "----- ", "stack trace"},
	{"Node", "<--- ", ""},
	{"npm", "npm ERR!", ""},
	{"npm", "npm error", ""},
	{"npm", "npm notice", ""},
	{"yarn", "info Visit ", ""},
	{"yarn", "error Command failed with", ""},
	{"pnpm", "ELIFECYCLE", "Command failed"},
	{"Java", "... ", " more"},
	{"Java", "Suppressed: ", ""},
	{"Java", "Picked up ", "_OPTIONS"},
	{"Maven", "[ERROR] -> [Help", ""},
	{"Maven", "[ERROR] [Help", ""},
	{"Maven", "[ERROR] Re-run Maven", ""},
	{"Maven", "[ERROR] To see the full stack trace", ""},
	{"Maven", "[ERROR] For more information", ""},
	{"Gradle", "* Try:", ""},
	{"Gradle", "> Run with --", ""},
	{"Gradle", "BUILD FAILED", ""},
	{"Python", "During handling of the above exception", ""},
	{"Python", "The above exception was the direct cause", ""},
	{"Python", "Exception ignored in", ""},
	{"Python", "[Previous line repeated", ""},
	{"pip", "[notice]", ""},
	{"pip", "hint: See above", ""},
	{"pytest", "!!!", "Interrupted"},
	{"Go", "exit status ", ""},
	{"Go", "goroutine ", "["},
	{"Go", "created by ", ""},
	{"Go", "[recovered]", ""},
	{"Go", "FAIL\t", ""},
	{"PHP", "Stack trace:", ""},
	{"PHP", "PHP Stack trace:", ""},
	{"PHP", "thrown in ", " on line "},
	{"Composer", "Script ", "returned with error code"},
	{"Ruby", "rake aborted!", ""},
	{"Ruby", "(See full trace by running", ""},
	{"Ruby", "Tasks: TOP", ""},
	{"Rust", "stack backtrace:", ""},
	{"Rust", "error: aborting due to", ""},
	{"Rust", "error: could not compile", ""},
	{"Rust", "error: process didn't exit successfully", ""},
	{"Rust", "For more information about this error", ""},
	{"Rust", "Some errors have detailed explanations", ""},
	{"Rust", "Location:", ""},
	{".NET", "--- End of ", "stack trace"},
	{".NET", "Aborted (core dumped)", ""},
	{"C++", "Aborted", "core dumped"},
	{"make", "make: *** ", "] Error "},
	{"make", "make[", "] Error "},
	{"make", "make[", "Leaving directory"},
	{"make", "gmake: *** ", "] Error "},
	{"ninja", "ninja: build stopped", ""},
	{"CMake", "-- Configuring incomplete", ""},
	{"CMake", "See also \"", ""},
	{"gcc", "compilation terminated", ""},
	{"gcc", "collect2: error: ld returned", ""},
	{"FFmpeg", "Conversion failed!", ""},
	{"FFmpeg", "Exiting normally, received signal", ""},
	{"FFmpeg", "Last message repeated", ""},
	{"FFmpeg", "Terminating thread with return code", ""},
	{"FFmpeg", "Task finished with error code", ""},
	{"FFmpeg", "Error opening output files", ""},
	{"FFmpeg", "Nothing was written into output file", ""},
	{"FFmpeg", "video:", "muxing overhead"},
	{"curl", "More details here: ", ""},
	{"curl", "curl failed to verify the legitimacy", ""},
	{"tar", "tar: Exiting with failure status", ""},
	{"tar", "tar: Error is not recoverable", ""},
	{"Docker", "See 'docker ", ""},
	{"apt", "E: Sub-process ", "returned an error code"},
	{"git", "Please make sure you have the correct access rights", ""},
	{"git", "and the repository exists", ""},
	{"Kubernetes", "See 'kubectl ", ""},
	{"usage", "Try '", "--help"},
	{"usage", "Try `", "--help"},
	{"usage", "usage:", ""},
	{"usage", "Usage:", ""},
	{"usage", "Run '", "--help"},
	{"log", "A complete log of this run", ""},
}

// footerBytes are the first bytes of all footers.
var footerBytes = func() (set [256]bool) {
	for i := range footers {
		set[footers[i].begins[0]] = true
	}
	return set
}()

func isFooter(text string) bool {
	if !footerBytes[text[0]] {
		return false
	}
	if text == "FAIL" { // of the tests of Go
		return true
	}
	for i := range footers {
		if f := &footers[i]; strings.HasPrefix(text, f.begins) && (f.has == "" || strings.Contains(text[len(f.begins):], f.has)) {
			return true
		}
	}
	return false
}

// failureWords are words of a line that speaks of a failure, in small letters.
var failureWords = [...]string{
	"error", "fatal", "exception", "fail", "panic", "cannot", "unable", "abort", "assert",
	"denied", "refused", "no such", "not found", "invalid", "unexpected", "missing", "timed out", "unknown", "unsupported", "exceeded",
	"rejected", "broken", "corrupt", "killed", "illegal", "undefined", "too many", "too large", " not ", " no ", "n't ", "uncaught", " must ", " full ", " bad ", " wrong", "mismatch", "expired", "unavailable", "exhausted", "required", "already",
	"too long", "too small", "conflict", "damaged", "overload", "interrupted", "crash", "core dumped",
	"fehler", "erreur", "errore", "ошибка", "エラー", "错误", "錯誤", "오류",
}

// wordsOfFailure returns how much a line speaks of a failure.
func wordsOfFailure(text string) lineWorthy {
	text = strings.TrimPrefix(text, "[cause]: ")
	head, message, ok := strings.Cut(text[:min(len(text), phrase.LineMax)], ":")
	if ok && message != "" && !strings.HasPrefix(message, "//") && failureHead(head) {
		return lineHeads
	}
	lower := " " + strings.ToLower(text[:min(len(text), phrase.LineMax)]) + " "
	for _, word := range failureWords {
		if strings.Contains(lower, word) {
			return lineTells
		}
	}
	return linePlain
}

// failureHead reports whether what stands before a colon is the name of an error, such as
// "error", "PHP Fatal error", "Caused by" or "java.io.IOException".
func failureHead(head string) bool {
	head = strings.TrimRight(head, "]) 0123456789")
	for _, end := range [...]string{"Error", "error", "ERROR", "Exception", "FATAL", "fatal", "Fatal", "panic", "Caused by", "CRITICAL"} {
		if strings.HasSuffix(head, end) {
			return true
		}
	}
	return strings.HasPrefix(head, "Exception in thread") || strings.HasPrefix(head, "Unhandled exception") ||
		strings.HasPrefix(head, "error[") || strings.HasPrefix(head, "Uncaught ")
}
