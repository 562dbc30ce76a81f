package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// units is the journals as a clone fetched them, or as the bare repository has
// them.
type units struct {
	ctx      context.Context
	env      *cli.Env
	repo     *git.Repo
	batch    *git.Batch
	remote   string // where steps are pushed: origin, or the bare repository itself
	mainRef  string
	settings *config.Config
	given    bool // the settings are the host's, not a guess

	how *git.Checkout // git fetches and pushes
}

// openUnits finds the repository and, in a clone, fetches what the host has.
func openUnits(ctx context.Context, env *cli.Env, configFile string) (*units, error) {
	repo, err := git.Discover(ctx, env.Dir)
	if err != nil {
		return nil, diag.Hint(err, "run it in a clone of a ward repository, or in the bare repository")
	}
	out, err := repo.Output(ctx, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	bare, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	u := &units{ctx: ctx, env: env, repo: git.Open(dir), remote: "origin", mainRef: "refs/remotes/origin/main", settings: config.Default()}
	if bare == "true" {
		u.how = &git.Checkout{Env: append(git.Harden(git.Elsewhere(os.Environ())), "GIT_DIR="+dir)}
		u.remote, u.mainRef, u.given = dir, "refs/heads/main", true
		if u.settings, err = config.Load(dir); err != nil {
			return nil, err
		}
	} else if err := u.fetchFirst(); err != nil {
		return nil, err
	}
	if configFile != "" {
		data, err := config.ReadFile(env.Path(configFile))
		if err != nil {
			return nil, err
		}
		if u.settings, err = config.Parse(data, configFile); err != nil {
			return nil, err
		}
		u.given = true
	}
	u.batch = u.repo.Batch(ctx)
	return u, nil
}

func (u *units) close() { u.batch.Close() }

// git runs git as the user does: fetching and pushing need the user's own keys and
// settings. Those of the clone run nothing (GATE-7).
func (u *units) git(args ...string) (string, error) {
	cmd := exec.CommandContext(u.ctx, "git", u.how.Args(args)...)
	cmd.Dir, cmd.Env = u.env.Dir, u.how.Env
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	return text.String(), err
}

// fetchFirst finds out how git is to run in the clone, and fetches.
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

// fetch takes the journals, the verdicts and main. Their refspecs have no `+`, so
// that a rewritten journal shows.
func (u *units) fetch() error {
	if u.remote != "origin" {
		return nil
	}
	out, err := u.git("fetch", "--quiet", "origin", "+refs/heads/main:refs/remotes/origin/main", uow.RefPrefix+"*:"+uow.RefPrefix+"*",
		"refs/notes/certificates*:refs/notes/certificates*")
	if err != nil {
		return diag.Hint(u.how.Explain(fmt.Errorf("git fetch: %s", strings.TrimSpace(out))), "a journal that does not fast-forward was rewritten: git ward fsck on the host")
	}
	if u.batch != nil { // a new reader sees the new refs
		u.batch.Close()
		u.batch = u.repo.Batch(u.ctx)
	}
	return nil
}

// lostRace is what git and the hook say when another push was faster: before the
// hooks, in them, and behind them, where git locks the ref.
var lostRace = []string{"[rejected]", "ref/stale", "but expected", "reference already exists", "incorrect old value", ".lock': File exists"}

// push moves a unit's ref from parent to commit; false is a lost race.
func (u *units) push(commit string, id uow.ID, parent string) (bool, error) {
	out, err := u.git("push", "--quiet", "--force-with-lease="+id.Ref()+":"+parent, u.remote, commit+":"+id.Ref())
	if err == nil {
		return true, u.fetch()
	}
	if slices.ContainsFunc(lostRace, func(words string) bool { return strings.Contains(out, words) }) {
		return false, nil
	}
	hint := "what is refused stands above"
	if !u.given && strings.Contains(out, `"budget" is`) {
		hint = "the host's [loop] settings differ from Ward's defaults: give a copy of <bare>/ward/config.toml by --config, or run it in the bare repository"
	}
	return false, diag.Hint(u.how.Explain(fmt.Errorf("git push: %s", strings.TrimSpace(out))), "%s", hint)
}

// ids lists the units, by directive and number.
func (u *units) ids() ([]uow.ID, error) {
	out, err := u.repo.Output(u.ctx, "for-each-ref", "--format=%(refname)", uow.RefPrefix)
	if err != nil {
		return nil, err
	}
	var list []uow.ID
	for ref := range strings.FieldsSeq(string(out)) {
		if id, err := uow.ParseRef(ref); err == nil {
			list = append(list, id)
		}
	}
	slices.SortFunc(list, uow.ID.Compare)
	return list, nil
}

// last is a unit's last record.
func (u *units) last(id uow.ID) (*uow.Record, error) {
	_, data, err := u.batch.Read(id.Ref()+":"+uow.File, uow.MaxRecord)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	r, err := uow.ParseRecord(data)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s: %w", id, err), "git ward fsck names what is broken")
	}
	return r, nil
}

// journal reads and proves a unit's journal; tip is "" when there is none.
func (u *units) journal(id uow.ID) (tip string, records []*uow.Record, err error) {
	object, err := u.batch.Info(id.Ref())
	if errors.Is(err, git.ErrMissing) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	out, err := u.repo.Output(u.ctx, "rev-list", "--first-parent", "--reverse", object.ID)
	if err != nil {
		return "", nil, err
	}
	var files [][]byte
	for commit := range strings.FieldsSeq(string(out)) {
		_, data, err := u.batch.Read(commit+":"+uow.File, uow.MaxRecord)
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", id, err)
		}
		files = append(files, data)
	}
	records, found := uow.Validate(id, files)
	if len(found) > 0 {
		return "", nil, diag.Hint(fmt.Errorf("%s: %s", id, found[0].Message), "git ward fsck on the host names what is broken")
	}
	return object.ID, records, nil
}

// main is what main says for a step of a unit. The totals of an unchanged text are
// those that the host admitted before: a clone does not know the host's settings.
func (u *units) main(id uow.ID, prev *uow.Record, records []*uow.Record) (*uow.Main, error) {
	_, data, err := u.batch.Read(u.mainRef+":"+comms.Path, comms.MaxBytes)
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return nil, err
	}
	doc, _ := comms.Parse(data)
	_, policy, err := u.batch.Read(u.mainRef+":"+uow.PolicyPath, uow.MaxPolicy)
	if err != nil && !errors.Is(err, git.ErrMissing) {
		return nil, err
	}
	m, found := loop.Main(doc.Directive(id.Directive), loop.Base(u.settings.Loop), policy)
	if len(found) > 0 {
		return nil, diag.Hint(fmt.Errorf("%s: %s", uow.PolicyPath, found[0].Message), "%s", found[0].Hint)
	}
	if m.DirectiveHash == prev.DirectiveHash && !u.given {
		m.Total = prev.Budget.Total
	}
	journals := [][]*uow.Record{records}
	for k := 1; k < id.K; k++ {
		_, earlier, err := u.journal(uow.ID{Directive: id.Directive, K: k})
		if err != nil {
			return nil, err
		}
		journals = append(journals, earlier)
	}
	m.Spent = uow.Spent(m.DirectiveHash, journals...)
	return m, nil
}

// verdicts are the host's words on a unit's claims, in the order of the claims.
func (u *units) verdicts(records []*uow.Record) ([]loop.Verdict, error) {
	var list []loop.Verdict
	seen := map[string]bool{}
	for _, r := range records {
		if r.Event != uow.MakeClaim || seen[r.Claim.Commit] {
			continue
		}
		seen[r.Claim.Commit] = true
		ok, err := u.repo.Exits(u.ctx, "notes", "--ref="+loop.VerdictsRef, "list", r.Claim.Commit)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		note, err := u.repo.Output(u.ctx, "notes", "--ref="+loop.VerdictsRef, "show", r.Claim.Commit)
		if err != nil {
			return nil, err
		}
		all, _ := loop.ParseVerdicts(note) // git ward fsck names broken lines
		for _, v := range all {
			if v.Unit == r.ID && v.Commit == r.Claim.Commit {
				list = append(list, v)
			}
		}
	}
	return list, nil
}
