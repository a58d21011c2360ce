// Package retries compares package retry with other retry libraries in one run: go test -bench .
// ./retries. Every library does the same work: at most four sends, no wait and one result. The cost
// of a call that succeeds is measured with a retry strategy that would wait after a failure. If the
// library allows it, this strategy is created before the measurement and all calls share it.
package retries
