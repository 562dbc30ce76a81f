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
	"git-ward/internal/git"
	"git-ward/internal/token"
	"git-ward/protocols/lease"
	"git-ward/protocols/record"
)

// pusher is who pushes, as the transport proves it (ID-1).
type pusher struct {
	principal push.Principal
	name      string // "" where the transport names nobody
	id        string // the push's
	lease     push.Lease
	folds     bool // it is the host's fold, by a door's token
	// certificate is the text of the push certificate that proved the name.
	certificate []byte
}

// transportProof identifies the pusher by what the transport left; commit metadata proves
// nothing.
type transportProof struct {
	dir      string // of the repository
	owner    int    // its user id
	process  int    // the hook's own
	identity config.Identity
	updates  []push.Update
	batch    *git.Batch // reads the push certificate
	getenv   func(string) string
	environ  []string
}

// identify proves who pushes. The error is a refusal; the pusher has an id then, too,
// and the name that was claimed.
func (s *session) identify(ctx context.Context) (pusher, error) {
	who := pusher{id: token.NewID(s.start)}
	owner, err := ownerOf(s.repo.Dir)
	if err != nil {
		return who, err
	}
	p := &transportProof{dir: s.repo.Dir, owner: int(owner.Uid), process: os.Geteuid(), identity: s.settings.Identity,
		updates: s.updates, batch: s.batch, getenv: s.call.Getenv, environ: s.call.Environ}
	return p.identify(ctx, who)
}

// identify identifies the pusher. Only a worker's own door can give a lease's name, so no list
// entry with such a name counts.
func (p *transportProof) identify(ctx context.Context, who pusher) (pusher, error) {
	who, err := p.prove(ctx, who)
	if err == nil && lease.Reserved(who.name) && who.lease == (push.Lease{}) {
		who.principal = ""
		return who, diag.Hint(fmt.Errorf("%s may not push: the name is one of a directive's lease, which only the door of its worker gives", who.name),
			"let the host admin take another name for who pushes, in [identity] or the forced command")
	}
	if err == nil && who.name == record.FoldName && !who.folds {
		who.principal = ""
		return who, diag.Hint(fmt.Errorf("%s may not push: the name is the host's own, for what it folds into COMMS.md", who.name),
			"let the host admin take another name for who pushes, in [identity] or the forced command")
	}
	return who, err
}

// prove takes a door's token, or the hook's own user id, or the name that the server
// gives (ID-2).
func (p *transportProof) prove(ctx context.Context, who pusher) (pusher, error) {
	from := p.identity
	switch {
	case p.getenv(token.TokenVar) != "" || p.getenv(token.IDVar) != "":
		return p.throughDoor(who)
	case p.owner != p.process:
		// Only the owner's processes are the server's: any other user has set his own
		// environment.
		return p.asUser(who)
	case from.From == config.FromSignedPush:
		return p.signed(ctx, who)
	case from.Variable() != "":
		return p.named(who, from.Variable())
	}
	if seen := remoteTransport(p.environ, from.From == config.FromAccount); seen != "" {
		return who, throughServer(seen)
	}
	return p.asOwner(who)
}

// throughDoor verifies a door's token, which binds principal and name. A name that the
// settings list as another principal is refused.
func (p *transportProof) throughDoor(who pusher) (pusher, error) {
	id, given := p.getenv(token.IDVar), p.getenv(token.TokenVar)
	principal, name := push.Principal(p.getenv(token.PrincipalVar)), p.getenv(token.NameVar)
	if err := token.CheckID(id); err != nil {
		return who, err
	}
	key, err := os.ReadFile(filepath.Join(p.dir, token.KeyFile))
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
	if principal != push.Watcher && !slices.Contains(lists, principal) {
		return who, fmt.Errorf("a door for %+q: there are doors for pm, agent, member and watcher", string(principal))
	}
	for _, listed := range lists {
		if listed != principal && slices.Contains(p.list(listed), name) {
			return who, diag.Hint(fmt.Errorf("the door says that %s is %s, and [identity] says %s", name, principal, listed),
				"let the host admin mend the forced command or ward/config.toml")
		}
	}
	who.principal = principal
	who.folds = name == record.FoldName && principal == push.Agent
	if directive, id, ok := lease.ParseName(name); ok && principal == push.Agent {
		who.lease = push.Lease{Directive: directive, ID: id}
	}
	return who, nil
}

// named takes the name that the server put into receive-pack's environment. The hook runs as
// the owner, so the variable came from the server or from somebody with the owner's rights.
func (p *transportProof) named(who pusher, variable string) (pusher, error) {
	name := p.getenv(variable)
	if name == "" {
		return who, diag.Hint(fmt.Errorf("%s is not set, and [identity] from says that the pusher's name is there", variable),
			"push through the server; on the host itself the owner can say who pushes: %s=NAME git push", variable)
	}
	if err := token.CheckName(name); err != nil {
		return who, fmt.Errorf("%s: %w", variable, err)
	}
	who.name = name
	on := p.on(func(entry string) bool { return entry == name })
	return who.listed(on, name, variable)
}

// lists are the principals that [identity] has a list for.
var lists = []push.Principal{push.PM, push.Agent, push.Member}

func (p *transportProof) list(of push.Principal) []string {
	i := p.identity
	return map[push.Principal][]string{push.PM: i.PM, push.Agent: i.Agents, push.Member: i.Members}[of]
}

// on is the principals on whose lists an entry matches.
func (p *transportProof) on(matches func(entry string) bool) (found []push.Principal) {
	for _, listed := range lists {
		if slices.ContainsFunc(p.list(listed), matches) {
			found = append(found, listed)
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

// actAsOwner permanently switches a root process to the repository's owner, because the user
// could not add to files and directories that root creates.
func (s *session) actAsOwner() error {
	owner, err := ownerOf(s.repo.Dir)
	if err != nil || os.Geteuid() != 0 || owner.Uid == 0 {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(int(owner.Gid)); err != nil {
		return err
	}
	return syscall.Setuid(int(owner.Uid))
}

func ownerOf(dir string) (*syscall.Stat_t, error) {
	stat := new(syscall.Stat_t)
	return stat, syscall.Stat(dir, stat)
}
