package command

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

const configUsage = "config [--bare DIR [SECTION.KEY=VALUE...]]"

// Config is `git ward config`: it shows every setting with its default, or a repository's own
// file, or changes settings there (CONF-1).
var Config = cli.Command{Name: "config", Doc: "print every setting with its default, or set some", Run: settings,
	Long: "With --bare it prints the repository's own file. A VALUE is TOML; one that is a word needs no quotes. What else the file says stays as it stands.",
	Examples: []cli.Example{{Line: `config`, Doc: "every setting, its default and its reason"},
		{Line: `config --bare /srv/git/project.git launch.agents=3 egress.mode=allowlist`, Doc: "three agents, and no way out"}}}

func settings(_ context.Context, env *cli.Env) error {
	var bare string
	args, err := env.Flags("config", configUsage, func(fs *flag.FlagSet) { cli.Bare(fs, &bare) })
	if err != nil {
		return err
	}
	if bare == "" {
		if len(args) > 0 {
			return env.Usage(configUsage, "%q: --bare DIR says whose settings", args[0])
		}
		_, err := fmt.Fprint(env.Stdout, config.Shipped)
		return err
	}
	path := filepath.Join(env.Path(bare), config.Path)
	data, err := config.ReadFile(path)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		_, err := env.Stdout.Write(data)
		return err
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return env.Usage(configUsage, "%q is not SECTION.KEY=VALUE", arg)
		}
		if key, value = strings.TrimSpace(key), strings.TrimSpace(value); config.Literal(key) == "" {
			return diag.Hint(fmt.Errorf("there is no setting %s", diag.Clean(key)), "git ward config prints them all")
		}
		if data, err = setTo(data, path, key, value); err != nil {
			return err
		}
	}
	if err := atomicfile.Rewrite(path, data); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "wrote %s: %s\n", config.Path, diag.Clean(strings.Join(args, " ")))
	return nil
}

// setTo gives a setting a value as it was typed, or else that text as a string.
func setTo(data []byte, path, key, value string) ([]byte, error) {
	set, err := config.Set(data, key, value)
	if err == nil {
		_, err = config.Parse(set, path)
	}
	if err == nil {
		return set, nil
	}
	quoted, bad := config.Set(data, key, strconv.Quote(value))
	if bad == nil {
		_, bad = config.Parse(quoted, path)
	}
	if bad == nil {
		return quoted, nil
	}
	if !config.IsValue(value) { // that it is no TOML says nothing to who typed it as a text
		err = bad
	}
	return nil, err
}
