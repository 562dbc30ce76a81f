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

// account is the user of the hook's process (ID-3).
type account struct {
	number string // user id
	name   string // the number, where the user has no name
	groups []int
}

func (p *transportProof) account() (account, error) {
	number := strconv.Itoa(p.process)
	a := account{number: number, name: number}
	if u, err := user.LookupId(number); err == nil {
		a.name = u.Username
	}
	var err error
	a.groups, err = ownGroups()
	return a, err
}

// is reports whether an entry of [identity] is the user's own name or number.
func (a account) is(entry string) bool { return entry == a.name || entry == a.number }

// isIn reports whether an entry is a group that the user has.
func (a account) isIn(entry string) bool {
	name, isGroup := config.Group(entry)
	return isGroup && slices.Contains(a.groups, groupID(name))
}

// asOwner handles the repository's owner, who is a PM.
func (p *transportProof) asOwner(who pusher) (pusher, error) {
	a, err := p.account()
	if err != nil {
		return who, err
	}
	// A group of the owner's, such as one of all users, takes nothing from him.
	on := p.on(a.is)
	if !slices.Contains(on, push.PM) {
		on = append(on, push.PM)
	}
	if p.identity.From != "" || !p.alone() {
		who.name = a.name // else nobody is to be told apart from him, and the record has the user id
	}
	return who.listed(on, a.name, "user id "+a.number)
}

// asUser handles any other user: the single list with his name, number or group decides.
func (p *transportProof) asUser(who pusher) (pusher, error) {
	a, err := p.account()
	if err != nil {
		return who, err
	}
	on := p.on(func(entry string) bool { return a.is(entry) || a.isIn(entry) })
	if len(on) == 0 { // a stranger's user id, which the record has, says enough
		return who, diag.Hint(fmt.Errorf("user id %s may not push: it is neither the repository's owner nor on [identity] pm, agents or members", a.number),
			"push as the owner (sudo -u OWNER git push), or let the host admin add you to [identity] pm in ward/config.toml and run git ward init --bare again")
	}
	who.name = a.name
	return who.listed(on, a.name, "user id "+a.number)
}

// alone reports whether only the owner pushes without a door.
func (p *transportProof) alone() bool {
	i := p.identity
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
