package redrive

import "time"

// now returns the time by the client's clock.
func (c *Config) now() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock.Now()
}
