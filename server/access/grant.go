package access

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/store"
)

// GrantError is a mistake in what a key should allow.
type GrantError struct {
	Field  string // name of the field, as in JSON
	Detail string
}

func (e *GrantError) Error() string { return e.Field + ": " + e.Detail }

// CheckGrant returns a *GrantError when the rights of a key contradict each other or a role is
// unknown. The store checks the sizes.
func CheckGrant(k *store.AccessKey) error {
	var roles Roles
	for _, name := range k.Roles {
		role, ok := ParseRole(name)
		if !ok {
			return &GrantError{"roles", suggest.Unknown("role", name, RoleNames())}
		}
		if roles&role != 0 {
			return &GrantError{"roles", fmt.Sprintf("the role %q is named twice", name)}
		}
		roles |= role
	}
	switch {
	case roles == 0:
		return &GrantError{"roles", "a key needs at least one role of " + strings.Join(RoleNames(), ", ")}
	case k.Owner != "" && roles != Submit:
		return &GrantError{"owner", fmt.Sprintf("a key of an owner has the role \"submit\" only, not %s", roles)}
	case k.Owner != "" && k.Delegate:
		return &GrantError{"delegate", "a key of an owner acts for this owner only; leave out \"owner\" or \"delegate\""}
	case k.Delegate && roles&Submit == 0:
		return &GrantError{"delegate", "acting for owners needs the role \"submit\""}
	case len(k.Kinds) > 0 && roles&^(Submit|Work) != 0:
		return &GrantError{"kinds", fmt.Sprintf("kinds restrict the roles \"submit\" and \"work\" only; the key also has %s", roles&^(Submit|Work))}
	case len(k.Queues) > 0 && roles&^(Submit|Work) != 0:
		return &GrantError{"queues", fmt.Sprintf("queues restrict the roles \"submit\" and \"work\" only; the key also has %s", roles&^(Submit|Work))}
	}
	return nil
}

// rolesOf returns the roles of a stored key. A role of a newer version of redrive allows nothing.
func rolesOf(names []string) (roles Roles) {
	for _, name := range names {
		role, _ := ParseRole(name)
		roles |= role
	}
	return roles
}
