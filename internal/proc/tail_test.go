package proc_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/internal/proc"
)

func TestTailKeepsTheLastBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tail proc.Tail
		var all []byte
		for i := range rapid.IntRange(0, 12).Draw(t, "writes") {
			size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 3*proc.TailMax)).Draw(t, "size")
			p := bytes.Repeat([]byte{byte('a' + i)}, size)
			all = append(all, p...)
			if n, err := tail.Write(p); n != size || err != nil {
				t.Fatalf("Write returned %d and the error %v, want all bytes written", n, err)
			}
			want := all[max(0, len(all)-proc.TailMax):]
			if got := tail.Bytes(); !bytes.Equal(got, want) {
				t.Fatalf("after writing %d bytes: kept %d bytes, want the last %d bytes unchanged", len(all), len(got), len(want))
			}
		}
	})
}
