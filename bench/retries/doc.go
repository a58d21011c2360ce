// Package retries compares package retry with other retry libraries in one run: go test -bench .
// ./retries. All do the same: at most four sends, no wait, one result. The cost of a success is
// measured with a strategy that would wait. It is made before and shared, as far as the library
// allows that.
package retries
