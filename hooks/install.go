package hooks

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/config"
)

// settings sets what is unset in the repository's config. Two that would switch
// Ward off are also put right when they were changed.
func (in *initializer) settings() error {
	c, err := config.Load(in.dir)
	if err != nil {
		return err
	}
	for _, s := range []struct {
		key, value string
		must       bool
	}{
		{"core.hooksPath", "hooks", true}, // against a hooksPath in the owner's own config
		{"core.logAllRefUpdates", "always", true},
		{"receive.fsckObjects", "true", false},
		{"receive.maxInputSize", fmt.Sprint(c.Limits.InputSize), false},
		{"receive.advertisePushOptions", "true", false},
		{"receive.autogc", "false", false},
		{"gc.auto", "0", false},
	} {
		out, err := in.repo.Output(in.ctx, "config", "--local", "--get", s.key)
		now := strings.TrimSuffix(string(out), "\n")
		if err == nil && (now == s.value || !s.must) {
			continue
		}
		if _, err := in.repo.Output(in.ctx, "config", "--local", s.key, s.value); err != nil {
			return err
		}
		in.did("set %s = %s", s.key, s.value)
	}
	return nil
}

// hookModule is how Ward's hook binary is told from anybody else's hook.
const hookModule = "git-ward/hooks/cmd/ward-hook"

// hooks installs the hook binary under both names. A hook that stood there is
// kept and runs after Ward's (HOOK-6).
func (in *initializer) hooks() error {
	binary, err := cli.Program("ward-hook")
	if err != nil {
		return err
	}
	want, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	dir := filepath.Join(in.dir, "hooks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"pre-receive", "post-receive"} {
		path := filepath.Join(dir, name)
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && bytes.Equal(have, want) {
			continue
		}
		if err == nil && !isWardHook(path) {
			chained := path + ".chained"
			if _, err := os.Lstat(chained); err == nil {
				return cli.Hint(fmt.Errorf("both %s and %s are somebody else's hooks", path, chained), "merge them into %s", chained)
			}
			if err := os.Rename(path, chained); err != nil {
				return err
			}
			in.did("kept hooks/%s as hooks/%s.chained; it runs after Ward's", name, name)
		}
		if err := atomicfile.Write(path, want, 0o755); err != nil {
			return err
		}
		in.did("installed hooks/%s", name)
	}
	return nil
}

func isWardHook(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == hookModule
}
