package api

import "time"

// systemNow is the clock of the system.
func systemNow() time.Time { return time.Now() }
