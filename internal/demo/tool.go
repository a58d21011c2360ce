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

// Files of the demo begin with magic and end with their index, as those of a real
// container do; between them are frames.
const (
	magic = "DEMOCLIP\n"
	index = "moov\n"
)

// clip is a file as the upstream has it, with a trouble in it.
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

// Tool is the program that jobs of the demo run as a subprocess, in place of a real
// encoder: "encode OUT IN…" joins files. It returns the exit code. Like a real one
// it fails when a file is broken, runs out of memory, and hangs until it is killed.
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

// toolExit ends the tool after it has said why.
type toolExit int

func (e toolExit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// stuckMax is how long the tool hangs if nobody ends it.
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
			return toolExit(137) // as a shell tells a kill for want of memory
		case strings.Contains(text, "frame confused\n"):
			fmt.Fprintln(stderr, "Error submitting packet to decoder: non-monotonic frame\nConversion failed!")
			return toolExit(1)
		}
		joined.WriteString(text)
	}
	return os.WriteFile(out, joined.Bytes(), 0o600)
}
