package cli

import "time"

// systemNow returns the time of this machine. It is used only in output for people; the
// clock of the store decides when jobs are due.
func systemNow() time.Time { return time.Now() }
