package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The lines with which files of the demo begin, continue and end, as real videos have a header,
// frames and an index.
const (
	magic = "DEMOCLIP\n"
	index = "moov\n"
)

// clip returns a file that the upstream offers for download. The fault t may damage it.
func clip(key string, t trouble) []byte {
	var b bytes.Buffer
	b.WriteString(magic)
	for i := range 40 {
		fmt.Fprintf(&b, "frame %d of %s\n", i, key)
	}
	switch t {
	case fileBroken:
		return b.Bytes()[:b.Len()-len("\n")]
	case fileStuck:
		b.WriteString("frame stuck\n")
	case fileHungry:
		b.WriteString("frame hungry\n")
	case fileConfused:
		b.WriteString("frame confused\n")
	default:
	}
	b.WriteString(index)
	return b.Bytes()
}

// Tool is the program that the jobs of the demo run as a subprocess, instead of a real
// encoder: "encode OUT IN…" joins files. It returns the exit code. Some input files make it
// fail, run out of memory, or hang until it is killed.
func Tool(ctx context.Context, args []string, stderr io.Writer) int {
	if len(args) < 3 || args[0] != "encode" {
		fmt.Fprintln(stderr, "usage: encode OUT IN...")
		return 2
	}
	err := encode(ctx, args[1], args[2:], stderr)
	if code, ok := errors.AsType[toolExit](err); ok {
		return int(code)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// toolExit is an exit code of the tool as an error. The message was already printed.
type toolExit int

func (e toolExit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// stuckMax is the longest time for which the tool hangs if no process kills it.
const stuckMax = time.Minute

func encode(ctx context.Context, out string, in []string, stderr io.Writer) error {
	var joined bytes.Buffer
	for _, name := range in {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := string(data)
		fmt.Fprintf(stderr, "Input: %s, %d bytes\n", name, len(data))
		switch {
		case !strings.HasPrefix(text, magic) || !strings.HasSuffix(text, index):
			fmt.Fprintf(stderr, "[mov,mp4 @ 0x55d1c0de] moov atom not found\n%s: Invalid data found when processing input\n", name)
			return toolExit(1)
		case strings.Contains(text, "frame stuck\n"):
			fmt.Fprintln(stderr, "frame= 40 fps=0.0 time=00:00:01.60 speed=0.00x")
			pause(ctx, stuckMax)
			return toolExit(1)
		case strings.Contains(text, "frame hungry\n"):
			fmt.Fprintln(stderr, "Error while filtering: Cannot allocate memory")
			return toolExit(137) // a shell reports this exit code if the kernel killed a process because memory ran out
		case strings.Contains(text, "frame confused\n"):
			fmt.Fprintln(stderr, "Error submitting packet to decoder: non-monotonic frame\nConversion failed!")
			return toolExit(1)
		}
		joined.WriteString(text)
	}
	return os.WriteFile(out, joined.Bytes(), 0o600)
}
