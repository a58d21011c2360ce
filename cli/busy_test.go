package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// A terminal shows what takes longer than a second; a pipe gets nothing.
func TestBusy(t *testing.T) {
	t.Parallel()
	for want, terminal := range map[string]bool{"": false, clearLine + "reading: 1 s" + clearLine + "reading: 2 s" + clearLine: true} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			over := busyOn(&live{w: &out, style: style{terminal: terminal}}, "reading")
			<-time.NewTimer(2500 * time.Millisecond).C
			over()
			if out.String() != want {
				t.Errorf("terminal %v: got %q, want %q", terminal, out.String(), want)
			}
		})
	}
	var out bytes.Buffer
	busyOn(&live{w: &out, style: style{terminal: true}}, "reading")()
	if out.Len() > 0 {
		t.Errorf("a command that ends at once wrote %q, want nothing", out.String())
	}
}
