package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// part of: Q8
func TestQ8_AnActThatHangsDoesNotHoldUpTheThirdSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals, over, hung := make(chan os.Signal), make(chan struct{}), make(chan struct{})
		var last os.Signal
		hang := func(os.Signal) { <-hung }
		go obey(signals, over, hang, hang, func(s os.Signal) { last = s })
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT} {
			signals <- s
		}
		synctest.Wait()
		if last != syscall.SIGQUIT {
			t.Errorf("the third function got signal %v, want the third signal", last)
		}
		close(hung)
	})
}

func TestObey_EndsWithTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the test fails if the goroutine does not end
		over := make(chan struct{})
		go obey(make(chan os.Signal), over, func(os.Signal) { t.Error("a function was called without a signal, want no call") })
		close(over)
	})
}
