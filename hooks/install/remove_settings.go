package install

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/hookdir"
)

// settingsBack restores each git setting that init changed. One that somebody has changed
// since stays. If nothing else was changed, the file becomes byte by byte as before.
func (r *remover) settingsBack(ctx context.Context) error {
	r.assume(ctx)
	var back []string
	for _, key := range slices.Sorted(maps.Keys(r.before.Settings)) {
		s, now := r.before.Settings[key], r.settings.all(ctx, key)
		half := len(now) < len(s.Before) && slices.Equal(now, s.Before[:len(now)]) // a removal was killed
		switch {
		case slices.Equal(now, s.Before):
		case many(key), slices.Equal(now, s.After), half, len(now) == 0:
			back = append(back, key)
		default:
			r.plan.Stays = append(r.plan.Stays, fmt.Sprintf("%s = %s, which somebody changed after init", key, strings.Join(now, ", ")))
		}
	}
	if len(back) == 0 && !r.before.known {
		return nil
	}
	what := "the settings of git to what they were: " + strings.Join(back, " ")
	if len(back) == 0 {
		what = "git's config file to what it was"
	}
	r.step(change("set", "%s", what), func() error {
		for _, key := range back {
			if err := r.putBack(ctx, key, r.before.Settings[key]); err != nil {
				return err
			}
		}
		return r.exactly(ctx)
	})
	return nil
}

// assume fills in what an earlier version did not record: a setting with init's value was set
// by init.
func (r *remover) assume(ctx context.Context) {
	if r.before.Settings == nil {
		r.before.Settings = map[string]setting{}
	}
	if r.before.known && !r.before.Assumed || !r.before.known && !r.guarded() {
		return
	}
	ours := map[string][]string{"receive.hideRefs": hiddenRefs}
	for _, name := range hookdir.Names {
		ours[hookdir.Key(name)] = r.settings.all(ctx, hookdir.Key(name))
	}
	for key, value := range map[string]string{
		"core.hooksPath": hookdir.Relative(r.Dir, r.layout.Dir), "core.logAllRefUpdates": "always", "receive.fsckObjects": "true", "receive.maxInputSize": "67108864",
		"receive.advertisePushOptions": "true", "receive.autogc": "false", "gc.auto": "0", "include.path": nonceFile,
	} {
		if now := r.settings.all(ctx, key); slices.Equal(now, []string{value}) || key == "include.path" {
			ours[key] = []string{value}
		}
	}
	for key, after := range ours {
		if _, ok := r.before.Settings[key]; !ok {
			r.before.Settings[key] = setting{After: after}
		}
	}
}

// many reports whether a setting has values of other people's beside Ward's.
func many(key string) bool { return key == "receive.hideRefs" || key == "include.path" }

// putBack restores a setting's values. For one with many values, only Ward's are removed, so
// that a kill in between loses nobody's.
func (r *remover) putBack(ctx context.Context, key string, s setting) error {
	git := func(args ...string) error {
		_, err := r.repo.Output(ctx, append([]string{"config", "--local"}, args...)...)
		return err
	}
	now := r.settings.all(ctx, key)
	switch {
	case many(key):
		for _, v := range s.After {
			if slices.Contains(now, v) && !slices.Contains(s.Before, v) {
				if err := git("--unset-all", "--fixed-value", key, v); err != nil {
					return err
				}
			}
		}
		return nil
	case len(s.Before) == 1:
		return git("--replace-all", key, s.Before[0])
	case len(now) > 0:
		if err := git("--unset-all", key); err != nil {
			return err
		}
	}
	for _, v := range s.Before {
		if err := git("--add", key, v); err != nil {
			return err
		}
	}
	return nil
}

// exactly restores the exact bytes of git's config file, if it has the same content and
// comments.
func (r *remover) exactly(ctx context.Context) error {
	path := filepath.Join(r.Dir, "config")
	now, err := os.ReadFile(path)
	if err != nil || !r.before.known || bytes.Equal(now, r.before.Config) {
		return err
	}
	old := filepath.Join(r.Dir, "ward/config.before")
	if err := atomicfile.WritePrivate(old, r.before.Config, 0o600); err != nil {
		return err
	}
	a, err := r.list(ctx, path)
	if err != nil {
		return err
	}
	b, err := r.list(ctx, old)
	if err != nil || a != b || remarks(now) != remarks(r.before.Config) {
		return err
	}
	return atomicfile.Rewrite(path, r.before.Config)
}

// list is all that a config file says, sorted, because sections may be written in pieces.
func (r *remover) list(ctx context.Context, path string) (string, error) {
	out, err := r.repo.Output(ctx, "config", "--file", path, "--no-includes", "--list", "-z")
	lines := strings.Split(string(out), "\x00")
	slices.SortStableFunc(lines, func(a, b string) int { // values of one key keep their order
		x, _, _ := strings.Cut(a, "\n")
		y, _, _ := strings.Cut(b, "\n")
		return strings.Compare(x, y)
	})
	return strings.Join(lines, "\x00"), err
}

// remarks are the comments of a config file.
func remarks(data []byte) string {
	var all []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n")
}
