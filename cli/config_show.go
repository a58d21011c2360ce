package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/config"
)

type configShowCmd struct {
	File string `arg:"" optional:"" help:"Configuration file. Default: the file that the other commands use."`
}

// Help implements kong.HelpProvider.
func (*configShowCmd) Help() string {
	return `The source of a value is the file, the preset of the stream, a default, or the name of a variable of the environment. Secrets are
in files, of which only the names are shown.

    redrive config show`
}

func (c *configShowCmd) Run(a *app) error {
	file := c.File
	if file == "" {
		file, _ = a.configPath()
	}
	loaded, err := config.Load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return absentf("configuration %s: there is no such file", file)
	}
	if err != nil {
		return err
	}
	t := table{columns: []column{{title: "STREAM"}, {title: "SETTING"}, {title: "VALUE"}, {title: "SOURCE"}}}
	wrong := loaded.FromEnvironment(a.lookup)
	for _, name := range loaded.StreamNames {
		s := loaded.Streams[name]
		for _, row := range [][3]string{
			{"brokers", strings.Join(s.Brokers, ","), s.Sources["brokers"]}, {"topic", s.Topic, s.Sources["topic"]}, {"retry", s.Retry, s.Sources["retry"]},
			{"min_wait", s.MinWait.String(), ""}, {"dead", s.Dead, ""}, {"results", s.Results, ""}, {"group", s.Group, ""}, {"queue", s.Queue, ""},
			{"backlog", strconv.Itoa(s.Backlog), ""},
		} {
			t.add(name, row[0], orDash(row[1]), orDash(row[2]))
		}
		if m := s.Marks; m != nil {
			t.add(name, "marks", m.Redis.String(), s.Sources["marks"])
		}
		if d := s.Documents; d != nil {
			t.add(name, "documents", d.MongoDB.String(), s.Sources["documents"])
			t.add(name, "documents.dead", d.Dead, orDash(s.Sources["documents.dead"]))
		}
		for _, setting := range config.NumberNames() {
			if value := s.Numbers[setting]; value != "" {
				t.add(name, setting, value, s.Sources[setting])
			}
		}
	}
	if len(loaded.StreamNames) == 0 {
		fmt.Fprintln(a.out, "no streams")
	} else {
		t.print(a.out, a.styleOf(a.stdout))
	}
	return wrong
}

// lookup returns a variable of the environment, and whether it is set.
func (a *app) lookup(name string) (string, bool) {
	if text := a.getenv(name); text != "" {
		return text, true
	}
	return os.LookupEnv(name) // only whether an empty variable is set
}
