package cli

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
)

type policyShowCmd struct {
	Name      string `arg:"" optional:"" placeholder:"FILE|preset:NAME|HASH" help:"A file, a preset, or the beginning of a stored policy's hash. Default: the policy of the configuration."`
	Effective bool   `help:"Include what the built-in default and the configuration add."`
}

// Help implements kong.HelpProvider.
func (*policyShowCmd) Help() string {
	return `The output is a policy file that includes the policy which it extends. With --effective, all missing values are filled in
from the built-in default, and the schedules of kinds and the ceiling of the configuration are applied.

    redrive policy show
    redrive policy show preset:default > policy.yaml
    redrive policy show --effective
    redrive policy show 9467f998`
}

// hashPattern matches the beginning of a policy hash.
var hashPattern = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

func (c *policyShowCmd) Run(ctx context.Context, a *app) error {
	if _, err := os.Stat(c.Name); err != nil && hashPattern.MatchString(c.Name) {
		if c.Effective {
			return usagef("--effective: a stored policy is shown as it is kept; decisions say which schedules and ceilings were applied to it")
		}
		return a.showStored(ctx, c.Name)
	}
	s, err := a.settings()
	if err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		name = s.policyName()
	}
	p, err := loadPolicy(name)
	if err != nil {
		return err
	}
	if name == "" {
		name = "the built-in default"
	}
	fmt.Fprintf(a.out, "# From %s; hash %s.\n", words.Clean(name), policy.ShortHash(p.Hash()))
	if !c.Effective {
		_, err = a.out.Write(p.Source())
		return err
	}
	if _, err := underConfig(p, s.Config); err != nil {
		return err
	}
	spec := effective(p.Spec(), s.Config)
	if s.file != "" {
		fmt.Fprintf(a.out, "# With the schedules and the attempt ceiling of %s.\n", words.Clean(s.file))
	}
	for _, kind := range s.KindNames {
		if codes := s.Kinds[kind].PermanentExitCodes; len(codes) > 0 {
			fmt.Fprintf(a.out, "# Exit codes that end a job of kind %s at once: %s.\n", kind, numbers(codes))
		}
	}
	_, err = a.out.Write(policyfile.Render(&spec))
	return err
}

func numbers(all []int) string {
	words := make([]string, len(all))
	for i, n := range all {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

// showStored prints the stored policy whose hash begins with prefix.
func (a *app) showStored(ctx context.Context, prefix string) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	hash, err := storedHash(ctx, client, prefix)
	if err != nil {
		return err
	}
	p, err := client.StoredPolicy(ctx, hash)
	if err != nil {
		return fmt.Errorf("read policy %s: %w", hash, err)
	}
	fmt.Fprintf(a.out, "# Policy %s, hash %s, since %s.\n%s", words.Clean(p.Name), words.Clean(p.Hash), words.Time(p.At), words.CleanBlock(string(p.Body)))
	return nil
}

// storedHash returns the stored hash that begins with prefix. It is an error if there is
// none or more than one.
func storedHash(ctx context.Context, client *redrive.Client, prefix string) (string, error) {
	list, err := client.StoredPolicies(ctx)
	if err != nil {
		return "", fmt.Errorf("list policies: %w", err)
	}
	var found []string
	for _, p := range list {
		if strings.HasPrefix(p.Hash, prefix) {
			found = append(found, p.Hash)
		}
	}
	switch len(found) {
	case 0:
		return "", absentf("policy %s: there is no file and no stored policy of this name; `redrive policy list` lists them", prefix)
	case 1:
		return found[0], nil
	}
	return "", usagef("policy %s: %d stored policies begin with it; give more of the hash, such as %.16s", prefix, len(found), found[0])
}
