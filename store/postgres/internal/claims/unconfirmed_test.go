package claims

import (
	"testing"

	"github.com/redrive/redrive/internal/sqlstore"
)

// What comes while others are resolved stays, and so does what could not be given back.
func TestUnconfirmedClaimsStayUntilTheyAreResolved(t *testing.T) {
	t.Parallel()
	u := NewUnconfirmedClaims()
	add := func(holder string) { u.Add([]*sqlstore.Run{{}, {}}, holder, 1, 7) }
	if u.Add(nil, "nobody", 1, 0); len(u.List()) != 0 || len(u.Wake) != 0 {
		t.Fatal("a claim without jobs is unconfirmed")
	}
	add("a")
	all := u.List()
	if len(all) != 2 || all[0].Holder != "a" || all[1].PID != 7 || len(u.Wake) != 1 {
		t.Fatalf("%+v", all)
	}
	add("b") // meanwhile
	u.Resolved(len(all), all[1:])
	if left := u.List(); len(left) != 3 || left[0].Holder != "a" || left[1].Holder != "b" {
		t.Errorf("left: %+v", left)
	}
	u.Resolved(3, nil)
	if left := u.List(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}
