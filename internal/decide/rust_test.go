package decide_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

const rustSource = `use std::{env, fs, io};

fn main() -> Result<(), io::Error> {
    let lines = vec![1, 2, 3];
    match env::args().nth(1).as_deref() {
        Some("panic") => panic!("invoice {} has no lines", 7),
        Some("index") => println!("{}", lines[env::args().count() + 5]),
        Some("unwrap") => drop("seven".parse::<i32>().unwrap()),
        Some("expect") => drop(fs::read("/nowhere/file").expect("read the settings")),
        _ => drop(fs::read("/nowhere/file")?),
    }
    Ok(())
}
`

// proves: F1
func TestF1_TheMessageOfARustProgram(t *testing.T) {
	t.Parallel()
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		t.Skip("rustc is not installed")
	}
	program := filepath.Join(t.TempDir(), "program")
	compile := exec.CommandContext(t.Context(), rustc, "-C", "debuginfo=0", "--crate-name", "program", "-o", program, "-")
	compile.Stdin, compile.Env = strings.NewReader(rustSource), os.Environ()
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, out)
	}
	for _, tt := range []struct {
		how, message string
		class        failure.Class
	}{
		{"panic", "invoice 7 has no lines", ""},
		{"index", "index out of bounds: the len is 3 but the index is 7", ""},
		{"unwrap", "`Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }", ""},
		{"expect", "read the settings: Os { code: 2, kind: NotFound", failure.ProgramError},
		{"error", "Os { code: 2, kind: NotFound, message: \"No such file or directory\" }", failure.NotFound},
	} {
		f := failureOf(t, []string{program, tt.how}, "", "")
		if !strings.Contains(f.Message, tt.message) {
			t.Errorf("%s: got the message %q, want a message with %q\nstandard error:\n%s", tt.how, f.Message, tt.message, f.Stderr)
		}
		if tt.class != "" && f.Class != string(tt.class) {
			t.Errorf("%s: got the class %s, want %s", tt.how, f.Class, tt.class)
		}
	}
}
