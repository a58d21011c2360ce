package notify

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// DigestLimits are the settings of digests about deaths. 0 means the default.
type DigestLimits struct {
	// Above is the number of members of a batch that get a message each, 1 to ItemsMax; more get a digest.
	// Default MembersMax.
	Above int `json:"above,omitempty"`
	// Wait is how long a window is open, in seconds: DigestWaitMin to DigestWaitMax. Default WindowLength.
	Wait int `json:"wait_s,omitempty"`
}

// Limits of DigestLimits.Wait.
const (
	DigestWaitMin = 10 * time.Second
	DigestWaitMax = 24 * time.Hour
)

func (r *Rule) checkDigest() error {
	d := r.Digest
	waits := func(on Event) bool { return on == MemberDead || on == JobDead || on == JobHeld || on == GroupFirst }
	switch wait := time.Duration(d.Wait) * time.Second; {
	case d == DigestLimits{}:
		return nil
	case r.Every:
		return errors.New("\"every\" sends each message at once, so there are no digests: remove one of both")
	case d.Above < 0 || d.Above > ItemsMax:
		return fmt.Errorf("\"above\" is %d: it must be 1 to %d", d.Above, ItemsMax)
	case d.Wait != 0 && (wait < DigestWaitMin || wait > DigestWaitMax):
		return fmt.Errorf("\"wait\" is %s: it must be %s to %s", wait, DigestWaitMin, DigestWaitMax)
	case d.Above != 0 && !slices.Contains(r.On, MemberDead):
		return fmt.Errorf("\"above\" counts members of a batch: remove it, or add %s to \"on\"", MemberDead)
	case !slices.ContainsFunc(r.On, waits):
		return fmt.Errorf("no event of the rule is a death, and only deaths wait for a digest: remove \"digest\"")
	}
	return nil
}
