package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/loop"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// units is the journals as a clone fetched them, or as the bare repository has
// them.
type units struct {
	ctx    context.Context
	env    *cli.Env
	repo   *git.Repo
	reader *git.Reader
	remote string         // where steps are pushed: origin, or the bare repository itself
	names  branches.Names // the control branch's documents steer the units
	how    *git.Checkout  // how git fetches and pushes
	also   []string       // refspecs that a clone fetches besides

	rewritten map[uow.ID]string // journals on the host that do not continue the clone's copy

	at       *standing.Snapshot // where the directives stand, once it was asked
	several  *several           // nil where one is looked at
	settings *config.Config
	given    bool // settings are the host's; else they are Ward's defaults
	assumed  bool // a step took totals from settings that were not given
}

// several is what was read once for several subjects, as they were at one moment.
type several struct {
	all     *standing.Snapshot
	project string       // its tip, "" for none
	past    *git.Lineage // what the project has of their commits
	open    []string     // the commits that it does not have
}

// openUnits finds the repository and, in a clone, fetches what the host has.
func openUnits(ctx context.Context, env *cli.Env, bare, configFile string) (*units, error) {
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return nil, err
	}
	at := *env
	if configFile != "" {
		configFile = env.Path(configFile)
	}
	if bare != "" {
		at.Dir = env.Path(bare)
	}
	return openRepo(ctx, &at, repo, configFile, false)
}

// openRepo is openUnits for a repository that is found already; a clone fetches also what
// the refspecs name, or nothing where it is looked at as it was fetched.
func openRepo(ctx context.Context, env *cli.Env, repo *git.Repo, configFile string, fetched bool, also ...string) (*units, error) {
	out, err := repo.Output(ctx, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	bare, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	u := &units{ctx: ctx, env: env, repo: git.Open(dir), remote: "origin", settings: config.Default(), also: also}
	if u.names, err = branches.Of(ctx, u.repo); err != nil {
		return nil, err
	}
	if bare == "true" {
		u.how = &git.Checkout{Env: append(git.Harden(git.Elsewhere(os.Environ())), "GIT_DIR="+dir)}
		u.remote, u.given = dir, true
		if u.settings, err = config.Load(dir); err != nil {
			return nil, err
		}
	} else if fetched {
		u.how = &git.Checkout{}
	} else if err := u.fetchFirst(); err != nil {
		if again := u.fetchAll(); again != nil {
			return nil, err
		}
	}
	if configFile != "" {
		if u.settings, err = config.Given(configFile, nil, env.Path); err != nil {
			return nil, err
		}
		u.given = true
	}
	u.reader = u.repo.Reader(ctx)
	return u, nil
}

func (u *units) close() { u.reader.Close() }

// git runs git as the user does: fetching and pushing need the user's own keys and
// settings. Those of the clone run nothing (GATE-7).
func (u *units) git(args ...string) (string, error) {
	text, err := u.runGit(args...)
	if err == nil {
		return text, nil
	}
	// A git before this one may have been killed and have left its lock.
	if removed, fault := u.repo.UnlockRefs(u.ctx); fault != nil || len(removed) == 0 {
		return text, err
	}
	return u.runGit(args...)
}

func (u *units) runGit(args ...string) (string, error) {
	cmd := u.how.Child(u.ctx, u.env.Dir, args...).AtTerminal()
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if git.Transports(args[0]) {
		defer u.env.Slow("git " + args[0] + " with " + u.remote)()
	}
	err := cmd.Run()
	return text.String(), err
}

// fetchFirst finds the git options for the clone, and fetches.
func (u *units) fetchFirst() error {
	tree, err := worktree.Find(u.env.Dir)
	if err != nil {
		return err
	}
	if u.how, err = git.InCheckout(u.ctx, tree.Dir, os.Environ()); err != nil {
		return err
	}
	return u.fetch()
}

// fetchAll fetches all branches, for a clone that knows too little of origin to name the right
// ones, such as a single-branch clone.
func (u *units) fetchAll() error {
	before := u.names
	if u.how == nil {
		return errUnknown
	}
	if _, err := u.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*"); err != nil {
		return err
	}
	var err error
	if u.names, err = branches.Of(u.ctx, u.repo); err != nil {
		return err
	}
	if u.names == before {
		return errUnknown
	}
	return u.fetch()
}

// fetch takes the journals, the verdicts and the two branches. Their refspecs have no `+`, so
// that a rewritten journal shows.
func (u *units) fetch() error {
	if u.bare() {
		return nil
	}
	args := slices.Concat([]string{"fetch", "--quiet", "origin"}, u.names.Fetch(), []string{uow.RefPrefix + "*:" + uow.RefPrefix + "*",
		"refs/notes/certificates*:refs/notes/certificates*", state.TakenPrefix + "*:" + state.TakenPrefix + "*"}, u.also)
	var out string
	err := u.repo.Overtaken(u.ctx, func() (err error) {
		out, err = u.git(args...)
		return err
	})
	if err != nil {
		if u.rewritten = u.moved(); len(u.rewritten) > 0 {
			u.mended()
			err = nil
		}
	}
	if err != nil {
		return diag.Hint(u.how.Explain(fmt.Errorf("git fetch: %s", strings.TrimSpace(out))), "a journal or record that does not fast-forward was rewritten: git ward fsck on the host says whether by git ward redact, after which a clone is made anew")
	}
	if u.reader != nil { // a new child surely sees the new refs and objects
		u.reader.Close()
		u.reader = u.repo.Reader(u.ctx)
	}
	return nil
}

// moved are the journals that failed to fetch because the host's does not continue the
// clone's; none if the fetch failed for another reason.
func (u *units) moved() map[uow.ID]string {
	out, err := u.git("ls-remote", "--quiet", u.remote, uow.RefPrefix+"*", "refs/notes/certificates*")
	if err != nil {
		return nil
	}
	list := map[uow.ID]string{}
	for line := range strings.Lines(out) {
		tip, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		have, err := u.repo.Ref(u.ctx, ref)
		if err == nil && have == tip {
			continue
		}
		id, odd := uow.ParseRef(ref)
		if err != nil || odd != nil || have == "" {
			return nil
		}
		list[id] = tip
	}
	return list
}

// mended replaces an invalid journal in the clone by the host's: it was fetched while somebody
// had altered it, and the host has repaired it since.
func (u *units) mended() {
	reader := u.repo.Reader(u.ctx)
	defer reader.Close()
	for id := range u.rewritten {
		tip, err := reader.Tip(id.Ref())
		if err != nil {
			continue
		}
		if j, err := state.ReadJournal(reader, state.Unit{ID: id, Tip: tip}); err == nil && len(j.Findings) == 0 {
			continue // the clone's copy is valid and stays
		}
		if _, err := u.git("fetch", "--quiet", u.remote, "+"+id.Ref()+":"+id.Ref()); err == nil {
			delete(u.rewritten, id)
		}
	}
}

// push moves a unit's ref from parent ("" for a new ref) to commit, and deletes other refs
// with it; false is a lost race. It recognizes a race by the ref's new value, not by git's
// message.
func (u *units) push(commit string, id uow.ID, parent string, drop ...dropped) (bool, error) {
	args := []string{"push", "--quiet", "--atomic", "--force-with-lease=" + id.Ref() + ":" + parent}
	refspecs := []string{u.remote, commit + ":" + id.Ref()}
	for _, d := range drop {
		args, refspecs = append(args, "--force-with-lease="+d.ref+":"+d.tip), append(refspecs, ":"+d.ref)
	}
	out, pushErr := u.git(append(args, refspecs...)...)
	if pushErr == nil {
		u.fetchBack()
		return true, nil
	}
	// If two pushes met at the ref's lock, the other one may not be done yet.
	arrived := false
	err := git.Update(u.ctx, looks, func() (bool, error) {
		if err := u.fetch(); err != nil {
			return false, err
		}
		tip, err := u.reader.Tip(id.Ref())
		arrived = tip == commit // our push may have arrived, and only the answer was lost
		return tip != parent, err
	})
	if !errors.Is(err, git.ErrLostRace) {
		return arrived, err
	}
	hint := "what is refused stands above"
	if u.assumed {
		hint += "; if it is the budget, the host's [loop] settings differ from Ward's defaults: give a copy of <bare>/ward/config.toml by --config, or run it in the bare repository"
	}
	return false, diag.Hint(u.how.Explain(fmt.Errorf("git push: %s", strings.TrimSpace(out))), "%s", hint)
}

// looks is how often the ref is read after a failed push, with pauses of up to 200 ms, before
// the failure counts as a refusal.
var looks = git.Race{Tries: 3, Slow: 6}

// journal reads and proves a unit's journal; nil when there is no such unit.
func (u *units) journal(id uow.ID) (*state.Journal, error) {
	if tip, ok := u.rewritten[id]; ok {
		return nil, diag.Hint(fmt.Errorf("the journal of %s was rewritten on the host: it is at %s there, and does not go on from what this clone has of it", id, diag.Short(tip)),
			"git ward fsck on the host says what is wrong with it; the next unit of the directive begins with git ward directive edit %s", id.Directive)
	}
	tip, err := u.reader.Tip(id.Ref())
	if err != nil || tip == "" {
		return nil, err
	}
	j, err := state.ReadJournal(u.reader, state.Unit{ID: id, Tip: tip})
	if err == nil {
		err = j.Err()
	}
	return j, err
}

// main is the directive's state for a step of a unit. An unchanged text keeps the totals that
// the host admitted before, because a clone does not know the host's settings.
func (u *units) main(j *state.Journal) (*uow.Main, error) {
	doc, err := state.ReadComms(u.reader, u.names.ControlRef())
	if err != nil {
		return nil, err
	}
	m, err := state.ReadMain(u.reader, u.names.ControlRef(), doc.Directive(j.ID.Directive), loop.Base(u.settings.Loop))
	if err != nil {
		return nil, err
	}
	if last := j.Last(); m.DirectiveHash == last.DirectiveHash && !u.given {
		m.Total = last.Budget.Total
	} else {
		u.assumed = !u.given
	}
	records := [][]*uow.Record{j.Records}
	for k := 1; k < j.ID.K; k++ {
		earlier, err := u.journal(uow.ID{Directive: j.ID.Directive, K: k})
		if err != nil {
			return nil, err
		}
		if earlier != nil {
			records = append(records, earlier.Records)
		}
	}
	m.Spent = uow.Spent(m.DirectiveHash, records...)
	return m, nil
}
