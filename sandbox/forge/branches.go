package forge

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/sandbox/door"
)

const (
	heads = "refs/heads/"
	tags  = "refs/tags/"
	// workPrefix begins Ward's branches, which are never fetched from the forge.
	workPrefix = heads + "agent/"
	// incoming is the prefix of fetched refs in the repository that is made for one fetch.
	incoming = "refs/in/"
)

// fetched brings the project's branches and tags from the forge through the gate.
func (p *pass) fetched() error {
	from := p.Git(p.self.Login, p.project.Clone)
	there, err := p.Repo.List(p.ctx, from, heads+"*", tags+"*")
	if err != nil {
		return err
	}
	here, err := p.here()
	if err != nil {
		return err
	}
	wanted := p.due(here, there)
	if len(wanted) == 0 {
		return nil
	}
	if p.Dry != nil {
		for _, ref := range wanted {
			fmt.Fprintf(p.Dry, "would fetch %s at %s, and push it through the gate as %s\n", diag.Clean(ref), diag.Short(there[ref]), forge.Principal)
		}
		return nil
	}
	return p.bring(from, wanted, here, there)
}

// due are the refs to bring. What was refused, and is no other since, stays out unasked; as many
// of those that the word could not name are asked about again as it has room for now.
func (p *pass) due(here, there map[string]string) (wanted []string) {
	before := p.word
	p.word.Stopped, p.word.Beyond = nil, nil
	was, marks := map[string]forge.Stopping{}, map[string]bool{}
	for _, s := range before.Stopped {
		if s.Commit == there[s.Ref] && s.Commit != here[s.Ref] && !s.Again {
			was[s.Ref] = s
		}
	}
	for _, m := range before.Beyond {
		marks[m] = true
	}
	room := len(before.Stopped) - len(was)
	for _, ref := range slices.Sorted(maps.Keys(there)) {
		if !p.theirs(ref) || here[ref] == there[ref] {
			continue
		}
		old, stopped := was[ref]
		m := mark(ref, there[ref])
		switch why := noRoom(ref, here); {
		case stopped:
			p.stop(old)
		case marks[m] && room <= 0:
			p.word.Beyond = append(p.word.Beyond, m)
		case why != "":
			p.stop(forge.Stopping{Ref: ref, Commit: there[ref], Why: diag.Untrusted(why)})
		default:
			wanted = append(wanted, ref)
		}
		if marks[m] {
			room--
		}
	}
	return wanted
}

// theirs reports whether a ref is the forge's to move.
func (p *pass) theirs(ref string) bool {
	return ref != p.Settings.Control.Ref() && !strings.HasPrefix(ref, workPrefix) && !strings.HasPrefix(ref, heads+"rescue/")
}

// bring fetches refs into a repository of their own and pushes each from there, so that
// objects of refused refs never enter this one.
func (p *pass) bring(from git.HTTPRemote, wanted []string, here, there map[string]string) error {
	repo, dir, err := p.Repo.Borrow("")
	if err != nil {
		return err
	}
	defer dir.Remove()
	repo.Limits = p.Settings.ReceiveLimits()
	var specs []string
	for _, ref := range wanted {
		specs = append(specs, incomingOf(ref))
	}
	alone := false // one by one, because one bad ref fails a whole fetch
	if err := repo.FetchAway(p.ctx, from, specs...); err != nil {
		if _, away := p.Repo.List(p.ctx, from, heads+"*"); away != nil {
			return err // the forge fails, not one of the refs
		}
		alone = true
	}
	for _, ref := range wanted {
		why, err := p.enter(repo, from, ref, here[ref], there[ref], alone)
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		again := err != nil // trouble with one ref does not stop the others
		if again {
			why = diag.Cut(diag.Clean(err.Error()), 500)
		}
		if why != "" {
			p.stop(forge.Stopping{Ref: ref, Commit: there[ref], Why: diag.Untrusted(why), Again: again})
		}
	}
	return nil
}

// borrowed has a ref of a repository on the forge, and its commit, in a repository of its own until end.
func (p *pass) borrowed(clone, ref string) (repo *git.Repo, tip string, end func(), err error) {
	repo, dir, err := p.Repo.Borrow("")
	if err != nil {
		return nil, "", nil, err
	}
	repo.Limits = p.Settings.ReceiveLimits()
	const in = incoming + "one"
	if err = repo.FetchAway(p.ctx, p.Git(p.self.Login, clone), "+"+ref+":"+in); err == nil {
		tip, err = repo.Ref(p.ctx, in)
	}
	if err != nil {
		dir.Remove()
	}
	return repo, tip, func() { dir.Remove() }, err
}

// stop records why a ref is kept out.
func (p *pass) stop(s forge.Stopping) { p.word.Stopped = append(p.word.Stopped, s) }

// incomingOf is the refspec for fetching a ref.
func incomingOf(ref string) string {
	return "+" + ref + ":" + incoming + strings.TrimPrefix(ref, "refs/")
}

// here lists the repository's branches and tags.
func (p *pass) here() (map[string]string, error) {
	refs := map[string]string{}
	for _, prefix := range []string{heads, tags} {
		list, err := p.Repo.Refs(p.ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			refs[t.Name] = t.ID
		}
	}
	return refs, nil
}

// noRoom says why git's own rules for ref names would keep a ref out.
func noRoom(ref string, here map[string]string) string {
	if here[ref] != "" {
		if strings.HasPrefix(ref, tags) {
			return "a tag that was here was moved on the forge; where that is right, delete it here as the PM"
		}
		return ""
	}
	for name := range here {
		if strings.HasPrefix(name, ref+"/") || strings.HasPrefix(ref, name+"/") {
			return name + " is here and leaves its name no room; delete that one here as the PM, if it is no more"
		}
	}
	return ""
}

// enter pushes one ref if the forge still has it at that commit. why is the reason if it is
// kept out.
func (p *pass) enter(repo *git.Repo, from git.HTTPRemote, ref, here, there string, alone bool) (why string, err error) {
	if alone {
		if err := repo.FetchAway(p.ctx, from, incomingOf(ref)); err != nil {
			return "", err
		}
	}
	tip, err := repo.Ref(p.ctx, incoming+strings.TrimPrefix(ref, "refs/"))
	if err != nil {
		return "", err
	}
	if tip != there {
		return "", errors.New("it moved on the forge while it was fetched")
	}
	if here != "" {
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
	return p.push(repo, "member", forge.Principal, tip, ref)
}

// push pushes a commit through the gate as a principal. why is the gate's refusal.
func (p *pass) push(repo *git.Repo, principal, name, commit, ref string) (why string, err error) {
	refused, err := door.Enter(p.ctx, repo, p.Repo.Dir, p.Settings.Door.Time.Duration, principal, name, commit, ref)
	switch {
	case refused != nil:
		return "the gate refuses it for " + strings.Join(refused.Rules(), ", "), nil
	case err != nil:
		return "", err
	}
	p.Log.Info().Str("ref", ref).Str("commit", commit).Msg("fetched")
	return "", nil
}

// stopped is why a ref does not follow the forge, "" if it does.
func (p *pass) stopped(ref string) string {
	for _, s := range p.word.Stopped {
		if s.Ref == ref {
			return s.Why.String()
		}
	}
	return ""
}
