// Package human writes values the way people do.
package human

import (
	"strings"
	"time"
)

// Duration writes a duration without the zero units at its end: 5m, not 5m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
