package servers

import "testing"

func TestVersions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]float64{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15.018,
		"postgres (PostgreSQL) 18.1":                           18.001,
		"postgres (PostgreSQL) 9.6.24":                         9, // before version 10 the major version had two numbers
		"postgres (PostgreSQL) 19beta1":                        19,
		"something else":                                       0,
		"":                                                     0,
	} {
		if got := versionIn(line); got != want {
			t.Errorf("version of %q: got %v, want %v", line, got, want)
		}
	}
}
