package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
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
		{"core.hooksPath", hookdir.Relative(in.dir, in.layout.Dir), true}, // against a hooksPath in the owner's own config
		{"core.logAllRefUpdates", "always", true},
		{"receive.fsckObjects", "true", false},
		{"receive.maxInputSize", fmt.Sprint(c.Limits.InputSize), false},
		{"receive.advertisePushOptions", "true", false},
		{"receive.autogc", "false", false},
		{"gc.auto", "0", false},
	} {
		if err := in.set(s.key, s.value, s.must, true); err != nil {
			return err
		}
	}
	return errors.Join(in.hidden(), in.nonceSeed(c))
}

// set gives a setting of the repository its value: where it has none, or, with
// must, another. Told says whether the admin reads of it.
func (in *initializer) set(key, value string, must, told bool) error {
	out, err := in.repo.Output(in.ctx, "config", "--local", "--get", key)
	now := strings.TrimSuffix(string(out), "\n")
	if err == nil && (now == value || !must) {
		return nil
	}
	if _, err := in.repo.Output(in.ctx, "config", "--local", key, value); err != nil {
		return err
	}
	if told {
		in.did("set %s = %s", key, value)
	}
	return nil
}

// hiddenRefs are the refs that no push may name; git refuses them by receive.hideRefs
// before a hook is started, and goes on showing them to whoever fetches (AUD-2).
var hiddenRefs = slices.Concat(push.HostOnly, []string{"refs/ward/lease", "refs/replace"})

// hidden adds the host's refs to receive.hideRefs, which has many values.
func (in *initializer) hidden() error {
	out, err := in.repo.Output(in.ctx, "config", "--local", "--get-all", "receive.hideRefs")
	if err != nil {
		out = nil // none yet
	}
	there := strings.Split(string(out), "\n")
	added := 0
	for _, ref := range hiddenRefs {
		if slices.Contains(there, ref) {
			continue
		}
		if _, err := in.repo.Output(in.ctx, "config", "--local", "--add", "receive.hideRefs", ref); err != nil {
			return err
		}
		added++
	}
	if added > 0 {
		in.did("set receive.hideRefs for %s that only the host moves", diag.Count(added, "ref"))
	}
	return nil
}

// hooks installs the hook binary under both names, in the layout that the
// repository has or that --hooks names. A hook that stood there is kept and runs
// after Ward's (HOOK-6).
func (in *initializer) hooks() error {
	binary, err := cli.Program("ward-hook")
	if err != nil {
		return err
	}
	want, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(in.layout.Dir, 0o755); err != nil {
		return err
	}
	for _, name := range hookdir.Names {
		path := in.layout.Path(name)
		if path == filepath.Join(in.layout.Dir, name) {
			if err := errors.Join(in.keepChained(name), in.removeStale(name)); err != nil {
				return err
			}
		} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := in.installHook(path, name, want); err != nil {
			return err
		}
	}
	return nil
}

// installHook writes one hook and records where it is.
func (in *initializer) installHook(path, name string, want []byte) error {
	rel := hookdir.Relative(in.dir, path)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(have, want) {
		if err := atomicfile.Write(path, want, 0o755); err != nil {
			return err
		}
		in.did("installed %s%s", rel, layoutWords(path, name))
	} else if err := os.Chmod(path, 0o755); err != nil {
		return err
	}
	return in.set(hookdir.Key(name), rel, true, false)
}

// layoutWords says what runs a hook that git does not run itself.
func layoutWords(path, name string) string {
	if filepath.Base(path) == name {
		return ""
	}
	return ", which the delegate " + name + " there runs"
}

// keepChained moves somebody else's hook out of the place that Ward's takes. The
// first version kept it under a name of Ward's making, where it was run with a
// wrong $0; that one moves, too.
func (in *initializer) keepChained(name string) error {
	path, chained := filepath.Join(in.layout.Dir, name), in.layout.Chained(name)
	for _, from := range []string{path, path + ".chained"} {
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) || err == nil && from == path && hookdir.IsWard(from) {
			continue
		} else if err != nil {
			return err
		}
		if from == path && sameFile(from, chained) {
			continue // a forge wrote its hook anew; installHook replaces it
		}
		if _, err := os.Lstat(chained); err == nil {
			return diag.Hint(fmt.Errorf("both %s and %s are somebody else's hooks", from, chained), "merge them into %s and remove %s", chained, from)
		}
		if err := os.MkdirAll(filepath.Dir(chained), 0o755); err != nil {
			return err
		}
		if err := os.Rename(from, chained); err != nil {
			return err
		}
		in.did("kept %s as %s; it runs after Ward's", hookdir.Relative(in.dir, from), hookdir.Relative(in.dir, chained))
	}
	return nil
}

// sameFile reports whether two regular files hold the same bytes.
func sameFile(a, b string) bool {
	for _, path := range []string{a, b} {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	one, err1 := os.ReadFile(a)
	two, err2 := os.ReadFile(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// removeStale removes Ward's hook from below a delegate that is there no more.
func (in *initializer) removeStale(name string) error {
	stale := in.layout.Stale(name)
	if !hookdir.IsWard(stale) {
		return nil
	}
	in.did("removed %s: no delegate runs it", hookdir.Relative(in.dir, stale))
	return os.Remove(stale)
}
