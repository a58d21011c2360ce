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
			want := all[max(0, len(all)-proc.TailMax):] // there is no line at which it could be cut
			if got := tail.Bytes(); !bytes.Equal(got, want) {
				t.Fatalf("after writing %d bytes: kept %d bytes, want the last %d bytes unchanged", len(all), len(got), len(want))
			}
		}
	})
}

func TestATailBeginsWithALine(t *testing.T) {
	t.Parallel()
	line := []byte("shard 451 of 900 is copied\n")
	for _, size := range []int{1, 7, 100, proc.TailMax + 1, 3 * proc.TailMax} {
		var tail proc.Tail
		for all := bytes.Repeat(line, 3*proc.TailMax/len(line)); len(all) > 0; all = all[min(size, len(all)):] {
			_, _ = tail.Write(all[:min(size, len(all))])
		}
		got := tail.Bytes()
		if len(got)%len(line) != 0 || len(got) < proc.TailMax-len(line) || !bytes.HasPrefix(got, line) {
			t.Errorf("writes of %d bytes: kept %d bytes that begin with %.30q, want whole lines", size, len(got), got)
		}
	}
	var whole proc.Tail
	_, _ = whole.Write([]byte("half a line"))
	if got := whole.Bytes(); string(got) != "half a line" {
		t.Errorf("got %q of a text that is kept whole, want it unchanged", got)
	}
}
