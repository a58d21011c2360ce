package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
)

// ReclassifyIn says which class the failures of a group have.
type ReclassifyIn struct {
	GroupActIn
	// Class is a built-in class or one of the policy in force.
	Class string `json:"class" jsonschema:"minLength=1,maxLength=128"`
}

// reclassifyGroup keeps which class the failures of a group have.
func (a *API) reclassifyGroup(c *Call) error {
	var in ReclassifyIn
	g, by, err := a.groupFor(c, &in, &in.GroupActIn, false)
	if err != nil {
		return err
	}
	note, err := a.client.Reclassify(c.Context(), by, g.Fingerprint, failure.Class(in.Class))
	switch {
	case errors.Is(err, redrive.ErrInvalid):
		return InvalidField.Mistaken(Mistake{Pointer: "/class", Detail: fmt.Sprintf("%.80q cannot be set: it is neither a built-in class nor one of the policy in force, or the failures of this group have neither words nor a code", in.Class)})
	case err != nil:
		return err
	}
	return c.JSON(http.StatusCreated, note)
}
