package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/cache"
)

// CachePath is the directory of the cache's entries, below the repository. A container sees only the
// entry that is mounted into it.
const CachePath = "ward/cache"

// caching is a verifier's state of the cache.
type caching struct {
	mu     sync.Mutex
	failed map[string]string // why a key could not be filled from a commit, by both
}

// Warm fills the cache for the tip of the project's branch, unless it is filled (LOOP-12). It reads
// nothing of an agent's branch.
func (v *Verifier) Warm(ctx context.Context) error {
	if len(v.Settings.Verify.Cache) == 0 || v.Shared == nil { // a verification of its own does it itself
		return nil
	}
	conn, release, err := v.Shared.Use()
	if err != nil {
		return err
	}
	defer release()
	e, _, err := v.warm(ctx, conn, &verifier.Claim{Bounds: Bounds(v.Settings)})
	return errors.Join(err, e.Close())
}

// Bounds returns the limits of a tree that is checked out for a command.
func Bounds(s *config.Config) verifier.Bounds {
	b := s.Verify
	return verifier.Bounds{Entries: b.CheckoutEntries, Depth: b.CheckoutDepth, Bytes: b.CheckoutSize}
}

// warm returns the cache's entry for a claim, nil for none, with main's lockfiles. It fills a missing
// entry first.
func (v *Verifier) warm(ctx context.Context, conn *fence.Connection, claim *verifier.Claim) (*cache.Entry, cache.Locks, error) {
	s := v.Settings.Verify
	if len(s.Cache) == 0 {
		return nil, nil, nil
	}
	repo := Repo(v.Bare, v.Settings)
	main, err := repo.Ref(ctx, v.Settings.Control.ProjectRef())
	if err != nil || main == git.Zero {
		return nil, nil, err
	}
	tree, err := verifier.Tree(ctx, repo, main, claim.Bounds)
	if err != nil {
		return nil, nil, err
	}
	locks := cache.LocksOf(tree, s.Cache)
	if len(locks.Kinds()) == 0 {
		return nil, nil, nil
	}
	store := cache.Store{Dir: filepath.Join(v.Bare, CachePath), Size: s.CacheSize}
	key := locks.Key(conn.Image, fence.Toolchain(conn.GoRoot), strings.Join(s.CacheSources, " "))
	e, err := store.Newest(key, main)
	if err != nil || e != nil && e.Seal.Main == main {
		return e, locks, err
	}
	if why := v.caching.why(key + main); why != "" {
		return e, locks, errors.New(why)
	}
	err = store.Fill(ctx, key, main, locks.Kinds(), s.Timeout.Duration, func(before *cache.Entry, w io.Writer) error {
		return v.fill(ctx, conn, claim, main, locks, before, w)
	})
	if err != nil {
		if ctx.Err() == nil {
			v.caching.note(key+main, err.Error())
		}
		return e, locks, err
	}
	e.Close()
	e, err = store.Newest(key, main)
	return e, locks, err
}

func (c *caching) why(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[what]
}

func (c *caching) note(what, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]string{}
	}
	c.failed[what] = why
}

// fill runs the script that packs what main's lockfiles name, in a container of its own with a network as
// [egress] says and the repository to read, without door and gateway.
func (v *Verifier) fill(ctx context.Context, conn *fence.Connection, claim *verifier.Claim, main string, locks cache.Locks, before *cache.Entry, w io.Writer) (err error) {
	if err := v.room(); err != nil {
		return err
	}
	if v.Policy.Mode != firewall.Public {
		return diag.Hint(errors.New(`the cache is not filled: [egress] mode is "allowlist", and no name of it leads a download out`),
			`vendor what a build needs, or leave [verify] cache empty`)
	}
	f, err := conn.New(v.Podman.Scratch, v.Policy, v.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	spec := f.Container(v.Bare, v.Settings, image.AgentID)
	size := v.Settings.Verify.CacheSize
	state := podman.Mount{Kind: podman.Tmpfs, Target: fence.InsideState, Size: size}
	if !f.Engine.Rootless() {
		made, err := scratch.Make(filepath.Join(v.Bare, CachePath), "disk-")
		if err != nil {
			return err
		}
		defer made.Remove()
		// Twice the size: for what was fetched, and for what of it is packed.
		state = podman.Mount{Kind: podman.Disk, Source: filepath.Join(made.Path, "bot.img"), Target: fence.InsideState, Size: 2 * size, Owner: image.AgentID}
	}
	spec.Mounts = append(spec.Mounts, state)
	v.bound(spec)
	maps.Copy(spec.Env, cache.FillEnv())
	for _, source := range v.Settings.Verify.CacheSources {
		if name, value, ok := strings.Cut(source, "="); ok {
			spec.Env[name] = value
		}
	}
	if before != nil {
		spec.Mounts = append(spec.Mounts, fence.ReadOnly(before.Dir, cache.Inside))
	}
	trustHost(spec)
	runner := &verifier.Containers{Engine: f.Engine, Limits: limits(v.Settings), Container: *spec, Rules: f.Enforce, Remote: fence.InsideBare, Dir: fence.InsideState + "/work"}
	step := verifier.Step{Command: verifier.Command{Name: "cache", Line: fmt.Sprintf("fetch and build what main's lockfiles name (%v)", locks.Kinds())}}
	hide := hiding(v.Settings.Verify.CacheSources)
	told := *claim
	// Secrets that a rule recognizes come first: after a replacement inside it, the rule would not match.
	told.Redact = func(text string) string { return hide.Replace(claim.Redacted(text)) }
	o, err := told.Watch(step, func(live *verifier.Live) (verifier.Outcome, error) {
		return runner.Pack(ctx, verifier.Job{Commit: main, Line: locks.FillScript(), Live: live}, w)
	})
	if err == nil && !o.OK() {
		err = fmt.Errorf("the cache is not filled: %s %d: %s", o.End, o.Exit, told.Redacted(o.Last()))
	}
	return err
}

// hiding removes the addresses of [verify] cache_sources that contain a user name or a password. It also
// removes each password alone, and each name alone that has no password or is at least longName long: a
// token may be either, and tools print addresses in their own way.
func hiding(sources []string) *strings.Replacer {
	var secrets []string
	for _, source := range sources {
		_, value, _ := strings.Cut(source, "=")
		for _, address := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",| ", r) }) {
			u, err := url.Parse(address)
			if err != nil || u.User == nil {
				continue
			}
			password, both := u.User.Password()
			secrets = append(secrets, address, u.User.String(), url.PathEscape(password), password)
			if name := u.User.Username(); !both || len(name) >= longName {
				secrets = append(secrets, url.PathEscape(name), name)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	// The longest first: of two that begin alike, the replacer takes the first.
	slices.SortStableFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, secret := range secrets {
		pairs = append(pairs, secret, "[cache_sources]")
	}
	return strings.NewReplacer(pairs...)
}

// longName is the least length, in bytes, of a user name that is hidden alone if it has a password: git
// and oauth2 are words.
const longName = 8

// hostCerts is where a host keeps the certificates that it trusts.
const hostCerts = "/etc/ssl/certs"

// trustHost makes a container trust the host's certificates, a company's own among them.
func trustHost(s *podman.Spec) {
	const inside, bundle = "/ward/certs", "/ca-certificates.crt"
	if info, err := os.Stat(hostCerts + bundle); err != nil || !info.Mode().IsRegular() {
		return
	}
	s.Mounts = append(s.Mounts, fence.ReadOnly(hostCerts, inside))
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "PIP_CERT"} {
		s.Env[name] = inside + bundle
	}
}
