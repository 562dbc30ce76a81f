package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/hooks/origin"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/pattern"
	"git-ward/internal/worktree"
)

const whyUsage = "why [--bare DIR] [--rev REV] [--json] FILE[:LINE[-LINE]]|COMMIT"

// Why is `git ward why` (SEE-4).
var Why = cli.Command{Name: "why", Doc: "say which directive, verdict and push a line or a commit comes from", Run: why,
	Long: "It is a git blame that leads to the reason: the directive, the unit and the iteration that wrote the line, the criteria and the host's verdict, who took it, and where the transcript is.\n\n" +
		"In a clone the file is looked at as it stands in the working tree; in a bare repository, as the project's branch has it. A file that is gone is asked about with --rev REV, a commit that had it.",
	Examples: []cli.Example{
		{Line: "why README.md:3", Doc: "one line"},
		{Line: "why README.md", Doc: "the whole file, a reason for each run of lines"},
		{Line: "why HEAD", Doc: "a commit"},
	}}

// question is what was asked: lines of a file, or a commit.
type question struct {
	finder      *origin.Finder
	repo        *git.Repo
	run         origin.Git
	rev         string // "" for the working tree
	path        string // from the top; "" for a commit
	commit      string
	first, last int // 0 for the whole file
}

func why(ctx context.Context, env *cli.Env) error {
	var bare, rev string
	var asJSON bool
	args, err := env.Flags("why", whyUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.StringVar(&rev, "rev", "", "the file as the commit `REV` has it; default: as it stands here")
		fs.BoolVar(&asJSON, "json", false, "one JSON object: a list of reasons")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 || args[0] == "" {
		return env.Usage(whyUsage, "why takes one file, with or without a line, or one commit")
	}
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return err
	}
	finder, err := origin.Open(ctx, repo)
	if err != nil {
		return err
	}
	defer finder.Close()
	q := &question{finder: finder, repo: repo, rev: rev}
	if err := q.place(ctx, env, bare == ""); err != nil {
		return err
	}
	if err := q.parse(ctx, env, args[0]); err != nil {
		return err
	}
	reasons, err := q.answer()
	if err != nil {
		return err
	}
	if asJSON {
		return diag.WriteJSON(env.Stdout, map[string]any{"schema_version": origin.SchemaVersion, "reasons": reasons})
	}
	return writeReasons(env.Stdout, reasons)
}

// place says where git looks: the surrounding working tree, if the question is about it, else
// the repository at the project's branch.
func (q *question) place(ctx context.Context, env *cli.Env, around bool) error {
	q.run = func(args ...string) (string, error) {
		out, err := q.repo.Output(ctx, args...)
		return string(out), err
	}
	if q.rev != "" {
		commit, err := q.repo.Commit(ctx, q.rev)
		if err != nil {
			return diag.Hint(err, "name a branch, a tag or an object id")
		}
		q.rev = commit
		return nil
	}
	bare, err := q.repo.Bare(ctx)
	if err != nil {
		return err
	}
	if around && !bare {
		tree, err := worktree.Find(env.Dir)
		if err != nil {
			return err
		}
		q.run = func(args ...string) (string, error) { return tree.Git(ctx, args...) }
		return nil
	}
	q.rev, err = q.repo.Commit(ctx, q.finder.Project())
	return err
}

// lineOf reads PATH:LINE and PATH:LINE-LINE.
var lineOf = pattern.New(`(?s)^(.+):([0-9]{1,9})(?:[-,]([0-9]{1,9}))?$`)

// directiveArg is a directive or a unit of one, which people try, too.
var directiveArg = pattern.New(`^D-[0-9]{1,9}(\.[0-9]{1,9})?$`)

// parse distinguishes files and commits: an argument that names a file here is a file.
func (q *question) parse(ctx context.Context, env *cli.Env, arg string) error {
	whole, err := q.has(env, arg)
	if err != nil || whole {
		return err
	}
	if m := lineOf.FindStringSubmatch(arg); m != nil {
		found, err := q.has(env, m[1])
		if err != nil {
			return err
		}
		if found {
			return q.lines(env, m[2], m[3])
		}
	}
	if q.commit, err = q.repo.Commit(ctx, arg); err != nil {
		if directiveArg.MatchString(arg) {
			return diag.Hint(fmt.Errorf("%s is a directive, and why asks about a file or a commit", arg), "git ward review %s shows its work", arg)
		}
		return diag.Hint(fmt.Errorf("%q is neither a file here nor a commit", arg), "of a file that is gone: git log --oneline -- PATH finds a commit that had it, and git ward why --rev COMMIT~1 PATH asks there")
	}
	return nil
}

func (q *question) lines(env *cli.Env, first, last string) error {
	q.first, _ = strconv.Atoi(first) // nine digits at most
	q.last = q.first
	if last != "" {
		q.last, _ = strconv.Atoi(last)
	}
	if q.first < 1 || q.last < q.first {
		return env.Usage(whyUsage, "lines count from 1")
	}
	return nil
}

// has reports whether an argument names a file, and stores its path: relative to the command's
// directory in a working tree, else to the root.
func (q *question) has(env *cli.Env, arg string) (bool, error) {
	path := strings.TrimPrefix(filepath.ToSlash(filepath.Clean(arg)), "./")
	if tree, err := worktree.Find(env.Dir); err == nil {
		if rel, err := filepath.Rel(tree.Dir, env.Path(arg)); err == nil {
			path = filepath.ToSlash(rel)
		}
	}
	if path == "." || path == ".." || strings.HasPrefix(path, "../") || strings.HasPrefix(path, "/") {
		return false, nil
	}
	args := []string{"ls-files", "-z", "--", ":(top,literal)" + path}
	if q.rev != "" {
		args = []string{"ls-tree", "-z", "--full-tree", "--name-only", q.rev, "--", ":(literal)" + path}
	}
	if out, err := q.run(args...); err != nil || strings.TrimSuffix(out, "\x00") != path {
		return false, err
	}
	q.path = path
	return true, nil
}

func (q *question) answer() ([]origin.Reason, error) {
	if q.commit != "" {
		r, err := q.finder.Commit(q.commit)
		return []origin.Reason{r}, err
	}
	ranges, err := origin.Blame(q.run, q.rev, q.path, q.first, q.last)
	if err != nil {
		return nil, diag.Hint(err, "git blame %s shows what there is", q.path)
	}
	if len(ranges) == 0 {
		return nil, diag.Hint(errors.New("the file has no lines"), "git ward why takes a commit, too: git log --oneline -- PATH lists them")
	}
	return q.finder.Lines(ranges, q.path)
}

// writeReasons words reasons for a person; the same one for several lines is told once.
func writeReasons(w io.Writer, list []origin.Reason) error {
	told := map[string]bool{}
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s\n", askedOf(r), headline(r))
		key := r.Commit + " " + r.Unit + " " + strconv.FormatInt(r.Iteration, 10)
		if told[key] && r.Commit != "" {
			fmt.Fprintf(w, "  as above: %s\n", diag.Short(r.Commit))
			continue
		}
		told[key] = true
		for _, line := range facts(r) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	return nil
}

// askedOf names what was asked about.
func askedOf(r origin.Reason) string {
	switch {
	case r.Path == "":
		return "commit " + diag.Short(r.Commit)
	case r.First == r.Last:
		return fmt.Sprintf("%s:%d", r.Path, r.First)
	}
	return fmt.Sprintf("%s:%d-%d", r.Path, r.First, r.Last)
}

// headline is the reason in one line.
func headline(r origin.Reason) string {
	switch {
	case r.Kind == origin.Uncommitted:
		return "is in no commit yet: it is a change of this working tree"
	case r.Kind == origin.Older:
		return "was there when Ward was set up"
	case r.Kind == origin.Directive && r.Title != "":
		return fmt.Sprintf("is of %s: %s", r.Directive, r.Title)
	case r.Kind == origin.Directive:
		return fmt.Sprintf("is of %s, which COMMS.md has no longer", r.Directive)
	case r.Taken != nil && strings.HasPrefix(r.Taken.Who, "agent"):
		return "is the agent's own, such as a report: it pushed that itself"
	case r.Directive != "":
		return fmt.Sprintf("names %s and is no unit's work", r.Directive)
	}
	return "is no directive's: a person wrote it"
}

// facts are what is known of a reason, a line each.
func facts(r origin.Reason) (lines []string) {
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("%-11s", name)+fmt.Sprintf(format, args...))
	}
	if r.Commit == "" {
		return nil
	}
	add("written in", "%s %q by %s, %s", diag.Short(r.Commit), r.Subject.String(), r.Author, r.Time.Format("2006-01-02"))
	if r.WasPath != "" && (r.WasPath != r.Path || r.WasLine != r.First) {
		add("there as", "%s:%d", r.WasPath, r.WasLine)
	}
	if r.Iteration > 0 {
		add("by", "%s, iteration %d, which claimed %s", r.Unit, r.Iteration, diag.Short(r.Claim))
	}
	if v := r.Verdict; v != nil {
		add("verdict", "%s on %s of %s: %s", v.Word, diag.Short(v.Commit), v.Unit, diag.Clean(v.Reason))
		for _, c := range v.Criteria {
			word := "not met"
			if c.Met {
				word = "met"
			}
			add("", "%s: %s", word, c.Text)
		}
	} else if r.Iteration > 0 {
		add("verdict", "none")
	}
	if r.Iteration > 0 || r.Kind == origin.Person {
		add("taken", "%s", takenWords(r.Taken))
	}
	if r.Transcript != "" {
		add("transcript", "%s", r.Transcript)
		add("review", "git ward review %s", r.Unit)
	}
	for _, remark := range r.Remarks {
		add("note", "%s", remark)
	}
	return lines
}

func takenWords(t *origin.Taken) string {
	if t == nil {
		return "by nobody yet: no branch of the project has it"
	}
	how := map[string]string{"merge": "by the merge " + diag.Short(t.Commit), "squash": "as the squash " + diag.Short(t.Commit), "commit": "as it is"}[t.How]
	if t.Push == 0 {
		return fmt.Sprintf("into %s %s, %s; the audit here has no push of it", t.Branch, how, t.Time.Format("2006-01-02"))
	}
	return fmt.Sprintf("into %s %s, by %s, push %d, %s", t.Branch, how, t.Who, t.Push, t.Time.Format("2006-01-02"))
}
