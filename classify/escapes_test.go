package classify_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// What JSON has written as \uXXXX is read as the letters that it stands for, in a field of a log and in JSON within JSON.
//
// part of: F8
func TestJSONEscapes_AreReadAsLetters(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"许可被拒绝", "grep: 没有那个文件或目录", "接続を拒否されました", "Отказано в доступе", "Нет такого файла или каталога",
		"Connexion refusée", "Aucun fichier ou dossier de ce type", "Keine Berechtigung für /srv/data", "<b>permission denied</b>",
		"Disco lleno 💾: No queda espacio en el dispositivo",
	} {
		once := strings.Trim(strconv.QuoteToASCII(text), `"`)
		once = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, `\U0001f4be`, `\ud83d\udcbe`).Replace(once)
		field := func(text string) string { return `{"level":"error","msg":"` + text + `"}` }
		twice, err := json.Marshal(map[string]string{"log": field(once)})
		if err != nil {
			t.Fatal(err)
		}
		plain := classOf(failure.Evidence{Message: text})
		inField := classOf(failure.Evidence{Message: field(text)})
		for _, c := range []struct {
			e    failure.Evidence
			want classify.Classification
		}{
			{failure.Evidence{Message: once}, plain},
			{failure.Evidence{Message: field(once)}, inField},
			{failure.Evidence{Message: string(twice)}, inField},
			{failure.Evidence{Stderr: []byte(field(once) + "\n")}, inField},
			{failure.Evidence{Details: []byte(field(once))}, classOf(failure.Evidence{Details: []byte(field(text))})},
		} {
			if got := classOf(c.e); got.Class != c.want.Class {
				t.Errorf("%q: %s by %s, want %s: message %q, stderr %q", text, got.Class, got.Rule, c.want.Class, c.e.Message, c.e.Stderr)
			}
		}
	}
}

// What only looks like an escape stays, and nothing of it breaks the reading.
func TestJSONEscapes_Damaged(t *testing.T) {
	t.Parallel()
	for _, s := range []string{`\u`, `\u12`, `\uzzzz`, `C:\users\u`, `\ud83d`, `\ud83d\u0041`, `\ud83d\ud83d`, `\\\\u0041`, `\u0000`, `\u+123`} {
		if got := classOf(failure.Evidence{Message: "permission denied " + s}); got.Class != failure.PermissionError {
			t.Errorf("%q: %s", s, got.Class)
		}
	}
	if got := classOf(failure.Evidence{Message: strings.Repeat(`\u0041`, 2<<20)}); !got.Verdict.Retriable() {
		t.Errorf("a long text of escapes: %s", got.Class)
	}
}
