//go:build !linux

package proc

import (
	"errors"
	"os"
)

func memoryFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
