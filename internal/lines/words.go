package lines

import (
	"strings"

	"github.com/redrive/redrive/internal/phrase"
)

// Kind is the kind of a line of a program's output. A line of a greater kind explains the error better.
type Kind uint8

// The kinds.
const (
	Empty  Kind = iota // nothing but punctuation
	Frame              // where it happened: frames of a stack, places in sources, banners
	Footer             // what programs write after the error, whatever it was
	Aside              // a warning, an explanation, or a step that the program reports before the error
	Plain
	Tells // has a word of failure
	Heads // begins with it, as in "error: …" and "java.io.IOException: …"
)

// failureWords are words of a line that speaks of a failure, in small letters.
var failureWords = [...]string{
	"error", "fatal", "exception", "fail", "panic", "cannot", "unable", "abort", "assert",
	"denied", "refused", "no such", "not found", "invalid", "unexpected", "missing", "timed out", "unknown", "unsupported", "exceeded",
	"rejected", "broken", "corrupt", "killed", "illegal", "undefined", "too many", "too large", " not ", " no ", "n't ", "uncaught", " must ", " full ", " bad ", " wrong", "mismatch", "expired", "unavailable", "exhausted", "required", "already",
	"too long", "too small", "conflict", "damaged", "overload", "interrupted", "crash", "core dumped",
	"fehler", "erreur", "errore", "ошибка", "エラー", "错误", "錯誤", "오류",
}

// TellsFailure reports whether a line speaks of a failure.
func TellsFailure(text string) bool { return wordsOfFailure(text) != Plain }

// wordsOfFailure returns how much a line speaks of a failure.
func wordsOfFailure(text string) Kind {
	text = strings.TrimPrefix(text, "[cause]: ")
	head, message, ok := strings.Cut(text[:min(len(text), phrase.LineMax)], ":")
	if ok && message != "" && !strings.HasPrefix(message, "//") && failureHead(head) {
		return Heads
	}
	lower := " " + strings.ToLower(text[:min(len(text), phrase.LineMax)]) + " "
	for _, word := range failureWords {
		if strings.Contains(lower, word) {
			return Tells
		}
	}
	return Plain
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
