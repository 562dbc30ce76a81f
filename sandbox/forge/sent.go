package forge

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/lease"
)

const (
	hostRefs = "refs/ward/"
	notes    = "refs/notes/"
	// maxSent bounds how many refs one push sends.
	maxSent = 200
)

// recorded sends notes and what is below refs/ward to the repository that [forge] records names,
// no further than forward (FORGE-1). What this process and the leases keep from one moment to the
// next is of this host alone.
func (p *pass) recorded() error {
	return p.each("records", p.sendRecords())
}

func (p *pass) sendRecords() error {
	to := p.Settings.Forge.Records
	if to == "" {
		return nil
	}
	if u, err := url.Parse(to); err != nil || u.User != nil {
		return diag.Hint(fmt.Errorf("[forge] records is no URL without a password: %q", diag.Clean(to)), "the token of token_file goes where the project is, and nowhere else")
	}
	at := git.Away{URL: to}
	if sameSite(to, p.project.Clone) {
		at = p.Git(p.self.Login, to)
	}
	there, err := p.Repo.List(p.ctx, at, hostRefs+"*", notes+"*")
	if err != nil {
		return err
	}
	var specs []string
	for _, prefix := range []string{hostRefs, notes} {
		list, err := p.Repo.Refs(p.ctx, prefix)
		if err != nil {
			return err
		}
		for _, t := range list {
			if there[t.Name] != t.ID && !strings.HasPrefix(t.Name, forge.RefPrefix) && !strings.HasPrefix(t.Name, lease.Prefix) {
				specs = append(specs, t.ID+":"+t.Name)
			}
		}
	}
	if p.Dry != nil && len(specs) > 0 {
		fmt.Fprintf(p.Dry, "would send %s to %s\n", diag.Count(len(specs), "record"), diag.Clean(to))
		return nil
	}
	for some := range slices.Chunk(specs, maxSent) {
		if err := p.Repo.PushAway(p.ctx, at, some...); err != nil {
			return err
		}
	}
	return nil
}
