package install

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/diag"
)

// accounts are this machine's users and groups, as passwd(5) and group(5) list
// them.
type accounts struct {
	uids    map[string]int // by name
	names   map[int]string
	members map[int][]string // group id: names, primary members included
	groups  map[string]int
}

func readAccounts() (*accounts, error) {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	group, err := os.ReadFile("/etc/group")
	if err != nil {
		return nil, err
	}
	return parseAccounts(string(passwd), string(group)), nil
}

func parseAccounts(passwd, group string) *accounts {
	a := &accounts{uids: map[string]int{}, names: map[int]string{}, members: map[int][]string{}, groups: map[string]int{}}
	for f := range records(passwd) {
		uid, err := strconv.Atoi(f[2])
		gid, gidErr := strconv.Atoi(f[3])
		if err != nil || gidErr != nil {
			continue // a line for NIS, or a broken one: nobody's, and not root's
		}
		a.uids[f[0]], a.names[uid] = uid, f[0]
		a.members[gid] = append(a.members[gid], f[0])
	}
	for f := range records(group) {
		gid, err := strconv.Atoi(f[2])
		if err != nil {
			continue
		}
		a.groups[f[0]] = gid
		for _, name := range strings.Split(f[3], ",") {
			if name != "" && !slices.Contains(a.members[gid], name) {
				a.members[gid] = append(a.members[gid], name)
			}
		}
	}
	return a
}

// records are the lines of passwd(5) or group(5), cut into their fields: four at
// least.
func records(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
			if len(fields) >= 4 && !yield(fields) {
				return
			}
		}
	}
}

// common is the single group for everybody: the named one, else one with exactly the named
// users and perhaps the owner.
func (a *accounts) common(names, groups []string, owner *syscall.Stat_t) (int, error) {
	for i, name := range names {
		if uid, err := strconv.Atoi(name); err == nil {
			names[i] = cmp.Or(a.names[uid], name)
		} else if _, ok := a.uids[name]; !ok {
			return 0, diag.Hint(fmt.Errorf("[identity] lists %s, and no user of that name is in /etc/passwd", name),
				"name a user, a group as \"@group\", or say with [identity] from where names come from")
		}
	}
	own := a.names[int(owner.Uid)]
	ask := "groupadd ward-pms"
	for _, name := range append(slices.Clone(names), own) {
		if name != "" && name != "root" {
			ask += " && usermod -aG ward-pms " + name
		}
	}
	ask += `; then pm = ["@ward-pms"] in ward/config.toml, and git ward init --bare again`
	if len(groups) > 0 {
		gid, err := a.named(groups)
		if err != nil {
			return 0, diag.Hint(err, "%s", ask)
		}
		for _, name := range names {
			if !slices.Contains(a.members[gid], name) {
				return 0, diag.Hint(fmt.Errorf("%s is on a list of [identity], but not in group %d, and cannot write to the repository", name, gid),
					"usermod -aG %d %s", gid, name)
			}
		}
		return gid, nil
	}
	fits := func(gid int) bool {
		for _, name := range names {
			if !slices.Contains(a.members[gid], name) {
				return false
			}
		}
		return !slices.ContainsFunc(a.members[gid], func(m string) bool {
			return m != own && m != "root" && !slices.Contains(names, m)
		})
	}
	if fits(int(owner.Gid)) {
		return int(owner.Gid), nil
	}
	best := -1
	for _, gid := range a.groups {
		if fits(gid) && (best < 0 || gid < best) {
			best = gid
		}
	}
	if best < 0 {
		return 0, diag.Hint(fmt.Errorf("[identity] lists %s, who cannot write to the repository: there is no group of them and nobody else", strings.Join(names, ", ")), "%s", ask)
	}
	return best, nil
}

// named is the id of the one group that is named.
func (a *accounts) named(groups []string) (int, error) {
	found := -1
	for _, name := range groups {
		gid, ok := a.groups[name]
		if !ok {
			var err error
			if gid, err = strconv.Atoi(name); err != nil {
				return 0, fmt.Errorf("[identity] lists \"@%s\", and no group of that name is in /etc/group", name)
			}
		}
		if found >= 0 && gid != found {
			return 0, fmt.Errorf("[identity] lists the groups %s; a repository has one", strings.Join(groups, " and "))
		}
		found = gid
	}
	return found, nil
}
