package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// sharedKey is git's setting of whom a repository belongs to besides its owner.
const sharedKey = "core.sharedRepository"

// share lets several users of one machine push to the repository (ID-3): one group of the
// users listed in [identity] may write where git and the hooks write. Whoever may write there
// is an owner in effect, so a group with other members is not chosen automatically: the admin
// names it, "@group".
func (in *installer) share(ctx context.Context) error {
	c, err := in.loaded()
	if err != nil {
		return err
	}
	if in.fresh && in.DryRun {
		return nil
	}
	owner, err := ownerOf(in.Dir)
	if err != nil {
		return err
	}
	names, groups := pushers(c.Identity, owner)
	if len(names)+len(groups) == 0 {
		return in.keepToOwner(ctx)
	}
	all, err := readAccounts()
	if err != nil {
		return err
	}
	gid, err := all.common(names, groups, owner)
	if err != nil {
		in.report.warn(err)
		return nil
	}
	if err := in.settings.provide(ctx, sharedKey, "group"); err != nil {
		return err
	}
	if in.DryRun {
		in.report.Changes = append(in.report.Changes, change("open", "the repository to group %d, whose members can then write to it and are owners in effect", gid))
		return nil
	}
	if err := in.rememberModes(gid); err != nil {
		return err
	}
	changed, err := in.tree.openTo(gid)
	if errors.Is(err, fs.ErrPermission) {
		in.report.warn(diag.Hint(fmt.Errorf("%w: only a member of the group, or root, can give files to group %d", err, gid),
			"as root: git ward init --bare %s", diag.Word(in.Dir)))
		return nil
	}
	if changed > 0 {
		in.report.Changes = append(in.report.Changes, change("open", "%s to group %d, whose members can write to the repository and are owners in effect", diag.Count(changed, "path"), gid))
	}
	return err
}

// rememberModes writes down who might do what with the paths that openTo changes; those of
// objects and reflogs are git's own to make, and are left open.
func (in *installer) rememberModes(gid int) error {
	known := map[string]bool{}
	for _, m := range in.before.Modes {
		known[m.Path] = true
	}
	err := in.tree.eachFile(func(_ *os.Root, rel string, info fs.FileInfo) error {
		to, ok := groupMode(rel, info.Mode())
		st := info.Sys().(*syscall.Stat_t)
		first, below, _ := strings.Cut(rel, "/")
		if !ok || to == info.Mode() && int(st.Gid) == gid || known[rel] || first == "ward" || below != "" && (first == "objects" || first == "logs") {
			return nil
		}
		in.before.Modes = append(in.before.Modes, mode{rel, info.Mode(), int(st.Gid)})
		return nil
	})
	if err != nil {
		return err
	}
	return in.before.save()
}

// keepToOwner removes others' permissions if no group shares the repository.
func (in *installer) keepToOwner(ctx context.Context) error {
	if in.settings.get(ctx, sharedKey) != "" || in.DryRun {
		return nil // the admin's own arrangement
	}
	closed, err := in.tree.closeToOthers()
	for _, path := range closed {
		in.report.Changes = append(in.report.Changes, change("close", "%s to others than the owner", path))
	}
	return err
}

// giveToOwner gives to a user what root has made in the user's repository, and
// could not extend otherwise.
func (in *installer) giveToOwner(context.Context) error {
	if in.DryRun {
		return nil
	}
	owner, err := ownerOf(in.Dir)
	if err != nil || owner.Uid == 0 || os.Geteuid() != 0 {
		return err
	}
	return in.tree.giveTo(owner)
}

// pushers are the entries of [identity] that need write permission: users other than the owner
// and root, and groups. If names come from a server, only groups are this machine's.
func pushers(i config.Identity, owner *syscall.Stat_t) (names, groups []string) {
	for _, entry := range slices.Concat(i.PM, i.Agents, i.Members) {
		if name, ok := config.Group(entry); ok {
			groups = append(groups, name)
			continue
		}
		u, err := user.Lookup(entry)
		if err != nil {
			u, err = user.LookupId(entry)
		}
		if err == nil && (u.Uid == "0" || u.Uid == strconv.Itoa(int(owner.Uid))) {
			continue
		}
		if i.Variable() == "" && i.From != config.FromSignedPush {
			names = append(names, entry)
		}
	}
	return names, groups
}
