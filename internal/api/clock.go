package api

import "time"

// systemNow is the clock of the system. Deadlines of connections are times of this clock, whatever
// clock the options have.
func systemNow() time.Time { return time.Now() }
