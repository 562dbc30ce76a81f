package git

import (
	"context"
	"strings"
)

// HTTPRemote is a repository behind HTTP, such as a forge's. What is sent to prove who asks is in
// the environment of git's child alone: no command line and no file has it, and it follows
// no redirect.
type HTTPRemote struct {
	URL    string // https://, or http:// on this machine
	Header string // a line of each request, such as Authorization's; "" for none
}

// List is the refs of a repository that fit any of the patterns (git-ls-remote(1)): object
// ids by full ref name.
func (r *Repo) List(ctx context.Context, a HTTPRemote, patterns ...string) (map[string]string, error) {
	out, err := r.away(ctx, a, append([]string{"ls-remote", "--quiet", "--refs", "--", a.URL}, patterns...))
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && IsID(id) {
			refs[ref] = id
		}
	}
	return refs, nil
}

// FetchAway fetches refspecs from a. It deletes no ref here, and forces only refspecs with `+`.
func (r *Repo) FetchAway(ctx context.Context, a HTTPRemote, refspecs ...string) error {
	_, err := r.away(ctx, a, append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--", a.URL}, refspecs...))
	return err
}

// PushAway pushes refspecs to a, and forces none: give refspecs without `+`.
func (r *Repo) PushAway(ctx context.Context, a HTTPRemote, refspecs ...string) error {
	_, err := r.away(ctx, a, append([]string{"push", "--quiet", "--no-verify", "--no-signed", "--", a.URL}, refspecs...))
	return err
}

func (r *Repo) away(ctx context.Context, a HTTPRemote, args []string) ([]byte, error) {
	cmd := r.writer(ctx, args...)
	settings := [][2]string{{"http.followRedirects", "false"}, {"credential.helper", ""}}
	if a.Header != "" {
		settings = append(settings, [2]string{"http.extraHeader", a.Header})
	}
	cmd.Env = append(variables(Harden(r.base()), settings...), "GIT_ALLOW_PROTOCOL=http:https")
	out, err := cmd.Output()
	if err != nil {
		return nil, childWords(ctx, args[0], err)
	}
	return out, nil
}
