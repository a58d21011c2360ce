package policy

// WithLimits returns the policy under lower ceilings on attempts and age, for a
// program that has its own. Zero and what is higher than the policy's own change
// nothing; retries above the ceiling are cut to it, which decisions tell.
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
