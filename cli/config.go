package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Find all mistakes in a configuration."`
	Show  configShowCmd  `cmd:"" help:"Show the streams of a configuration, and where each value is from."`
}

type configCheckCmd struct {
	jsonFlag
	File string `arg:"" optional:"" help:"Configuration file. Default: the file that the other commands use."`
}

// Help implements kong.HelpProvider.
func (*configCheckCmd) Help() string {
	return `Each mistake is printed on one line: FILE:LINE:COLUMN, and what is wrong. The exit code is then 1. The policy file of the
configuration is checked too.

    redrive config check
    redrive config check production.yaml`
}

func (c *configCheckCmd) Run(a *app) error {
	file := c.File
	if file == "" {
		file, _ = a.configPath()
	}
	loaded, err := config.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return absentf("configuration %s: there is no such file", file)
	}
	if err == nil {
		_, err = openPolicy(&settings{loaded, file})
	}
	if err == nil {
		if err = checkDSN(loaded); err != nil {
			return fmt.Errorf("%s: database: %w", file, err)
		}
	}
	if err == nil {
		_, err = payloadChecks(loaded)
	}
	problems, mistakes := errors.AsType[config.Problems](err)
	if err != nil && !mistakes {
		return err
	}
	if c.JSON {
		return a.problemsJSON(file, problems)
	}
	for _, p := range problems {
		fmt.Fprintln(a.out, words.Clean(p.String()))
	}
	if mistakes {
		return failed{}
	}
	_, err = fmt.Fprintf(a.out, "%s: good; %s, %s\n", words.Clean(file),
		words.Count(int64(len(loaded.Kinds)), "kind"), words.Count(int64(len(loaded.Queues)), "queue"))
	return err
}

func (a *app) problemsJSON(file string, problems config.Problems) error {
	check := wire.FileCheck{File: file, Problems: make([]wire.Problem, len(problems))}
	for i, p := range problems {
		check.Problems[i] = wire.Problem{File: p.File, Line: p.Line, Col: p.Col, Message: p.Message}
	}
	if err := a.printJSON(check); err != nil || len(problems) == 0 {
		return err
	}
	return failed{}
}
