package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

// Repository checks a bare repository: whether Ward's hooks judge its pushes, who pushes as
// which principal, and who could bypass the hooks (AUD-2, ID-2, ID-3).
func Repository(ctx context.Context, bare string, settings *config.Config) []Finding {
	e := &examiner{ctx: ctx}
	e.hooks(bare)
	e.branches(bare, settings.Control)
	e.pushers(bare, settings.Identity)
	e.writers(bare)
	e.mode(bare, settings)
	e.defaults(bare)
	return e.found
}

func (e *examiner) hooks(bare string) {
	err := hookdir.Check(e.ctx, bare)
	if err == nil {
		e.add("hooks", Fine, "", "Ward's judge every push to %s", bare)
		return
	}
	e.add("hooks", Missing, "git ward init --bare "+diag.Word(bare), "pushes are not judged: %v", err)
}

// branches reports the control branch and the project's branch, and whether they exist
// (CTRL-1).
func (e *examiner) branches(bare string, c config.Control) {
	repo := git.Open(bare)
	for _, b := range []struct{ key, ref string }{{"branch", c.Ref()}, {"project", c.ProjectRef()}} {
		if id, err := repo.Ref(e.ctx, b.ref); err != nil || id == git.Zero {
			e.add("branches", Missing, "edit "+filepath.Join(bare, config.Path)+" # or push it", "there is no %s, which [control] %s names", b.ref, b.key)
			return
		}
	}
	if c.Split() {
		e.add("branches", Fine, "", "directives and protocols are on %s, the project is on %s", c.Branch, c.Project)
	} else {
		e.add("branches", Fine, "", "directives, protocols and the project are on %s", c.Branch)
	}
}

// pushers says which case of ID-2 the settings are, and what is missing for it.
func (e *examiner) pushers(bare string, i config.Identity) {
	e.add("who pushes", Fine, "", "%s", i.Means())
	on := map[string]string{}
	for _, list := range []struct {
		key   string
		names []string
	}{{"pm", i.PM}, {"agents", i.Agents}, {"members", i.Members}} {
		for _, name := range list.names {
			if other := on[name]; other != "" && other != list.key {
				e.add("who pushes", Warning, "edit "+filepath.Join(bare, config.Path), "%s is on [identity] %s and on %s, so its pushes are refused", name, other, list.key)
			}
			on[name] = list.key
		}
	}
	switch {
	case i.From == config.FromSignedPush:
		if _, err := os.Stat(filepath.Join(bare, "ward/allowed_signers")); err != nil {
			e.add("signed pushes", Missing, "edit "+filepath.Join(bare, "ward/allowed_signers")+" # lines: NAME namespaces=\"git\" KEY", "nobody's key is known: %v", err)
		}
		if _, err := exec.LookPath("ssh-keygen"); err != nil {
			e.add("ssh-keygen", Missing, e.sudo("apt-get install openssh-client"), "is not installed: it verifies signed pushes")
		}
	case i.From != config.FromAccount && len(i.PM) == 0 && i.Variable() != "":
		e.add("who pushes", Warning, "edit "+filepath.Join(bare, config.Path), "no name is on [identity] pm: nobody can push as the PM")
	}
}

// writers reports who besides the owner can write to the repository. Whoever can is an owner
// in effect, because he can change the hooks.
func (e *examiner) writers(bare string) {
	var st syscall.Stat_t
	if err := syscall.Stat(bare, &st); err != nil {
		e.add("writers", Missing, "git ward init --bare "+diag.Word(bare), "%v", err)
		return
	}
	switch {
	case st.Mode&0o002 != 0:
		e.add("writers", Missing, "chmod -R o-w "+bare, "every user of this machine can write to %s, and change its hooks", bare)
	case st.Mode&0o020 != 0:
		e.add("writers", Warning, "git ward door --help # as a forced command of ssh: --stdio --bare DIR --pm NAME",
			"group %d can write to %s, so its members are owners in effect: they can change the hooks; use an owner that nobody logs in as, and a door for each PM, to prevent that", st.Gid, bare)
	default:
		e.add("writers", Fine, "", "only the owner can write to %s", bare)
	}
}

// mode says whether pushes with findings are refused.
func (e *examiner) mode(bare string, settings *config.Config) {
	if settings.Hooks.Mode == config.Observe {
		e.add("[hooks] mode", Warning, `set it to "enforce" in `+filepath.Join(bare, config.Path),
			"is %q: people's pushes pass in spite of findings, and git ward log --would lists what would have been refused; the rules for the agent are enforced", config.Observe)
		return
	}
	e.add("[hooks] mode", Fine, "", "%s", settings.Hooks.Mode)
}

// defaults names settings that an earlier version's init wrote and that nobody chose.
func (e *examiner) defaults(bare string) {
	path := filepath.Join(bare, config.Path)
	data, err := config.ReadFile(path)
	if err != nil {
		return // the loader of the settings has reported it
	}
	stale, err := config.OldDefaults(data, path)
	if err != nil {
		return
	}
	for _, s := range stale {
		e.add("settings", Warning, "git ward init --update --bare "+diag.Word(bare), "still at an old default: %s", s)
	}
	if len(stale) == 0 {
		e.add("settings", Fine, "", "none is still at an old default")
	}
}
