package forge

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/forge"
	"git-ward/protocols/gate"
)

const (
	heads = "refs/heads/"
	// workPrefix begins the branches that are Ward's, and never come from the forge.
	workPrefix = heads + "agent/"
	// Principal is the name by which the forge's branches enter, with a member's rights.
	Principal = "forge"
	// incoming are refs of the repository that is made for what comes in.
	incoming = "refs/in/"
)

// fetched brings the project's branches and tags here, through the gate.
func (p *pass) fetched() error {
	from := p.Git(p.self.Login, p.project.Clone)
	p.word.Stopped = nil
	there, err := p.Repo.List(p.ctx, from, heads+"*", "refs/tags/*")
	if err != nil {
		return err
	}
	before, _, err := load[forge.Word](p, forge.WordRef)
	if err != nil {
		return err
	}
	var wanted []string
	here := map[string]string{}
	for _, ref := range slices.Sorted(maps.Keys(there)) {
		if !p.theirs(ref) {
			continue
		}
		if here[ref], err = p.Repo.Ref(p.ctx, ref); err != nil {
			return err
		}
		if here[ref] == there[ref] {
			continue
		}
		if i := slices.IndexFunc(before.Stopped, func(s forge.Stopping) bool { return s.Ref == ref && s.Commit == there[ref] }); i >= 0 {
			p.word.Stopped = append(p.word.Stopped, before.Stopped[i]) // it was refused, and is no other since
			continue
		}
		wanted = append(wanted, ref)
	}
	if len(wanted) == 0 {
		return nil
	}
	if p.Dry != nil {
		for _, ref := range wanted {
			fmt.Fprintf(p.Dry, "would fetch %s at %s, and push it through the gate as %s\n", diag.Clean(ref), diag.Short(there[ref]), Principal)
		}
		return nil
	}
	return p.bring(from, wanted, here, there)
}

// theirs reports whether a ref is the forge's to move.
func (p *pass) theirs(ref string) bool {
	return ref != p.Settings.Control.Ref() && !strings.HasPrefix(ref, workPrefix) && !strings.HasPrefix(ref, heads+"rescue/")
}

// bring fetches refs into a repository of their own, and pushes each from there as anybody
// would: what the gate refuses never was here.
func (p *pass) bring(from git.Away, wanted []string, here, there map[string]string) error {
	repo, dir, err := p.Repo.Borrow(p.Dir)
	if err != nil {
		return err
	}
	defer dir.Remove()
	repo.Limits = p.Settings.ReceiveLimits()
	var specs []string
	for _, ref := range wanted {
		specs = append(specs, "+"+ref+":"+incoming+strings.TrimPrefix(ref, "refs/"))
	}
	if err := repo.FetchAway(p.ctx, from, specs...); err != nil {
		return err
	}
	for _, ref := range wanted {
		tip, err := repo.Ref(p.ctx, incoming+strings.TrimPrefix(ref, "refs/"))
		if err != nil {
			return err
		}
		why, err := p.enter(repo, ref, here[ref], tip)
		if err != nil {
			return err
		}
		if why != "" {
			p.word.Stopped = append(p.word.Stopped, forge.Stopping{Ref: ref, Commit: tip, Why: diag.Untrusted(why)})
		}
	}
	return nil
}

// enter pushes one ref. Why says what keeps it out.
func (p *pass) enter(repo *git.Repo, ref, here, tip string) (why string, err error) {
	if here != git.Zero {
		reader := repo.Reader(p.ctx)
		defer reader.Close()
		switch forward, err := reader.Contains(tip, here); {
		case err != nil:
			return "", err
		case !forward:
			ahead, err := reader.Contains(here, tip)
			if err != nil || ahead {
				return "it has commits here that the forge does not have; push them there", err
			}
			return "its history was rewritten on the forge", nil
		}
	}
	return p.push(repo, "member", Principal, tip, ref)
}

// push pushes a commit through the gate as somebody. Why is the gate's refusal.
func (p *pass) push(repo *git.Repo, principal, name, commit, ref string) (why string, err error) {
	key, err := os.ReadFile(filepath.Join(p.Repo.Dir, token.KeyFile))
	if err != nil {
		return "", diag.Hint(fmt.Errorf("the door's key cannot be read: %w", err), "git ward init --bare %s --update", p.Repo.Dir)
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.Settings.Door.Time.Duration)
	defer cancel()
	said, err := repo.PushAs(ctx, token.Environ(key, token.NewID(time.Now()), principal, name), []string{gate.AsJSON}, p.Repo.Dir, commit+":"+ref)
	if err == nil {
		p.Log.Info().Str("ref", ref).Str("commit", commit).Msg("fetched")
		return "", nil
	}
	if a, _ := gate.Read(string(said)); a != nil && a.Verdict == gate.Refused {
		return "the gate refuses it for " + strings.Join(a.Rules(), ", "), nil
	}
	return "", err
}

// stopped is why a ref does not follow the forge, "" where it does.
func (p *pass) stopped(ref string) string {
	for _, s := range p.word.Stopped {
		if s.Ref == ref {
			return s.Why.String()
		}
	}
	return ""
}
