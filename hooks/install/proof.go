package install

import (
	"context"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// proof is what the audit proves about refs' owners. A name proves nothing: people also have
// branches agent/... and notes called audit.
type proof struct {
	chain bool              // refs/ward/audit is Ward's: init accepts no foreign refs at host-only names, and the hooks refuse them
	made  map[string]string // branches that the agent's pushes made, and nobody else moved, with their last values
}

// prove reads the audit. A chain that git cannot walk proves nothing.
func (in *installer) prove(ctx context.Context, refs map[string]string) (p proof) {
	if refs[state.AuditRef] == "" || !in.by(ctx, "--max-parents=0", state.AuditRef) {
		return p
	}
	batch := in.repo.Batch(ctx)
	defer batch.Close()
	chain, err := audit.ReadChain(ctx, in.repo, batch)
	if p.chain = err == nil; !p.chain {
		return p
	}
	p.made = map[string]string{}
	for _, l := range chain {
		for _, ref := range l.Refs {
			name := audit.UnquoteRef(ref.Ref)
			_, made := p.made[name]
			switch {
			case !ref.Applied || l.Verdict != audit.Accepted || !push.IsAgentBranch(name):
			case ref.New != git.Zero && push.Principal(l.Principal).Fenced() && (made || ref.Old == git.Zero):
				p.made[name] = ref.New
			default: // it is gone, or somebody else's from now on
				delete(p.made, name)
			}
		}
	}
	return p
}

// proved reports whether a ref with a value is proved to be Ward's or its agent's. Once Ward
// is out, people may make refs outside refs/ward/ whose last commit is Ward's.
func (in *installer) proved(ctx context.Context, p proof, ref, value string) bool {
	switch {
	case push.IsAgentBranch(ref):
		return p.made[ref] == value
	case strings.HasPrefix(ref, "refs/ward/"):
		return p.chain && (push.IsHostOnly(ref) || push.IsJournal(ref) || push.IsRecord(ref) || push.IsTake(ref))
	}
	return p.chain && push.IsHostOnly(ref) && in.by(ctx, "--max-count=1", ref)
}

// inPlace reports whether a ref has a name that Ward gives to its own or its agent's.
func inPlace(ref string) bool {
	return push.IsAgentBranch(ref) || push.IsHostOnly(ref) || strings.HasPrefix(ref, "refs/ward/")
}

// by reports whether Ward wrote the single commit that rev-list finds: the last, or the only
// first one.
func (in *installer) by(ctx context.Context, which, ref string) bool {
	out, err := in.repo.Output(ctx, "rev-list", which, "--format=%an <%ae>", "--no-commit-header", ref)
	return err == nil && strings.TrimSpace(string(out)) == git.Ward
}
