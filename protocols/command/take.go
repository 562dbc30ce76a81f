package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

// taking are the options of `git ward take`.
type taking struct {
	options  options
	squash   bool
	unjudged bool
	all      bool
	noWait   bool
}

// Take is `git ward take` (REC-3): it makes the judged commit, and no other, part of the
// project. Before the push nothing moves, and the push moves one ref. Afterwards it updates
// clean working trees; a second take repeats that if it was cut short.
var Take = cli.Command{Name: "take", Doc: "merge a directive's judged work into the project", Run: takeWork,
	Long:     "Merges the commit that the host has judged, and pushes. If the project has moved on, the host judges the merged tree first: the command pushes it below refs/ward/take/, waits for the verdict, and takes it if it holds. --all does this for all proved work in order, each judged on top of the last; work that does not hold, or whose merge raises new doubts, stays.",
	Examples: []cli.Example{{Line: `take D-1`, Doc: "a merge commit"}, {Line: `take --squash D-1`, Doc: "one commit"}, {Line: `take --all`, Doc: "all proved work, in order"}}}

func takeWork(ctx context.Context, env *cli.Env) error {
	const usage = "take [--squash] [--unjudged] [--no-wait] [--json] [--bare DIR] [--config FILE] --all|D-n|D-n.k [COMMIT]"
	var t taking
	args, err := env.Flags("take", usage, func(fs *flag.FlagSet) {
		t.options.flags(fs)
		fs.BoolVar(&t.squash, "squash", false, "one commit instead of a merge")
		fs.BoolVar(&t.unjudged, "unjudged", false, "even though the project has moved on and the merged tree is not judged")
		fs.BoolVar(&t.noWait, "no-wait", false, "do not wait for the host's verdict on a merged tree")
		fs.BoolVar(&t.all, "all", false, "all proved work, in order")
	})
	if err != nil {
		return err
	}
	if t.all {
		if len(args) > 0 {
			return env.Usage(usage, "take --all takes all that is proved, and no directive by name")
		}
		return t.takeAll(ctx, env, usage)
	}
	if len(args) < 1 || len(args) > 2 {
		return env.Usage(usage, "take takes one directive, such as D-1, and perhaps the commit that it must be")
	}
	of, err := parseSubject(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	wanted := ""
	if len(args) == 2 {
		if wanted = args[1]; len(wanted) < 7 || strings.Trim(strings.ToLower(wanted), "0123456789abcdef") != "" {
			return env.Usage(usage, "%.40q is not an object id, or one of less than 7 digits", args[1])
		}
	}
	u, err := openDirectives(ctx, env, t.options, of.name, takes)
	if err != nil {
		return err
	}
	defer u.close()
	if u.onForge() {
		which := of.name
		if wanted != "" {
			which += "@" + wanted
		}
		if of.unit != 0 {
			return env.Usage(usage, "a forge merges what is proved of a directive, and no unit of it: git ward take %s", of.name)
		}
		return t.onForge(u, usage, which)
	}
	return said(u.lacking(t.take(u, of, wanted)))
}

// takes has a clone fetch the merges that are judged.
const takes = "+" + uow.TakePrefix + "*:" + uow.TakePrefix + "*"

// takeAll takes all proved directives, one after the other; each is merged into, and judged
// on, the result of the one before (PROOF-7).
func (t *taking) takeAll(ctx context.Context, env *cli.Env, usage string) error {
	u, err := openDirectives(ctx, env, t.options, "D-*", takes, record.Prefix+"*:"+record.Prefix+"*")
	if err != nil {
		return err
	}
	defer u.close()
	if u.onForge() {
		return t.onForge(u, usage, "all")
	}
	all, err := u.snapshot()
	if err != nil {
		return err
	}
	positions, err := all.Positions(u.history, nil)
	if err != nil {
		return err
	}
	var stay []string
	taken := 0
	for _, p := range positions {
		if review.Stand(p).State != review.Ready {
			continue
		}
		err := t.take(u, subject{name: p.Name}, "")
		switch {
		case errors.Is(err, cli.ErrFindings): // which is said
			stay = append(stay, p.Name)
		case err != nil:
			return u.lacking(err)
		default:
			taken++
		}
	}
	if !t.options.json {
		fmt.Fprintf(env.Stdout, "%s taken", diag.Count(taken, "directive"))
		if len(stay) > 0 {
			fmt.Fprintf(env.Stdout, ", and what stays, for the reasons above: %s", strings.Join(stay, ", "))
		}
		fmt.Fprintln(env.Stdout)
	}
	if len(stay) > 0 {
		return cli.ErrFindings
	}
	return nil
}

// onForge reports whether a forge owns the project's branch, so that merges are done there
// (FORGE-1). Only the host's settings say so.
func (u *units) onForge() bool { return u.bare() && u.settings.OnForge() }

// onForge asks the forge's synchronizer to merge. It does not wait, and the forge always makes
// a merge commit, so a switch that asks for something else is refused.
func (t *taking) onForge(u *units, usage, which string) error {
	for _, switched := range []struct {
		name string
		on   bool
	}{{"squash", t.squash}, {"unjudged", t.unjudged}, {"no-wait", t.noWait}, {"json", t.options.json}} {
		if switched.on {
			return u.env.Usage(usage, "--%s is not for work that a forge merges ([forge] url); there a person may squash or rebase it", switched.name)
		}
	}
	at := *u.env
	at.Args = []string{"--take", which, "--bare", u.repo.Dir}
	return cli.Exec("git-ward-forge", "forge")(u.ctx, &at)
}

func (t *taking) take(u *units, of subject, wanted string) error {
	c, err := u.comparer()
	if err != nil {
		return err
	}
	defer c.close()
	return git.Update(u.ctx, u.race(u.names.Project), func() (bool, error) {
		w, err := c.look(of)
		if err != nil {
			return false, err
		}
		if w.TakenBy != "" && w.Is(wanted) {
			return true, t.tell(c, w, "")
		}
		commit, err := t.commit(c, w)
		if err != nil {
			return false, err
		}
		if o := w.Obstacle(wanted); o.Why != "" {
			return false, refused(u.env, o.Hint, "%s", o.Why)
		}
		asked := ""
		if !w.Merge.Judged && !t.unjudged {
			if asked, err = t.judged(c, w, commit); err != nil {
				return false, err
			}
			w.Merge.Judged = true
			if same, err := c.sameParents(asked, commit); err != nil {
				return false, err
			} else if same { // so that the verdict is on what the project gets
				commit = asked
			}
		}
		moved, words, err := u.publish(u.names.Project, w.Project, commit)
		if err != nil {
			return false, refused(u.env, "nothing was changed; the host's message is above", "%v", err)
		}
		if !moved {
			return false, nil
		}
		u.hear(words)
		w.TakenBy = commit
		if asked != "" {
			u.takeBack(w, asked)
		}
		return true, t.tell(c, w, commit)
	})
}

// commit is the project's next commit, with no ref yet; "" if there can be none.
func (t *taking) commit(c *comparer, w *work) (string, error) {
	if w.tree == "" || w.Word == nil {
		return "", nil
	}
	who, err := c.identity()
	if err != nil {
		return "", err
	}
	parents := []string{w.Project, w.Commit}
	var subjects []string
	if t.squash {
		parents = parents[:1]
		out, err := c.repo.Output(c.ctx, "log", "--reverse", "--no-merges", "--max-count=200", "--no-show-signature", "--no-notes", "--format=%s", "--end-of-options", w.Commit, "^"+w.Base, "--")
		if err != nil {
			return "", err
		}
		subjects = strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	return c.repo.CommitMerge(who, w.tree, parents, time.Now(), w.TakeMessage(t.squash, subjects))
}

// tree is the outcome for a working tree of the project's branch.
type tree struct {
	Dir   string `json:"dir"`
	State string `json:"state"` // moved, current, dirty, diverged
}

// taken is what `git ward take --json` prints.
type taken struct {
	SchemaVersion string   `json:"schema_version"`
	Directive     string   `json:"directive"`
	Unit          string   `json:"unit"`
	Commit        string   `json:"commit"`
	TakenBy       string   `json:"taken_by"`
	Branch        string   `json:"branch"`  // the project's
	Already       bool     `json:"already"` // it was taken before
	Trees         []tree   `json:"trees"`
	Undo          []string `json:"undo"` // commands to run next
}

// tell updates clean working trees of the project's branch and prints the outcome; made is ""
// if the work was taken before.
func (t *taking) tell(c *comparer, w *work, made string) error {
	done := taken{SchemaVersion: review.SchemaVersion, Directive: w.Directive, Unit: w.Unit, Commit: w.Commit, TakenBy: w.TakenBy, Branch: c.names.Project,
		Already: made == "", Trees: []tree{}, Undo: []string{}}
	tip := made
	if made == "" {
		var err error
		if tip, err = c.reader.Tip(c.names.ProjectRef()); err != nil {
			return err
		}
	}
	trees, err := c.follow(tip)
	if err != nil {
		fmt.Fprintf(c.env.Stderr, "git-ward: warning: %s is pushed, and your working tree stays behind: %s\n", c.names.Project, diag.Clean(err.Error()))
	}
	done.Trees = append(done.Trees, trees...)
	if made != "" {
		revert := "git revert --no-edit -m 1 " + made
		if t.squash {
			revert = "git revert --no-edit " + made
		}
		done.Undo = []string{revert, "git push origin " + c.names.Project}
	}
	if t.options.json {
		return diag.WriteJSON(c.env.Stdout, done)
	}
	return done.print(c, w)
}

func (d *taken) print(c *comparer, w *work) error {
	out := c.env.Stdout
	if d.Already {
		fmt.Fprintf(out, "%s was taken already, by %s\n", d.Directive, d.TakenBy)
	} else {
		fmt.Fprintf(out, "taken: %s %s, %s, is on %s as %s, and pushed\n", d.Directive, w.Title, review.Summary(w.Changes), d.Branch, d.TakenBy)
		if w.First() != "" {
			fmt.Fprintf(out, "you took it with: %s\n", w.First())
		}
	}
	for _, t := range d.Trees {
		words := map[string]string{
			"moved":    "has it",
			"current":  "had it",
			"dirty":    "has changes of its own and was not touched; git merge --ff-only origin/" + d.Branch + " brings it there",
			"diverged": "has commits of its own and was not touched; git pull --rebase brings it there",
		}[t.State]
		fmt.Fprintf(out, "the working tree %s %s\n", diag.Clean(t.Dir), words)
	}
	if len(d.Trees) == 0 && !c.bare() {
		fmt.Fprintf(out, "no working tree of this clone is on %s, and none was touched\n", d.Branch)
	}
	if len(d.Undo) > 0 {
		where := "undo"
		if c.bare() { // which has no tree to revert in
			where = "undo, in a clone"
		}
		fmt.Fprintf(out, "%s: %s\n", where, strings.Join(d.Undo, " && "))
	}
	return nil
}

// follow updates the clone's clean working trees on the project's branch to tip, the host's
// commit.
func (c *comparer) follow(tip string) (list []tree, err error) {
	if c.bare() {
		return nil, nil
	}
	out, err := c.repo.Output(c.ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(string(out), "\x00\x00") {
		dir, on := "", false
		for line := range strings.SplitSeq(entry, "\x00") {
			if path, ok := strings.CutPrefix(line, "worktree "); ok {
				dir = path
			}
			on = on || line == "branch refs/heads/"+c.names.Project
		}
		if dir == "" || !on {
			continue
		}
		state, followErr := c.followIn(dir, tip)
		if followErr != nil {
			err = errors.Join(err, followErr)
			continue
		}
		list = append(list, tree{dir, state})
	}
	return list, err
}

func (c *comparer) followIn(dir, tip string) (state string, err error) {
	t := &worktree.Tree{Dir: dir}
	head, err := t.Git(c.ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", err
	}
	if has, err := c.reader.Contains(head, tip); err != nil || has {
		return "current", err
	}
	if forward, err := c.reader.Contains(tip, head); err != nil || !forward {
		return "diverged", err
	}
	changed, err := t.Git(c.ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	if changed != "" {
		return "dirty", nil
	}
	// An untracked file in the way, ignored or not, is the person's: git changes nothing.
	if _, err = t.Git(c.ctx, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", tip); err != nil {
		return "", err
	}
	return "moved", nil
}
