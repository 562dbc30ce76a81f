package forge

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/forge"
	"git-ward/protocols/lease"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

const (
	hostRefs = "refs/ward/"
	notes    = "refs/notes/"
	// maxSent bounds how many refs one push sends.
	maxSent = 200
)

// unsent begin the refs that are of this host alone, from one moment to the next, or that do not
// only move forward.
var unsent = []string{forge.RefPrefix, lease.Prefix, record.FoldedPrefix, boot.Prefix, boot.LastGood, uow.TakePrefix}

// recorded sends notes and what is below refs/ward to the repository that [forge] records names,
// no further than forward (FORGE-1). One that was rewritten here stays there as it was, and is no
// trouble: somebody who deletes it there gets the new one.
func (p *pass) recorded() error {
	return p.each("records", p.sendRecords())
}

func (p *pass) sendRecords() error {
	to := p.Settings.Forge.Records
	if to == "" {
		return nil
	}
	if u, err := url.Parse(to); err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return diag.Hint(fmt.Errorf("[forge] records has to be an https URL on the same forge, without a name or a password: %q", diag.Clean(to)), "the token of token_file goes where the project is, and nowhere else")
	}
	at := git.HTTPRemote{URL: to}
	if sameSite(to, p.project.Clone) {
		at = p.Git(p.self.Login, to)
	}
	there, err := p.Repo.List(p.ctx, at, hostRefs+"*", notes+"*")
	if err != nil {
		return err
	}
	var specs []string
	var failed error
	behind := 0
	for _, prefix := range []string{hostRefs, notes} {
		list, err := p.Repo.Refs(p.ctx, prefix)
		if err != nil {
			return err
		}
		for _, t := range list {
			was := there[t.Name]
			if was == t.ID || slices.ContainsFunc(unsent, func(prefix string) bool { return strings.HasPrefix(t.Name, prefix) }) {
				continue
			}
			if was != "" {
				forward, err := p.reader.Contains(t.ID, was)
				if failed = errors.Join(failed, err); !forward {
					behind++
					continue
				}
			}
			specs = append(specs, t.ID+":"+t.Name)
		}
	}
	if behind > 0 {
		p.Log.Warn().Int("refs", behind).Msg("not sent, because they were rewritten here; delete them in [forge] records, and they are sent anew")
	}
	if p.Dry != nil && len(specs) > 0 {
		fmt.Fprintf(p.Dry, "would send %s to %s\n", diag.Count(len(specs), "record"), diag.Clean(to))
		return failed
	}
	for some := range slices.Chunk(specs, maxSent) {
		failed = errors.Join(failed, p.Repo.PushAway(p.ctx, at, some...))
	}
	return failed
}
