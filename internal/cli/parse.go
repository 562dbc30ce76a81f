package cli

import (
	"flag"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/manual"
)

// parse sets a flag set's flags and returns the other arguments. help is "h" or "help"
// when that is what was asked. The flag package's own parser stops at the first argument,
// takes one dash for two, and knows no "did you mean".
func parse(fs *flag.FlagSet, args []string) (rest []string, help string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), "", nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		f := fs.Lookup(name)
		switch {
		case f == nil && (name == "h" || name == "help"):
			return nil, name, nil
		case f == nil:
			return nil, "", unknownFlag(fs, arg, name)
		case isSwitch(f) && !given:
			value = "true"
		case !given && len(args) == 0:
			return nil, "", fmt.Errorf("%s needs a value", arg)
		case !given:
			value, args = args[0], args[1:]
		}
		if err := fs.Set(name, value); err != nil {
			return nil, "", fmt.Errorf("%q is no value of %s: %w", value, manual.Flag{Name: name}.Dashed(), err)
		}
	}
	return rest, "", nil
}

// unknownFlag names the flag that was perhaps meant.
func unknownFlag(fs *flag.FlagSet, arg, name string) error {
	var names []string
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			names = append(names, f.Name)
		}
	})
	if near := diag.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag %s; did you mean %s?", arg, manual.Flag{Name: near}.Dashed())
	}
	return fmt.Errorf("unknown flag %s", arg)
}
