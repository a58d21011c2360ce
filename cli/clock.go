package cli

import "time"

// systemNow is the time that people see; when jobs are due is decided by the
// store's clock.
func systemNow() time.Time { return time.Now() }
