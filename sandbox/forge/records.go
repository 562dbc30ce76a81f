package forge

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/sandbox/forge/client"
)

// What a pass knows stands in refs below forge.RefPrefix, each a blob of JSON that is moved by
// compare-and-swap. There is no other state: who copies the repository has it all.
const (
	issuePrefix   = forge.RefPrefix + "issue/"
	requestPrefix = forge.RefPrefix + "request/"
	intentPrefix  = forge.RefPrefix + "intent/"
	forkRef       = forge.RefPrefix + "fork"
	placeRef      = forge.RefPrefix + "place"
)

// maxRecord bounds one of these blobs, in bytes.
const maxRecord = 1 << 20

// issue is the record of an issue with the label.
type issue struct {
	Number    int64      `json:"number"`
	Proposals []proposal `json:"proposals,omitempty"` // oldest first
	Directive string     `json:"directive,omitempty"` // that one of them became
	By        string     `json:"by,omitempty"`        // who approved it
	Refused   string     `json:"refused,omitempty"`   // hash of a text that could not be used
	Label     int64      `json:"label,omitempty"`     // the event that gave the label
	Texts     int        `json:"texts,omitempty"`     // how many of its texts were answered since
	Closed    bool       `json:"closed,omitempty"`    // because the project has the work
	Gone      bool       `json:"gone,omitempty"`      // deleted, or moved to another project
	Comments  comments   `json:",embed"`
}

// comments is how far the comments on something were read.
type comments struct {
	Seen  int64  `json:"seen,omitempty"`  // the last comment that was handled
	Owes  string `json:"owes,omitempty"`  // the answer to it, until it is posted
	Tries int    `json:"tries,omitempty"` // how often the host had trouble with the next one
}

// book is a record that is updated by deeds.
type book struct {
	ref, old  string
	record    any
	comments  *comments
	directive *string
	people    *people // nil where theirs cannot be adopted
}

// next is the record's next value.
func (p *pass) next(b *book) ([]git.RefUpdate, error) {
	u, err := p.update(b.ref, b.old, b.record)
	if b.old = u.New; u.Old == u.New {
		return nil, err
	}
	return []git.RefUpdate{u}, err
}

// keep saves it.
func (p *pass) keep(b *book) error {
	if p.Dry != nil {
		return nil
	}
	updates, err := p.next(b)
	if err != nil || len(updates) == 0 {
		return err
	}
	return p.move(updates...)
}

// proposal is a text posted for approval.
type proposal struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Hash  string `json:"hash"`
}

// request is the record of a directive's pull request.
type request struct {
	Directive string   `json:"directive"`
	Number    int64    `json:"number,omitempty"`
	Page      string   `json:"page,omitempty"`
	Owner     string   `json:"owner"` // owner and name of the head's repository
	Name      string   `json:"name"`
	Branch    string   `json:"branch"`
	Base      string   `json:"base"`              // the project's branch that it targets
	Commit    string   `json:"commit,omitempty"`  // the claim that was pushed last
	Body      string   `json:"body,omitempty"`    // hash of the sources of title, body and draft
	Status    string   `json:"status,omitempty"`  // commit, state and description that were set last
	Closed    bool     `json:"closed,omitempty"`  // somebody closed it, so the unit was paused
	Merged    string   `json:"merged,omitempty"`  // the merge's commit on the base
	Other     bool     `json:"other,omitempty"`   // its tree differs from the judged one
	Reviews   []int64  `json:"reviews,omitempty"` // handled reviews: an earlier one may be submitted later
	Comments  comments `json:",embed"`
}

// intent is written before the deed that it announces.
type intent struct {
	What  string `json:"what"`
	By    string `json:"by,omitempty"`    // who approved
	Push  string `json:"push,omitempty"`  // id of the command's push
	Audit string `json:"audit,omitempty"` // where the audit stood
}

func issueRef(number int64) string { return issuePrefix + strconv.FormatInt(number, 10) }

// load reads a record and its ref's old value; without one it returns the zero record.
func load[T any](p *pass, ref string) (v T, old string, err error) {
	tip, err := p.Repo.Ref(p.ctx, ref)
	if err != nil || tip == git.Zero {
		return v, git.Zero, err
	}
	data, err := p.reader.Blob(tip, maxRecord)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		err = fmt.Errorf("%s cannot be read: %w", ref, err)
	}
	return v, tip, err
}

// update is a ref's next value.
func (p *pass) update(ref, old string, v any) (git.RefUpdate, error) {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)) // a ref name may have arbitrary bytes
	if err != nil {
		return git.RefUpdate{}, err
	}
	blob, err := p.Repo.WriteObject("blob", append(data, '\n'))
	return git.RefUpdate{Ref: ref, Old: old, New: blob}, err
}

// save moves a record's ref.
func (p *pass) save(ref, old string, v any) error {
	return p.keep(&book{ref: ref, old: old, record: v})
}

func (p *pass) move(updates ...git.RefUpdate) error {
	return p.Repo.UpdateRefs(p.ctx, "", updates...)
}

// issues lists the issues that have records.
func (p *pass) issues() (list []int64, err error) {
	tips, err := p.Repo.Refs(p.ctx, issuePrefix)
	for _, t := range tips {
		n, bad := strconv.ParseInt(t.Name[len(issuePrefix):], 10, 64)
		err = errors.Join(err, bad)
		list = append(list, n)
	}
	return list, err
}

// home is where branches are pushed.
type home struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Clone string `json:"clone"`
}

func homeOf(p client.Project) home { return home{p.Owner, p.Name, p.Clone} }

// place is where all records are from. On another forge numbers mean other things, another user
// has another fork, and a project's name may belong to somebody else by now: its number does not.
type place struct {
	URL     string `json:"url"`
	Login   string `json:"login"`
	Project int64  `json:"project,omitempty"` // its number on the forge; 0 before that was recorded
}

// elsewhere refuses to run with records of another forge or user, before anything is asked for.
func (p *pass) elsewhere() error {
	now := place{URL: p.Settings.Forge.URL, Login: p.self.Login}
	was, old, err := load[place](p, placeRef)
	if err != nil || old == git.Zero || was.Login == now.Login && (was.URL == now.URL || was.Project != 0 && sameForge(was.URL, now.URL)) {
		return err
	}
	return p.anew(fmt.Errorf("what is known here is of %s on %s, and this is %s on %s", diag.Untrusted(was.Login), diag.Untrusted(was.URL), diag.Untrusted(now.Login), diag.Untrusted(now.URL)))
}

// settled refuses to run with records of another project, whatever that is called. One that was
// renamed is the same.
func (p *pass) settled() error {
	now := place{p.Settings.Forge.URL, p.self.Login, p.project.ID}
	was, old, err := load[place](p, placeRef)
	switch {
	case err != nil || was == now:
		return err
	case was.Project != 0 && was.Project != now.Project:
		return p.isSame(was.Project, now.Project)
	}
	return p.save(placeRef, old, now)
}

// isSame refuses another project than the known one, by their numbers.
func (p *pass) isSame(known, now int64) error {
	if now == known {
		return nil
	}
	return p.anew(fmt.Errorf("%s is another project than the one that is known here: its number on the forge is %d, and was %d; it was made anew, or somebody else has the name", diag.Untrusted(p.Settings.Forge.URL), now, known))
}

// anew says how to begin without the records that there are.
func (p *pass) anew(err error) error {
	refs := strings.Join([]string{placeRef, forkRef, othersRef, strings.TrimSuffix(issuePrefix, "/"), strings.TrimSuffix(requestPrefix, "/"), strings.TrimSuffix(intentPrefix, "/")}, " ")
	return diag.Hint(err, "set [forge] and its user's name back, or begin anew: git -C %s for-each-ref --format='delete %%(refname)' %s | git -C %s update-ref --stdin", diag.Word(p.Ward.Bare), refs, diag.Word(p.Ward.Bare))
}

// sameForge reports whether the pages of two projects are on one forge.
func sameForge(a, b string) bool {
	at, err := url.Parse(a)
	to, wrong := url.Parse(b)
	return err == nil && wrong == nil && sameSite(a, b) && path.Dir(path.Dir(at.Path)) == path.Dir(path.Dir(to.Path))
}
