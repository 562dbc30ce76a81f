package receive

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// asUser judges the hook's process by its user: the owner is a PM, anybody else
// is what the one list says that has the user's name, number or group (ID-3).
func (s *session) asUser(who pusher, owner bool) (pusher, error) {
	number := strconv.Itoa(os.Geteuid())
	who.name = number
	if u, err := user.LookupId(number); err == nil {
		who.name = u.Username
	}
	groups, err := ownGroups()
	if err != nil {
		return who, err
	}
	on := s.on(func(entry string) bool {
		name, isGroup := config.Group(entry)
		if isGroup {
			// A group of the owner's, such as one of all users, takes nothing from him.
			return !owner && slices.Contains(groups, groupID(name))
		}
		return name == who.name || name == number
	})
	if owner && !slices.Contains(on, push.PM) {
		on = append(on, push.PM)
	}
	if len(on) == 0 {
		who.name = "" // a stranger's user id, which the record has, says enough
		return who, diag.Hint(fmt.Errorf("user id %s may not push: it is neither the repository's owner nor on [identity] pm, agents or members", number),
			"push as the owner (sudo -u OWNER git push), or let the host admin add you to [identity] pm in ward/config.toml and run git ward init --bare again")
	}
	what := who.name
	if owner && s.config.Identity.From == "" && s.alone() {
		who.name = "" // nobody to be told apart from; the record has the user id
	}
	return who.listed(on, what, "user id "+number)
}

// alone reports whether nobody but the owner pushes without a door.
func (s *session) alone() bool {
	i := s.config.Identity
	return len(i.PM)+len(i.Agents)+len(i.Members) == 0
}

// ownGroups are the groups that this process has, whatever the files say.
func ownGroups() ([]int, error) {
	groups, err := os.Getgroups()
	return append(groups, os.Getegid()), err
}

// groupID is the number of a group by its name or number; -1 for none.
func groupID(name string) int {
	if g, err := user.LookupGroup(name); err == nil {
		name = g.Gid
	}
	id, err := strconv.Atoi(name)
	if err != nil {
		return -1
	}
	return id
}
