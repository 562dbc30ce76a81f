package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// settings are the repository's own settings of git's.
type settings struct {
	repo   *git.Repo
	report *Report
}

// get is a setting's value, "" where there is none.
func (s settings) get(ctx context.Context, key string) string {
	out, err := s.repo.Output(ctx, "config", "--local", "--get", key)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(out), "\n")
}

// provide gives a setting its value where it has none.
func (s settings) provide(ctx context.Context, key, value string) error {
	if _, err := s.repo.Output(ctx, "config", "--local", "--get", key); err == nil {
		return nil // also one that is empty
	}
	return s.enforce(ctx, key, value)
}

// enforce gives a setting its value, whatever it was, and reports a change.
func (s settings) enforce(ctx context.Context, key, value string) error {
	changed, err := s.record(ctx, key, value)
	if changed {
		s.report.did("set %s = %s", key, value)
	}
	return err
}

// record is enforce without a word to the admin, for what Ward notes down for itself.
func (s settings) record(ctx context.Context, key, value string) (changed bool, err error) {
	if s.get(ctx, key) == value {
		return false, nil
	}
	_, err = s.repo.Output(ctx, "config", "--local", key, value)
	return err == nil, err
}

// gitSettings sets what is unset in the repository's config. Two that would switch
// Ward off are also put right when they were changed.
func (in *installer) gitSettings(ctx context.Context) error {
	c, err := config.Load(in.Dir)
	if err != nil {
		return err
	}
	for _, s := range []struct{ key, value string }{
		{"core.hooksPath", hookdir.Relative(in.Dir, in.layout.Dir)}, // against a hooksPath in the owner's own config
		{"core.logAllRefUpdates", "always"},
	} {
		if err := in.settings.enforce(ctx, s.key, s.value); err != nil {
			return err
		}
	}
	for _, s := range []struct{ key, value string }{
		{"receive.fsckObjects", "true"},
		{"receive.maxInputSize", fmt.Sprint(c.Limits.InputSize)},
		{"receive.advertisePushOptions", "true"},
		{"receive.autogc", "false"},
		{"gc.auto", "0"},
	} {
		if err := in.settings.provide(ctx, s.key, s.value); err != nil {
			return err
		}
	}
	if err := in.settings.hideRefs(ctx); err != nil {
		return err
	}
	return in.nonceSeed(ctx, c)
}

// hiddenRefs are the refs that no push may name; git refuses them by receive.hideRefs
// before a hook is started, and goes on showing them to whoever fetches (AUD-2).
var hiddenRefs = slices.Concat(push.HostOnly, []string{"refs/ward/lease", "refs/replace"})

// hideRefs adds the host's refs to receive.hideRefs, which has many values.
func (s settings) hideRefs(ctx context.Context) error {
	out, err := s.repo.Output(ctx, "config", "--local", "--get-all", "receive.hideRefs")
	if err != nil {
		out = nil // none yet
	}
	hidden := strings.Split(string(out), "\n")
	added := 0
	for _, ref := range hiddenRefs {
		if slices.Contains(hidden, ref) {
			continue
		}
		if _, err := s.repo.Output(ctx, "config", "--local", "--add", "receive.hideRefs", ref); err != nil {
			return err
		}
		added++
	}
	if added > 0 {
		s.report.did("set receive.hideRefs for %s that only the host moves", diag.Count(added, "ref"))
	}
	return nil
}
