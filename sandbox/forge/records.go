package forge

import (
	"errors"
	"fmt"
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

// issue is what is known of an issue with the label.
type issue struct {
	Number    int64      `json:"number"`
	Proposals []proposal `json:"proposals,omitempty"` // oldest first
	Directive string     `json:"directive,omitempty"` // that one of them became
	By        string     `json:"by,omitempty"`        // who approved it
	Refused   string     `json:"refused,omitempty"`   // the hash of a text that nothing could be made of
	Label     int64      `json:"label,omitempty"`     // the event that gave the label
	Texts     int        `json:"texts,omitempty"`     // how many of its texts were answered since
	hearing
}

// hearing is how far the comments on something were heard.
type hearing struct {
	Seen  int64  `json:"seen,omitempty"`  // the last comment that was looked at
	Owes  string `json:"owes,omitempty"`  // the answer to it, while it is not posted
	Tries int    `json:"tries,omitempty"` // how often the host was in trouble with the next
}

// book is a record that moves with what is done.
type book struct {
	ref, old string
	record   any
	*hearing
	directive func() string
	// people brings commits that people made on the request onto the work, in the name of who
	// says so; nil where there can be none.
	people func(who string) error
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

// proposal is a text that was posted for approval.
type proposal struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Hash  string `json:"hash"`
}

// request is what is known of a directive's pull request.
type request struct {
	Directive string  `json:"directive"`
	Number    int64   `json:"number,omitempty"`
	Page      string  `json:"page,omitempty"`
	Owner     string  `json:"owner"` // of the repository that has the branch, and its name
	Name      string  `json:"name"`
	Branch    string  `json:"branch"`
	Base      string  `json:"base"`              // the project's branch that it is for
	Commit    string  `json:"commit,omitempty"`  // the claim that was sent last
	Body      string  `json:"body,omitempty"`    // a hash of what title, body and draft were made of
	Status    string  `json:"status,omitempty"`  // commit, state and description that were set last
	Closed    bool    `json:"closed,omitempty"`  // somebody closed it, and the unit was paused for it
	Merged    string  `json:"merged,omitempty"`  // the commit that the project got
	Other     bool    `json:"other,omitempty"`   // that is another tree than the judged one
	Reviews   []int64 `json:"reviews,omitempty"` // that were looked at: one begun earlier may be sent later
	hearing
}

// intent is what is about to be done, written before it is.
type intent struct {
	What  string `json:"what"`
	Push  string `json:"push,omitempty"`  // the id of the push that a command makes
	Audit string `json:"audit,omitempty"` // where the record of all pushes stood
}

func issueRef(number int64) string { return issuePrefix + strconv.FormatInt(number, 10) }

// load reads a record; the zero one where there is none, with the ref's old value.
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
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)) // a ref's name has any bytes
	if err != nil {
		return git.RefUpdate{}, err
	}
	blob, err := p.Repo.WriteObject("blob", append(data, '\n'))
	return git.RefUpdate{Ref: ref, Old: old, New: blob}, err
}

// save moves a record's ref.
func (p *pass) save(ref, old string, v any) error {
	if p.Dry != nil {
		return nil
	}
	u, err := p.update(ref, old, v)
	if err != nil || u.New == u.Old {
		return err
	}
	return p.move(u)
}

func (p *pass) move(updates ...git.RefUpdate) error {
	return p.Repo.UpdateRefs(p.ctx, "", updates...)
}

// issues are the ones that there are records of.
func (p *pass) issues() (list []int64, err error) {
	tips, err := p.Repo.Refs(p.ctx, issuePrefix)
	for _, t := range tips {
		n, bad := strconv.ParseInt(t.Name[len(issuePrefix):], 10, 64)
		err = errors.Join(err, bad)
		list = append(list, n)
	}
	return list, err
}

// home is where branches are sent to.
type home struct {
	Owner string `json:"owner"`
	Name  string `json:"name"`
	Clone string `json:"clone"`
}

func homeOf(p client.Project) home { return home{p.Owner, p.Name, p.Clone} }

// place is where all records are of, and whose: on another forge their numbers are other things,
// and for another user the fork is not his.
type place struct {
	URL   string `json:"url"`
	Login string `json:"login"`
}

// settled refuses a look with records of another place.
func (p *pass) settled() error {
	now := place{p.Settings.Forge.URL, p.self.Login}
	was, old, err := load[place](p, placeRef)
	switch {
	case err != nil:
		return err
	case old == git.Zero:
		return p.save(placeRef, old, now)
	case was == now:
		return nil
	}
	refs := strings.Join([]string{placeRef, forkRef, strings.TrimSuffix(issuePrefix, "/"), strings.TrimSuffix(requestPrefix, "/"), strings.TrimSuffix(intentPrefix, "/")}, " ")
	return diag.Hint(fmt.Errorf("what is known here is of %s on %s, and this is %s on %s", diag.Untrusted(was.Login), diag.Untrusted(was.URL), diag.Untrusted(now.Login), diag.Untrusted(now.URL)),
		"set [forge] back, or begin anew: git -C %s for-each-ref --format='delete %%(refname)' %s | git -C %s update-ref --stdin", p.Ward.Bare, refs, p.Ward.Bare)
}
