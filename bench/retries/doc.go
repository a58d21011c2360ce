// Package retries compares package retry with libraries that retry calls, in one
// run: go test -bench . ./retries. All do the same: four sends at most, no wait, one
// value. What a success costs is measured with a strategy that would wait, of which
// each library can make one before and share it, as far as it allows that.
package retries
