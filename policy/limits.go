package policy

// WithLimits returns the policy with lower limits on attempts and age, for a program
// that has limits of its own. Zero, and values above the policy's limits, change
// nothing. Retries above the limit are cut, and decisions say so.
func (p *Policy) WithLimits(l Limits) *Policy {
	q := *p
	if l.MaxAttempts > 0 {
		q.limits.MaxAttempts = min(q.limits.MaxAttempts, l.MaxAttempts)
	}
	if l.MaxAge > 0 {
		q.limits.MaxAge = min(q.limits.MaxAge, l.MaxAge)
	}
	return &q
}
