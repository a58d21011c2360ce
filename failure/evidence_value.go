package failure

import (
	"context"
	"io"
	"io/fs"
)

// readValue reads an error of which there is only one, known by identity.
func (e *Evidence) readValue(err error) bool {
	if err == context.Canceled { //nolint:errorlint // the walk looks at each error by itself
		e.Canceled = true
		return true
	}
	for i := range values {
		if err == values[i].err { //nolint:errorlint // as above
			e.addTypes(values[i].names)
			return true
		}
	}
	return false
}

// readIs asks an error with an Is method which of the known values it stands
// for.
func (e *Evidence) readIs(err interface{ Is(error) bool }) {
	e.Timeout = e.Timeout || err.Is(context.DeadlineExceeded)
	e.Canceled = e.Canceled || err.Is(context.Canceled)
	for i := range values {
		if err.Is(values[i].err) {
			e.addTypes(values[i].names)
		}
	}
}

// values are the errors that are recognised by identity.
var values = [...]struct {
	err   error
	names []string
}{
	{io.EOF, []string{"io.EOF"}},
	{io.ErrUnexpectedEOF, []string{"io.ErrUnexpectedEOF"}},
	{fs.ErrNotExist, []string{"fs.ErrNotExist"}},
	{fs.ErrExist, []string{"fs.ErrExist"}},
	{fs.ErrPermission, []string{"fs.ErrPermission"}},
	{fs.ErrClosed, []string{"fs.ErrClosed"}},
}
