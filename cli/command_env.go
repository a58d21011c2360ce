package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/proc"
)

// commandStep is the name of the single step of a job that runs as a command.
const commandStep = "command"

// The beginnings of the variables for one attribute and for one override.
const (
	attrPrefix     = "REDRIVE_ATTR_"
	overridePrefix = "REDRIVE_OVERRIDE_"
)

// environment returns the variables that a command gets in addition to those that it inherits.
func (c *command) environment(j *redrive.Job[[]byte], dir string) map[string]string {
	env := maps.Clone(c.kind.SetEnv)
	if env == nil {
		env = make(map[string]string)
	}
	env["TMPDIR"] = dir
	env["REDRIVE_JOB_ID"] = j.ID.String()
	env["REDRIVE_KIND"] = j.Kind
	env["REDRIVE_ATTEMPT"] = strconv.Itoa(j.Attempt)
	env["REDRIVE_LIFE"] = strconv.Itoa(j.Life)
	env["REDRIVE_RUN"] = strconv.Itoa(j.Run)
	env["REDRIVE_STEP_KEY"] = j.StepKey(commandStep)
	env["REDRIVE_CORRELATION"] = j.Correlation
	env["REDRIVE_PAYLOAD_BYTES"] = strconv.Itoa(len(j.Args))
	if proc.ReportFD > 0 {
		env["REDRIVE_FD"] = strconv.Itoa(proc.ReportFD)
	}
	if len(j.Attrs) > 0 {
		env["REDRIVE_ATTRS"] = string(j.Attrs)
		eachScalar(j.Attrs, func(name, value string) { setVariable(env, attrPrefix, name, value) })
	}
	if len(j.Overrides) > 0 {
		if all, err := json.Marshal(j.Overrides); err == nil {
			env["REDRIVE_OVERRIDES"] = string(all)
		}
		for _, name := range slices.Sorted(maps.Keys(j.Overrides)) {
			setVariable(env, overridePrefix, name, j.Overrides[name])
		}
	}
	return env
}

// eachScalar calls f for each text, number and boolean of a JSON object, in the order of the names.
func eachScalar(object []byte, f func(name, value string)) {
	var values map[string]json.RawMessage
	if json.Unmarshal(object, &values) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := string(values[name])
		switch value[0] {
		case '{', '[', 'n':
			continue
		case '"':
			var text string
			if json.Unmarshal(values[name], &text) != nil {
				continue
			}
			value = text
		}
		f(name, value)
	}
}

// setVariable sets the variable for an attribute or an override: the name in capital letters, with
// '_' for all that a variable's name cannot contain. A variable that is set already stays. A value
// that no variable can have is left out.
func setVariable(env map[string]string, prefix, name, value string) {
	variable := prefix + strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, name)
	if _, taken := env[variable]; taken || variable == prefix || strings.ContainsRune(value, 0) {
		return
	}
	env[variable] = value
}
