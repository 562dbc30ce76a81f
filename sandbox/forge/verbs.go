package forge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/uow"
	"git-ward/sandbox/forge/client"
)

// maxAnswer bounds a command's output in an answer, in bytes.
const maxAnswer = 2000

// approval is the deed that makes a directive of a proposal's hash in a person's name. why is
// what is missing. done gets the answer to post.
type approval func(hash, who string, done func(text string) ([]git.RefUpdate, error)) (d deed, why string)

// hear handles each comment on an issue or request once. The comment's record is updated
// together with its effect, and the answer is posted after it.
func (p *pass) hear(on client.Thread, b *book, approve approval) error {
	if b.old == git.Zero {
		return nil
	}
	if err := p.pay(on, b); err != nil {
		return err
	}
	comments, err := p.Forge.Comments(p.ctx, on)
	if err != nil {
		return err
	}
	for _, c := range comments {
		if c.ID <= b.comments.Seen {
			continue
		}
		v, who, err := p.verb(c)
		if err != nil { // the next look goes on here
			return errors.Join(err, p.keep(b))
		}
		if v.Name != "" {
			if err := p.act(b, v, c, who, approve); err != nil {
				return err
			}
			if err := p.pay(on, b); err != nil {
				return err
			}
		}
		b.comments.Seen = c.ID
	}
	return p.keep(b)
}

// pay posts an owed answer.
func (p *pass) pay(on client.Thread, b *book) error {
	if b.comments.Owes == "" {
		return nil
	}
	body := b.comments.Owes
	b.comments.Owes = ""
	return p.say(on, body, fmt.Sprintf("answer on %d", on.Number), b)
}

// say posts a comment once and updates its record.
func (p *pass) say(on client.Thread, body, what string, b *book) error {
	body = p.Redact(body)
	return p.do(deed{
		key:  "say-" + git.BlobID(fmt.Appendf(nil, "%v %s", on, body)),
		what: what,
		made: func(intent) (bool, error) {
			list, err := p.Forge.Comments(p.ctx, on)
			return slices.ContainsFunc(list, func(c client.Comment) bool {
				return c.Author.Login == p.self.Login && sameWords(c.Body.Raw(), body)
			}), err
		},
		make: func(intent) error {
			_, err := p.Forge.Comment(p.ctx, on, body)
			return err
		},
		done: func() ([]git.RefUpdate, error) { return p.next(b) },
	})
}

// sameWords compares a posted text with the forge's copy: some forges trim, some change line
// ends.
func sameWords(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// marked names a text's subject, so that two answers are never equal.
func marked(text, format string, args ...any) string {
	return text + "\n\n<sub>" + fmt.Sprintf(format, args...) + "</sub>"
}

// verb is the verb of a comment, "" for none: its first line, as first written, by a person
// with write access now (FORGE-2). The rest is ignored.
func (p *pass) verb(c client.Comment) (v forge.Verb, who string, err error) {
	if c.Author.Login == p.self.Login {
		return v, "", nil
	}
	v, ok, finding := forge.Comment{Body: c.Body, Bot: c.Author.Bot, Edited: c.Edited()}.Verb()
	if !ok && finding == "" {
		return forge.Verb{}, "", nil
	}
	may, err := p.mayWrite(c.Author)
	if err != nil || !may {
		return forge.Verb{}, "", err
	}
	if !ok {
		return forge.Verb{Name: unread, Argument: finding}, c.Author.Login, nil
	}
	return v, c.Author.Login, nil
}

// unread is an attempted verb that is malformed; its Argument says why.
const unread = "?"

// act does what a comment asks for, and records the answer.
func (p *pass) act(b *book, v forge.Verb, c client.Comment, who string, approve approval) error {
	done := func(text string) ([]git.RefUpdate, error) {
		b.comments.Seen, b.comments.Owes, b.comments.Tries = c.ID, marked(text, "to comment %d", c.ID), 0
		return p.next(b)
	}
	d, why := deed{}, ""
	switch {
	case v.Name == unread:
		why = v.Argument
	case v.Name == forge.Approve && v.Argument != "":
		d, why = approve(v.Argument, who, done)
	default:
		var err error
		if d, why, err = p.step(b, v, who, done); err != nil {
			return err
		}
	}
	return p.carry(b, fmt.Sprintf("comment-%d", c.ID), d, why, done)
}

// maxTries is in how many passes the host may fail at one request before later comments are
// handled.
const maxTries = 3

// carry does what a person asks for, or records the answer why, which is what is missing or refused.
func (p *pass) carry(b *book, key string, d deed, why string, done func(answer string) ([]git.RefUpdate, error)) error {
	why, err := p.carried(b, key, d, why)
	if err != nil || why == "" {
		return err
	}
	if p.Dry != nil {
		return errDry
	}
	updates, err := done(why)
	if err != nil {
		return err
	}
	return p.move(updates...)
}

// carried is carry up to the answer. What an interrupted pass began may still be done.
func (p *pass) carried(b *book, key string, d deed, why string) (string, error) {
	if d.key == "" {
		d.key = key
	}
	if why != "" && d.make != nil {
		switch begun, err := p.begun(d.key); {
		case err != nil:
			return "", err
		case begun:
			why = ""
		}
	}
	if why != "" {
		return why, nil
	}
	err := p.do(d)
	if r, ok := errors.AsType[*refusal](err); ok {
		return "It was refused:\n\n" + forge.Quote(diag.Untrusted(r.said), maxAnswer), nil
	}
	if err == nil || !errors.Is(err, errUnknown) || p.ctx.Err() != nil {
		return "", err
	}
	if b.comments.Tries++; b.comments.Tries < maxTries {
		return "", errors.Join(err, p.keep(b))
	}
	p.trouble(*b.directive, err)
	return "The host could not do it, and its admin can read why. Say it again when that is mended.", nil
}

// command is the command line for a verb. why is what is missing.
func (p *pass) command(directive string, v forge.Verb) (args []string, why string) {
	if directive == "" {
		return nil, "There is no directive here yet: approve a proposal first."
	}
	at, ok := p.position(directive)
	bare := []string{"--bare", p.Ward.Bare}
	switch v.Name {
	case forge.Drop:
		return append([]string{"drop"}, append(bare, "--", directive)...), ""
	case forge.Include:
		if v.Argument == forge.Guards {
			bare = append(bare, forge.Guards)
		}
		paths, err := v.Paths()
		if err != nil {
			return nil, diag.Clean(err.Error())
		}
		return append([]string{"include"}, append(append(bare, "--", directive), paths...)...), ""
	}
	switch {
	case ok && at.Dropped:
		return nil, directive + " was dropped."
	case !ok || at.Unit == nil:
		return nil, directive + " has no unit yet: nobody has begun."
	}
	args = append([]string{"uow", v.Name}, bare...)
	if at.Unit.State.Ended() && (v.Name == forge.Retry || v.Name == forge.Clarify) { // it continues as the next unit
		args[1] = "fork"
	} else if v.Name == forge.Retry && !slices.Contains(at.Unit.Possible(), uow.Retry) {
		return nil, at.Unit.ID + " is not blocked: " + at.Unit.Words() + "."
	}
	if v.Name == forge.Clarify {
		args = append(args, "-m", v.Argument)
	}
	return append(args, "--", at.Unit.ID), ""
}

// step is a command as a deed for the directive's current state, which another verb may have
// changed.
func (p *pass) step(b *book, v forge.Verb, who string, done func(text string) ([]git.RefUpdate, error)) (d deed, why string, err error) {
	if err := p.refresh(); err != nil {
		return deed{}, "", err
	}
	directive := *b.directive
	args, why := p.command(directive, v)
	return deed{
		what: fmt.Sprintf("%s %s, as %s says", v.Name, directive, who),
		made: func(i intent) (bool, error) {
			if err := p.refresh(); err != nil {
				return false, err
			}
			at, ok := p.position(directive)
			if !ok || at.Unit == nil || v.Name == forge.Drop || v.Name == forge.Include {
				return false, nil // these two are repeated until they succeed
			}
			_, made, err := p.entered(i, "refs/ward/uow/"+at.Unit.ID)
			return made, err
		},
		make: func(i intent) error {
			if why != "" {
				return &refusal{why}
			}
			if v.Name == forge.Retry && b.people != nil {
				if err := p.adopt(b.people, who); err != nil {
					return err
				}
			}
			_, err := p.Ward.as(p.ctx, who, i.Push, "", args...)
			return err
		},
		done: func() ([]git.RefUpdate, error) { return done(v.Name + " " + directive + ": done.") },
	}, why, nil
}
