package api

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// ownerMay returns the problem OwnerMayNot if the configuration of the kind does not allow owners an action.
func (a *API) ownerMay(j *job.Job, what string, allowed bool) error {
	if allowed {
		return nil
	}
	return OwnerMayNot.New("Owners of jobs of the kind %q may not %s them.", j.Kind, what)
}

// ownerRetries returns an OwnerMayNot unless an owner may retry a job with a change.
func (a *API) ownerRetries(c *Call, j *job.Job, in *ChangeIn) error {
	rules := a.o.Kinds[j.Kind].Owner
	if err := a.ownerMay(j, "retry", rules.Retry); err != nil {
		return err
	}
	if left, err := a.ownerRetriesLeft(c, j); err != nil {
		return err
	} else if !left {
		return OwnerMayNot.New("Owners of jobs of the kind %q may retry them %d times, and the owner of this job has done so.", j.Kind, rules.MaxRetries)
	}
	var wrong []Mistake
	for _, f := range [...]struct {
		name string
		set  bool
	}{{"queue", in.Queue != ""}, {"priority", in.Priority != 0}, {"policy", in.Policy != nil}, {"delay_ms", in.DelayMS != nil}, {"payload", in.Payload != nil}} {
		if f.set {
			wrong = append(wrong, Mistake{Pointer: "/" + f.name, Detail: "owners may not change it"})
		}
	}
	if in.Patch != nil {
		var ops []struct{ Op, Path, From string }
		if err := json.Unmarshal(in.Patch, &ops); err != nil {
			wrong = append(wrong, Mistake{Pointer: "/patch", Detail: "must be a JSON Patch: an array of operations"})
		}
		for i, op := range ops {
			if op.Op != "replace" && op.Op != "add" && op.Op != "test" || !slices.Contains(rules.Change, op.Path) {
				wrong = append(wrong, Mistake{Pointer: fmt.Sprintf("/patch/%d", i), Detail: fmt.Sprintf("owners may not change %.100q", op.Path)})
			}
		}
	}
	if len(wrong) > 0 {
		return OwnerMayNot.Mistaken(wrong...)
	}
	return nil
}

// ownerRetriesLeft reports whether the configuration allows one more retry by the owner of a job.
func (a *API) ownerRetriesLeft(c *Call, j *job.Job) (bool, error) {
	most := a.o.Kinds[j.Kind].Owner.MaxRetries
	if most == 0 || int(j.Life) <= most { // the job has been retried too seldom to ask by whom
		return true, nil
	}
	n, err := a.retriedByOwner(c, j.ID)
	return n < most, err
}

// retriedByOwner returns how many retries of a job its owner has made. Retries of operators do not
// count.
func (a *API) retriedByOwner(c *Call, id job.ID) (n int, err error) {
	f := redrive.AuditFilter{Target: id.String(), Actions: []string{"job.retry"}, Limit: job.PageMax}
	for {
		page, err := a.client.Audit(c.Context(), f)
		if err != nil {
			return 0, fmt.Errorf("read the retries of job %d: %w", id, err)
		}
		for i := range page.Entries {
			if page.Entries[i].Owner != "" {
				n++
			}
		}
		if f.Before = page.Next; f.Before == 0 {
			return n, nil
		}
	}
}
