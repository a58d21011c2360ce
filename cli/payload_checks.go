package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/schema"
)

// payloadChecks reads the schemas of all kinds, and checks the payloads of the cron entries. The
// error has the mistakes of all files.
func payloadChecks(c *config.Config) (map[string]redrive.PayloadCheck, error) {
	checks := map[string]redrive.PayloadCheck{}
	var problems config.Problems
	var wrong several
	for _, name := range c.KindNames {
		file := c.Kinds[name].Schema
		if file == "" {
			continue
		}
		s, err := readSchema(file)
		mistakes, bad := errors.AsType[schema.Problems](err)
		switch {
		case bad:
			for _, m := range mistakes {
				problems = append(problems, config.Problem{File: m.File, Line: m.Line, Col: m.Column, Message: fmt.Sprintf("schema of kind %q: %s", name, m.Detail)})
			}
		case err != nil:
			wrong = append(wrong, fmt.Errorf("kind %q: %w", name, err))
		default:
			checks[name] = s
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, name := range c.CronNames {
		entry := c.Cron[name]
		check := checks[entry.Kind]
		if check == nil {
			continue
		}
		if mistakes := check.CheckPayload(entry.Payload); len(mistakes) > 0 {
			wrong = append(wrong, fmt.Errorf("cron entry %q: %w", name, &redrive.PayloadError{Kind: entry.Kind, Mistakes: mistakes}))
		}
	}
	return checks, wrong.asError()
}

// readSchema reads a JSON Schema from a file.
func readSchema(file string) (*schema.Schema, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("schema cannot be read: %w", err)
	}
	defer f.Close()
	// One byte more than the limit is read, which shows that the schema is too long.
	text, err := io.ReadAll(io.LimitReader(f, schema.BytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("schema cannot be read: %w", err)
	}
	return schema.Compile(file, text)
}

// lazyChecks returns checks that read the schema of a kind when a payload of the kind is checked
// for the first time. A command that changes no payload thus works beside a wrong schema.
func lazyChecks(c *config.Config) map[string]redrive.PayloadCheck {
	checks := map[string]redrive.PayloadCheck{}
	for name, k := range c.Kinds {
		if k.Schema != "" {
			checks[name] = lazySchema(sync.OnceValues(func() (*schema.Schema, error) { return readSchema(k.Schema) }))
		}
	}
	return checks
}

type lazySchema func() (*schema.Schema, error)

// CheckPayload implements redrive.PayloadCheck.
func (read lazySchema) CheckPayload(payload []byte) []redrive.PayloadMistake {
	s, err := read()
	if err != nil {
		return []redrive.PayloadMistake{{Detail: "the payload cannot be checked: " + err.Error()}}
	}
	return s.CheckPayload(payload)
}
