//go:build unix

package decide_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/decide"
	"github.com/redrive/redrive/internal/proc"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// commandError is an error like the one that the command "redrive work" makes of a command that
// failed.
type commandError struct{ *proc.ExitError }

func (e commandError) Error() string {
	if e.Status.Signal != "" {
		return "killed by " + e.Status.Signal
	}
	return e.Status.String()
}
func (e commandError) SignalName() string { return e.Status.Signal }
func (e commandError) StderrTail() []byte { return e.Stderr }
func (e commandError) StdoutTail() []byte { return e.Stdout }

// programs are real programs that fail. The message of each run is the line that tells the cause.
var programs = []struct {
	name    string
	argv    []string // FILE stands for the path of the file with the source
	file    string   // the name of the source
	source  string
	message string // a part of the message; "<nothing>" means that the message only says how the process ended
	class   failure.Class
}{
	{"node: an error", []string{"node", "FILE"}, "a.js", "function f() { throw new Error('invoice 7 has no lines') }\nf()", "Error: invoice 7 has no lines", ""},
	{"node: an error of the program", []string{"node", "FILE"}, "a.js", "undefined.x", "TypeError: Cannot read properties of undefined", ""},
	{"node: a class of its own", []string{"node", "FILE"}, "a.js", "class Odd extends Error {}\nthrow new Odd('the moon is wrong')", "the moon is wrong", ""},
	{"node: a text", []string{"node", "FILE"}, "a.js", "throw 'the moon is wrong'", "the moon is wrong", ""},
	{"node: a rejection", []string{"node", "FILE"}, "a.js", "Promise.reject(new Error('the moon is wrong'))", "Error: the moon is wrong", ""},
	{"node: an error with properties", []string{"node", "FILE"}, "a.js", "require('fs').openSync('/nowhere/file')", "Error: ENOENT: no such file or directory, open '/nowhere/file'", failure.NotFound},
	{"node: a cause", []string{"node", "FILE"}, "a.js", "throw new Error('sync failed', {cause: new Error('connect ECONNREFUSED 127.0.0.1:1')})", "connect ECONNREFUSED 127.0.0.1:1", failure.TemporaryServiceError},
	{"node: a syntax error", []string{"node", "FILE"}, "a.js", "let a = ;", "SyntaxError: Unexpected token ';'", ""},
	{"node: colours and a goodbye", []string{"node", "FILE"}, "a.js", `console.error('\x1b[31;1mERROR\x1b[0m cannot render invoice 7'); console.error('Report saved. Bye.'); process.exit(1)`, "ERROR cannot render invoice 7", ""},
	{"java: an exception", []string{"java", "-Xshare:auto", "FILE"}, "A.java", "class A { public static void main(String[] a) { String s = null; s.length(); } }", "java.lang.NullPointerException: Cannot invoke", ""},
	{"java: a cause", []string{"java", "FILE"}, "A.java",
		"class A { public static void main(String[] a) { try { new java.io.FileReader(\"/nowhere\"); } catch (Exception e) { throw new RuntimeException(\"load the settings\", e); } } }",
		"java.io.FileNotFoundException: /nowhere", failure.NotFound},
	{"python: an exception", []string{"python3", "FILE"}, "a.py", "def f():\n    return {}['total']\nf()\n", "KeyError: 'total'", ""},
	{"python: a class of its own", []string{"python3", "FILE"}, "a.py", "class Odd(Exception): pass\nraise Odd('the moon is wrong')\n", "Odd: the moon is wrong", ""},
	{"python: an exception in another", []string{"python3", "FILE"}, "a.py", "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('the moon is wrong')\n", "ValueError: the moon is wrong", ""},
	{"python: an exit with a text", []string{"python3", "-c", "import sys; sys.exit('the moon is wrong')"}, "", "", "exit code 1: the moon is wrong", ""},
	{"python: only standard output", []string{"python3", "-c", "import sys; print('ERROR: the invoice template is missing'); sys.exit(1)"}, "", "", "ERROR: the invoice template is missing", ""},
	{"python: a warning and an error", []string{"python3", "-W", "always", "FILE"}, "a.py",
		"import sys, warnings\nwarnings.warn('this will be removed', DeprecationWarning)\nsys.exit('error: the moon is wrong')\n", "error: the moon is wrong", ""},
	{"python: UTF-16", []string{"python3", "-c", "import sys; sys.stderr.buffer.write('Fehler: Übersicht fehlt\\n'.encode('utf-16')); sys.exit(1)"}, "", "", "Fehler: Übersicht fehlt", ""},
	{"python: a progress bar", []string{"python3", "-c", "import sys\nfor i in range(500): sys.stderr.write('\\r%3d%% done' % i)\nsys.exit('\\nerror: the moon is wrong')"}, "", "", "error: the moon is wrong", ""},
	{"python: 3 MB and a half line", []string{"python3", "-c", "import sys; sys.stderr.write('shard 451 of 900\\n' * 200000 + 'error: the moon is wrong'); sys.exit(1)"}, "", "", "error: the moon is wrong", ""},
	{"go: a panic", []string{os.Args[0]}, "", "panic", "panic: invoice 7 has no lines", ""},
	{"go: an index", []string{os.Args[0]}, "", "index", "panic: runtime error: index out of range [7] with length 3", ""},
	{"perl: die", []string{"perl", "-e", "sub f { die 'the moon is wrong' } f()"}, "", "", "the moon is wrong at -e line 1.", ""},
	{"perl: a stack", []string{"perl", "-MCarp=confess", "-e", "sub f { confess 'the moon is wrong' } f(1)"}, "", "", "the moon is wrong at -e line 1.", ""},
	{"php: an exception", []string{"php", "FILE"}, "a.php", "<?php function f() { throw new Exception('the moon is wrong'); } f();", "the moon is wrong", ""},
	{"ruby: an exception", []string{"ruby", "FILE"}, "a.rb", "def f; raise 'the moon is wrong'; end\nf", "the moon is wrong (RuntimeError)", ""},
	{"ffmpeg: no input", []string{"ffmpeg", "-i", "/nowhere.mp4", "/tmp/redrive-no-output.mp4"}, "", "", "No such file or directory", failure.NotFound},
	{"bash: no command", []string{"bash", "FILE"}, "a.sh", "echo starting >&2\nfrobnicate\n", "frobnicate: command not found", ""},
	{"bash: a trace", []string{"bash", "-x", "FILE"}, "a.sh", "echo the moon is wrong >&2\ntrue\nfalse\n", "the moon is wrong", ""},
	{"dash: no command", []string{"dash", "-c", "frobnicate"}, "", "", "frobnicate: not found", ""},
	{"sh: a goodbye", []string{"sh", "-c", "echo 'the moon is wrong' >&2; echo 'Report saved. Bye.' >&2; exit 1"}, "", "", "exit code 1: the moon is wrong", ""},
	{"sh: no file", []string{"sh", "-c", "cat /nowhere/file; echo finished >&2; exit 1"}, "", "", "/nowhere/file: No such file or directory", failure.NotFound},
	{"sh: a body on standard output", []string{"sh", "-c", `echo 'curl: (22) The requested URL returned error: 429' >&2; echo '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'; exit 22`},
		"", "", "insufficient_quota", failure.QuotaExceeded},
	{"sh: words on standard output", []string{"sh", "-c", `echo 'connect to db: connection refused' >&2; echo 'invalid rows: 0, not found: 3, permission checks: 12'; exit 1`},
		"", "", "connect to db: connection refused", failure.TemporaryServiceError},
	{"sh: silence", []string{"sh", "-c", "exit 3"}, "", "", "<nothing>", ""},
	{"sh: a killed process", []string{"sh", "-c", "echo 'error: the moon is wrong' >&2; kill -9 $$"}, "", "", "killed by SIGKILL: error: the moon is wrong", ""},
}

// TestMain runs the test binary as a failing Go program if an environment variable asks for it.
func TestMain(m *testing.M) {
	switch os.Getenv("REDRIVE_TEST_PROGRAM") {
	case "panic":
		panic("invoice 7 has no lines")
	case "index":
		lines := make([]int, 3)
		lines[len(os.Args)+6]++ // this index is out of range, which the compiler cannot know
	}
	os.Exit(m.Run())
}

// proves: F1
func TestF1_TheMessageIsTheLineThatDecided(t *testing.T) {
	t.Parallel()
	for _, tt := range programs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.argv[0]); err != nil {
				t.Skipf("%s is not installed", tt.argv[0])
			}
			f := failureOf(t, tt.argv, tt.file, tt.source)
			switch {
			case tt.message == "<nothing>":
				if strings.Contains(f.Message, ":") {
					t.Errorf("got the message %q, want only how the process ended", f.Message)
				}
			case !strings.Contains(f.Message, tt.message):
				t.Errorf("got the message %q, want a message with %q\nstandard error:\n%s", f.Message, tt.message, f.Stderr)
			}
			if tt.class != "" && f.Class != string(tt.class) {
				t.Errorf("got the class %s, want %s", f.Class, tt.class)
			}
		})
	}
}

// failureOf runs a program that fails, and returns the record of its failure.
func failureOf(t *testing.T, argv []string, file, source string) *job.Failure {
	t.Helper()
	s := proc.Spec{Inherit: []string{"PATH", "HOME", "JAVA_HOME"}, Dir: t.TempDir(), Env: map[string]string{}}
	for _, arg := range argv {
		if arg == "FILE" {
			arg = filepath.Join(s.Dir, file)
			if err := os.WriteFile(arg, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.Argv = append(s.Argv, arg)
	}
	if file == "" {
		s.Env["REDRIVE_TEST_PROGRAM"] = source
	}
	_, err := proc.Run(t.Context(), s)
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		t.Fatalf("got the error %v, want the error of a process that failed", err)
	}
	end := &job.Ending{Err: commandError{exit}, How: job.ByError}
	o := outcome(t, &decide.Input{Policy: policy.Default(), Claim: aClaim(), Ending: end, Settings: decide.Settings{KeepRaw: true}})
	return o.Failure
}
