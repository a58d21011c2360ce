package classify_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// The output of programs as they really write it, and the line that tells the cause. Programs that
// many machines have are run in internal/decide.
//
// part of: F1
func TestF1_TheLineOfTheCause(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, stderr, stdout, want string }{
		{"Node: memory", "\n<--- Last few GCs --->\n\n[1234:0x6c1d000]     2310 ms: Mark-Compact 15.9 (18.1) -> 15.2 (18.4) MB, 12.5 / 0.0 ms\n\n<--- JS stacktrace --->\n\n" +
			"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb7a940 node::Abort() [node]\n" +
			" 2: 0xa8e823  [node]\n16: 0x195e476  [node]\n", "",
			"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"},
		{"Java: a cause", "Exception in thread \"main\" java.lang.RuntimeException: load the settings\n\tat A.main(A.java:3)\n" +
			"Caused by: java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.connect0(Native Method)\n\t... 5 more\n", "",
			"Caused by: java.net.ConnectException: Connection refused"},
		{"Java: the launcher", "Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"String.length()\" because \"<local1>\" is null\n\tat A.main(A.java:1)\n" +
			"\tat jdk.compiler/com.sun.tools.javac.launcher.Main.execute(Main.java:484)\n\tat jdk.compiler/com.sun.tools.javac.launcher.Main.main(Main.java:132)\n", "",
			`Exception in thread "main" java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null`},
		{"PHP: an exception", "PHP Fatal error:  Uncaught Exception: the moon is odd in /app/a.php:3\nStack trace:\n#0 /app/a.php(5): f()\n#1 {main}\n  thrown in /app/a.php on line 3\n", "",
			"PHP Fatal error:  Uncaught Exception: the moon is odd in /app/a.php:3"},
		{"PHP: only standard output", "", "\nFatal error: Uncaught Exception: the moon is odd in /app/a.php:3\nStack trace:\n#0 /app/a.php(5): f()\n#1 {main}\n  thrown in /app/a.php on line 3\n",
			"Fatal error: Uncaught Exception: the moon is odd in /app/a.php:3"},
		{"Ruby", "a.rb:1:in `f': the moon is odd (RuntimeError)\n\tfrom a.rb:2:in `<main>'\n", "", "a.rb:1:in `f': the moon is odd (RuntimeError)"},
		{"Python: code without a file", "Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nFileNotFoundError: [Errno 2] No such file or directory: '/data/x.csv'\n", "",
			"FileNotFoundError: [Errno 2] No such file or directory: '/data/x.csv'"},
		{"no text", strings.Repeat("\x01\ufffd\ufffdq\n\ufffd\x02", 400), "", "the output is not text"},
		{"no text, and an error", strings.Repeat("\x01\ufffd\ufffdq\n\ufffd\x02", 400) + "\nthe moon is odd\n", "", "the moon is odd"},
		{"Rust", "\nthread 'main' panicked at src/main.rs:2:5:\nthe moon is odd\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", "", "the moon is odd"},
		{"Rust: frames", "thread 'main' panicked at src/main.rs:2:5:\nthe moon is odd\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/90b35a623/library/std/src/panicking.rs:665:5\n" +
			"   1: core::panicking::panic_fmt\n             at /rustc/90b35a623/library/core/src/panicking.rs:76:14\n   2: a::main\nnote: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n", "",
			"the moon is odd"},
		{".NET", "Unhandled exception. System.InvalidOperationException: the moon is odd\n   at Program.<Main>$(String[] args) in /app/Program.cs:line 3\nAborted (core dumped)\n", "",
			"Unhandled exception. System.InvalidOperationException: the moon is odd"},
		{"Go: a panic", "panic: the moon is odd [recovered]\n\tpanic: the moon is odd\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/app/main.go:9\nmain.main()\n\t/app/main.go:5 +0x1d\nexit status 2\n", "",
			"panic: the moon is odd"},
		{"Go: a test", "", "=== RUN   TestA\n    a_test.go:7: got 3 lines, want 4\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\nFAIL\n", "--- FAIL: TestA (0.00s)"},
		{"FFmpeg", "ffmpeg version 6.1.1 Copyright (c) 2000-2023 the FFmpeg developers\n  built with gcc 13\n  configuration: --enable-gpl\n  libavutil      58. 29.100 / 58. 29.100\n" +
			"[mov,mp4,m4a,3gp,3g2,mj2 @ 0x5581c0de] moov atom not found\n[in#0 @ 0x5581c0ff] Error opening input: Invalid data found when processing input\n" +
			"Error opening input file in.mp4.\nError opening input files: Invalid data found when processing input\n", "",
			"Error opening input files: Invalid data found when processing input"},
		{"FFmpeg: a filter", "Stream mapping:\n  Stream #0:0 -> #0:0 (h264 (native) -> h264 (libx264))\nframe=   40 fps=0.0 q=0.0 size=       0kB time=00:00:01.60 bitrate=   0.2kbits/s speed=3.2x\n" +
			"Error while filtering: the moon is odd\nConversion failed!\n", "", "Error while filtering: the moon is odd"},
		{"make", "gcc: a.c is odd\nmake: *** [Makefile:2: all] Error 1\n", "", "gcc: a.c is odd"},
		{"npm", "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! A complete log of this run can be found in:\n", "> build\n> tsc\n\nsrc/a.ts(3,5): error TS2304: Cannot find name 'moon'.\n",
			"npm ERR! code ELIFECYCLE"},
		{"tar", "tar: a.tgz: the moon is odd\ntar: Exiting with failure status due to previous errors\n", "", "tar: a.tgz: the moon is odd"},
		{"a shell", "+ step one\n+ step two\nstep two says that the moon is odd\n", "", "step two says that the moon is odd"},
		{"a log", "2026-03-01 10:00:00 INFO worker starts\n2026-03-01 10:00:01 INFO reads settings\nthe moon is odd\n2026-03-01 10:00:02 INFO goodbye\n", "", "the moon is odd"},
		{"a goodbye", "the moon is odd\nReport saved. Bye.\n", "", "the moon is odd"},
		{"several errors", "error: one\nerror: two\nbye\n", "", "error: two"},
		{"only a footer", "Node.js v20.20.2\n", "", "Node.js v20.20.2"},
		{"only blanks", " \n\n---\n", "", ""},
		{"blanks and standard output", "\n", "the moon is odd\n", "the moon is odd"},
	} {
		one := 1
		e := failure.Evidence{Message: "exit status 1", Exit: &one, Stderr: []byte(tt.stderr), Stdout: []byte(tt.stdout)}
		want := "exit status 1: " + tt.want
		if tt.want == "" {
			want = "exit status 1"
		}
		// Without the rules, only the form of the lines counts.
		if got := classify.Complete(&e, &classify.Classification{}); got != want {
			t.Errorf("%s: got %q, want %q", tt.name, got, want)
		}
		for _, wrapped := range []string{"render clip 3: exit status 1", "exit status 1: the text of the handler"} {
			e.Message = wrapped
			if got := classify.Complete(&e, &classify.Classification{}); !strings.HasPrefix(got, wrapped) || strings.HasSuffix(wrapped, "handler") && got != wrapped {
				t.Errorf("%s: got %q of the message %q", tt.name, got, wrapped)
			}
		}
	}
}

// A rule decides by a line of standard output only if nothing else says much, or if the line
// speaks of one cause alone.
//
// part of: F1
func TestF1_StandardOutputIsEvidenceAfterStandardError(t *testing.T) {
	t.Parallel()
	one := 1
	for _, tt := range []struct {
		stderr, stdout, line string
		class                failure.Class
	}{
		{"", "validating\nERROR: permission denied\n", "ERROR: permission denied", failure.PermissionError},
		{"connection refused", "validating\nERROR: permission denied\n", "connection refused", failure.TemporaryServiceError},
		{"The requested URL returned error: 429", `{"error":{"code":"insufficient_quota"}}`, `{"error":{"code":"insufficient_quota"}}`, failure.QuotaExceeded},
		{"connection refused", "rate_limit=100 timeout=3 invalid=0", "connection refused", failure.TemporaryServiceError},
	} {
		e := failure.Evidence{Message: "exit code 1", Exit: &one, Stderr: []byte(tt.stderr), Stdout: []byte(tt.stdout)}
		c := classify.Builtin().Classify(&e, "k")
		if c.Class != tt.class || c.Line != tt.line {
			t.Errorf("%q and %q: got %s by the line %q, want %s by %q", tt.stderr, tt.stdout, c.Class, c.Line, tt.class, tt.line)
		}
	}
}

// part of: F1
func TestF1_OutputIsPlainText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("shard 451 of 900 is copied\n", 10_000)
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"\x1b[31mERROR\x1b[0m\r\n", "ERROR\n"},
		{"\xff\xfeE\x00r\x00r\x00", "Err"},
		{"caf\xe9", "caf\ufffd"},
		{long, long[len(long)-failure.StderrMax/27*27:]},
	} {
		if got := string(failure.Output([]byte(tt.in))); got != tt.want {
			t.Errorf("%.40q: got %d bytes, %.60q; want %d bytes, %.60q", tt.in, len(got), got, len(tt.want), tt.want)
		}
	}
}

func FuzzComplete(f *testing.F) {
	f.Add("Traceback (most recent call last):\n  File \"a\", line 1\n    x\nE: y {\n  code: 1\n", "#0 {main}\n 1: 0x1\nstack backtrace:\n 2: x")
	f.Add("/app/a.js:3\nthrow x\n^\n\nx\n", "thread 'main' panicked at a:1:\nx\nmain.main()\n\t/a.go:1\nrax 0x0")
	f.Fuzz(func(t *testing.T, stderr, stdout string) {
		one := 1
		e := failure.Evidence{Message: "exit code 1", Exit: &one, Stderr: failure.Output([]byte(stderr)), Stdout: failure.Output([]byte(stdout))}
		c := classify.Builtin().Classify(&e, "k")
		got := classify.Complete(&e, &c)
		if !strings.HasPrefix(got, "exit code 1") || len(got) > failure.MessageMax || strings.Contains(got, "\n") {
			t.Fatalf("got the message %q", got)
		}
	})
}

// Bytes that are no text are one group, whatever words, codes and lines are in them by chance.
//
// part of: D6
func TestD6_OutputThatIsNoTextIsOneGroup(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- noise for a test
	one := 1
	keys := map[string]bool{}
	for range 50 {
		noise := make([]byte, 100<<10)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		e := failure.Evidence{Message: "exit code 1", Exit: &one, Stderr: failure.Output(noise)}
		c := classify.Builtin().Classify(&e, "k")
		keys[failure.Fingerprint("k", c.Class, "exit.1", classify.Complete(&e, &c)).Key] = true
	}
	if len(keys) != 1 {
		t.Errorf("50 outputs that are no text are %d groups, want 1", len(keys))
	}
}
