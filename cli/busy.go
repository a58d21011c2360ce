package cli

import (
	"fmt"
	"time"
)

// busy shows on a terminal what a command does and for how long, from the second second on. The returned
// function ends it.
func (a *app) busy(what string) (over func()) {
	return busyOn(&live{w: a.stderr, style: a.styleOf(a.stderr)}, what)
}

func busyOn(screen *live, what string) (over func()) {
	if !screen.style.terminal {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for seconds := 1; ; seconds++ {
			select {
			case <-done:
				screen.set("")
				return
			case <-tick.C:
				screen.set(fmt.Sprintf("%s: %d s", what, seconds))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
