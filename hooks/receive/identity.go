package receive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/token"
)

// pusher is who pushes, as the transport proves it (ID-1).
type pusher struct {
	principal push.Principal
	name      string // "" where the transport names nobody
	id        string // the push's
	// certificate is the text of the push certificate that proved the name.
	certificate []byte
}

// identify proves who pushes by the transport: a door's token, or the hook's own
// user id, or the name that the server gives (ID-2). Commit metadata says
// nothing. The error is a refusal; the pusher has an id then, too, and the name
// that was claimed.
func (s *session) identify(ctx context.Context) (pusher, error) {
	who := pusher{id: token.NewID(s.start)}
	get := s.env.Getenv
	if get(token.TokenVar) != "" || get(token.IDVar) != "" {
		return s.throughDoor(who)
	}
	owner, err := s.owner()
	if err != nil {
		return who, err
	}
	from := s.config.Identity
	switch {
	case int(owner.Uid) != os.Geteuid():
		// Only the owner's processes are the server's: any other user has set his
		// environment himself.
		return s.asUser(who, false)
	case from.From == config.FromSignedPush:
		return s.signed(ctx, who)
	case from.Variable() != "":
		return s.named(who, from.Variable())
	}
	if seen := remoteTransport(os.Environ(), from.From == config.FromAccount); seen != "" {
		return who, throughServer(seen)
	}
	return s.asUser(who, true)
}

// throughDoor verifies a door's token, which binds what stands beside it. A name
// that the settings list as something else is a contradiction, and refused.
func (s *session) throughDoor(who pusher) (pusher, error) {
	get := s.env.Getenv
	id, given := get(token.IDVar), get(token.TokenVar)
	principal, name := push.Principal(get(token.PrincipalVar)), get(token.NameVar)
	if err := token.CheckID(id); err != nil {
		return who, err
	}
	key, err := os.ReadFile(filepath.Join(s.repo.Dir, token.KeyFile))
	if err != nil {
		return who, fmt.Errorf("the door's key cannot be read: %w", err)
	}
	want := token.Plain(key, id)
	if principal != "" || name != "" {
		want = token.Bound(key, id, string(principal), name)
	}
	if len(key) < token.MinKey || !token.Equal(given, want) {
		return who, diag.Hint(errors.New("the push token is wrong"),
			"agents push through the door only; unset %s and %s to push as yourself", token.TokenVar, token.IDVar)
	}
	who.id = id
	if principal == "" && name == "" {
		who.principal = push.Agent
		return who, nil
	}
	if err := token.CheckName(name); err != nil {
		return who, err
	}
	who.name = name
	if !slices.Contains(lists, principal) {
		return who, fmt.Errorf("a door for %+q: there are doors for pm, agent and member", string(principal))
	}
	for _, p := range lists {
		if p != principal && slices.Contains(s.list(p), name) {
			return who, diag.Hint(fmt.Errorf("the door says that %s is %s, and [identity] says %s", name, principal, p),
				"let the host admin mend the forced command or ward/config.toml")
		}
	}
	who.principal = principal
	return who, nil
}

// named takes the name that the server put into receive-pack's environment. The
// hook runs as the owner, so it was the server, or somebody with the owner's
// rights.
func (s *session) named(who pusher, variable string) (pusher, error) {
	name := s.env.Getenv(variable)
	if name == "" {
		return who, diag.Hint(fmt.Errorf("%s is not set, and [identity] from says that the pusher's name is there", variable),
			"push through the server; on the host itself the owner can say who pushes: %s=NAME git push", variable)
	}
	if err := token.CheckName(name); err != nil {
		return who, fmt.Errorf("%s: %w", variable, err)
	}
	who.name = name
	return who.listed(s.on(func(entry string) bool { return entry == name }), name, variable)
}

// lists are the principals that [identity] has a list for.
var lists = []push.Principal{push.PM, push.Agent, push.Member}

func (s *session) list(p push.Principal) []string {
	i := s.config.Identity
	return map[push.Principal][]string{push.PM: i.PM, push.Agent: i.Agents, push.Member: i.Members}[p]
}

// on is the principals on whose lists an entry matches.
func (s *session) on(matches func(entry string) bool) (found []push.Principal) {
	for _, p := range lists {
		if slices.ContainsFunc(s.list(p), matches) {
			found = append(found, p)
		}
	}
	return found
}

// settingNames are the lists as ward/config.toml calls them.
var settingNames = map[push.Principal]string{push.PM: "pm", push.Agent: "agents", push.Member: "members"}

// listed settles the principal: one list, no more and no less.
func (p pusher) listed(on []push.Principal, what, source string) (pusher, error) {
	switch len(on) {
	case 1:
		p.principal = on[0]
		return p, nil
	case 0:
		return p, diag.Hint(fmt.Errorf("%s (%s) may not push: on none of the lists pm, agents and members of [identity]", what, source),
			"let the host admin add the name to one of them in ward/config.toml")
	}
	var names []string
	for _, o := range on {
		names = append(names, settingNames[o])
	}
	return p, diag.Hint(fmt.Errorf("%s (%s) may not push: [identity] has it on %s", what, source, strings.Join(names, " and on ")),
		"let the host admin leave it on one of them in ward/config.toml")
}

// actAsOwner makes a root process the repository's owner, for good. What root
// writes into a user's repository, the user cannot extend (FIELD-NOTES).
func (s *session) actAsOwner() error {
	owner, err := s.owner()
	if err != nil || os.Geteuid() != 0 || owner.Uid == 0 {
		return err
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(int(owner.Gid)), syscall.Setuid(int(owner.Uid)))
}

func (s *session) owner() (*syscall.Stat_t, error) {
	stat := new(syscall.Stat_t)
	return stat, syscall.Stat(s.repo.Dir, stat)
}
