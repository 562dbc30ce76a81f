package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// settings are the repository's own settings of git's.
type settings struct {
	repo *git.Repo
	in   *installer

	read  git.Mark            // how the file looked when it was read
	known map[string][]string // what it says then
}

// all are a setting's values, none where there is none. The file is read once for each change
// of it.
func (s *settings) all(ctx context.Context, key string) []string {
	if s.in.fresh && s.in.DryRun {
		return nil
	}
	if mark := s.repo.Mark("config"); s.known == nil || mark != s.read {
		s.read = mark
		s.known, _ = s.repo.Settings(ctx) // of one that cannot be read, the next git says why
	}
	return s.known[strings.ToLower(key)]
}

// get is a setting's value, the last where it has many, "" where there is none.
func (s *settings) get(ctx context.Context, key string) string {
	if all := s.all(ctx, key); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// provide sets a setting that has no value.
func (s *settings) provide(ctx context.Context, key, value string) error {
	if len(s.all(ctx, key)) > 0 {
		return nil // also one that is empty
	}
	return s.enforce(ctx, key, value)
}

// enforce sets a setting in any case, and reports a change.
func (s *settings) enforce(ctx context.Context, key, value string) error {
	if s.get(ctx, key) == value {
		return nil
	}
	return s.in.do(change("set", "%s = %s", key, value), func() error { return s.replace(ctx, key, value) })
}

// record is enforce without a report, for Ward's own bookkeeping.
func (s *settings) record(ctx context.Context, key, value string) error {
	if s.get(ctx, key) == value || s.in.DryRun {
		return nil
	}
	return s.replace(ctx, key, value)
}

func (s *settings) replace(ctx context.Context, key, value string) error {
	if err := s.in.before.remember(key, s.all(ctx, key), []string{value}); err != nil {
		return err
	}
	_, err := s.repo.Output(ctx, "config", "--local", "--replace-all", key, value)
	return err
}

// add gives a setting that has many values those of some that it lacks.
func (s *settings) add(ctx context.Context, key string, c func(n int) Change, values ...string) error {
	have := s.all(ctx, key)
	lacks := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(have, v) })
	if len(lacks) == 0 {
		return nil
	}
	return s.in.do(c(len(lacks)), func() error {
		if err := s.in.before.remember(key, have, append(slices.Clone(have), lacks...)); err != nil {
			return err
		}
		for _, value := range lacks {
			if _, err := s.repo.Output(ctx, "config", "--local", "--add", key, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// gitSettings sets what is unset in the repository's config. Two settings that would disable
// Ward are also corrected.
func (in *installer) gitSettings(ctx context.Context) error {
	c, err := in.loaded()
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
	err = in.settings.add(ctx, "receive.hideRefs", func(n int) Change {
		return change("set", "receive.hideRefs for %s that only the host moves", diag.Count(n, "ref"))
	}, hiddenRefs...)
	if err != nil {
		return err
	}
	return in.nonceSeed(ctx, c)
}

// hiddenRefs are the refs that no push may name; by receive.hideRefs git refuses them before a
// hook starts, and still shows them to fetches (AUD-2).
var hiddenRefs = slices.Concat(push.HostOnly, []string{"refs/replace"})
