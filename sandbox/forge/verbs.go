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

// maxAnswer bounds what an answer shows of a command's words, in bytes.
const maxAnswer = 2000

// approval is the deed by which a proposal of a hash becomes a directive, as somebody says. Why
// says what it lacks. done takes what is to be answered.
type approval func(hash, who string, done func(text string) ([]git.RefUpdate, error)) (d deed, why string)

// hear hears the comments on an issue or a request, each once. A record of the comment moves
// with what it asked for, and the answer follows.
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
		if c.ID <= b.Seen {
			continue
		}
		v, who, err := p.verb(c)
		if err != nil {
			return err
		}
		if v.Name != "" {
			if err := p.act(b, v, c, who, approve); err != nil {
				return err
			}
			if err := p.pay(on, b); err != nil {
				return err
			}
		}
		b.Seen = c.ID
	}
	return p.keep(b)
}

// pay posts the answer that is owed.
func (p *pass) pay(on client.Thread, b *book) error {
	if b.Owes == "" {
		return nil
	}
	body := b.Owes
	b.Owes = ""
	return p.say(on, body, fmt.Sprintf("answer on %d", on.Number), b)
}

// say posts a comment once, and moves a record with it.
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

// sameWords compares what was posted with what a forge made of it: some trim, some change
// line ends.
func sameWords(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}

// marked is a text that names what it is about, so that two answers are two texts.
func marked(text, format string, args ...any) string {
	return text + "\n\n<sub>" + fmt.Sprintf(format, args...) + "</sub>"
}

// verb is what a comment asks for by whom, and "" where it asks for nothing: by its first
// line, as it was created, by a person who may write as of now (FORGE-2). Of all other
// comments no word is read.
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

// unread is a comment that was meant as a verb and is none; its Argument says why.
const unread = "?"

// act does what a comment asks for, and leaves the answer with the record.
func (p *pass) act(b *book, v forge.Verb, c client.Comment, who string, approve approval) error {
	done := func(text string) ([]git.RefUpdate, error) {
		b.Seen, b.Owes, b.Tries = c.ID, marked(text, "to comment %d", c.ID), 0
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
	why, err := p.carry(b, fmt.Sprintf("comment-%d", c.ID), d, why)
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

// maxTries bounds in how many looks the host may be in trouble with one thing that is asked for,
// before what was said after it is heard.
const maxTries = 3

// carry does what somebody asks for. Why answers what lacks, or was refused; what a pass that was
// cut short began may be done all the same.
func (p *pass) carry(b *book, key string, d deed, why string) (string, error) {
	if why != "" && d.make != nil {
		switch begun, err := p.begun(key); {
		case err != nil:
			return "", err
		case begun:
			why = ""
		}
	}
	if why != "" {
		return why, nil
	}
	d.key = key
	err := p.do(d)
	if r, ok := errors.AsType[*refusal](err); ok {
		return "It was refused:\n\n" + forge.Quote(diag.Untrusted(r.said), maxAnswer), nil
	}
	if err == nil || !errors.Is(err, errUnknown) || p.ctx.Err() != nil {
		return "", err
	}
	if b.Tries++; b.Tries < maxTries {
		return "", errors.Join(err, p.keep(b))
	}
	p.trouble(b.directive(), err)
	return "The host could not do it, and its admin can read why. Say it again when that is mended.", nil
}

// command is what a person would type for a verb. Why says what it lacks.
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
	if at.Unit.State.Ended() && (v.Name == forge.Retry || v.Name == forge.Clarify) { // it goes on as the next unit
		args[1] = "fork"
	} else if v.Name == forge.Retry && !slices.Contains(at.Unit.Possible(), uow.Retry) {
		return nil, at.Unit.ID + " is not blocked: " + at.Unit.Words() + "."
	}
	if v.Name == forge.Clarify {
		args = append(args, "-m", v.Argument)
	}
	return append(args, "--", at.Unit.ID), ""
}

// step is a command as a deed, by where the directive stands now: another verb may have moved it.
func (p *pass) step(b *book, v forge.Verb, who string, done func(text string) ([]git.RefUpdate, error)) (d deed, why string, err error) {
	if err := p.refresh(); err != nil {
		return deed{}, "", err
	}
	directive := b.directive()
	args, why := p.command(directive, v)
	return deed{
		what: fmt.Sprintf("%s %s, as %s says", v.Name, directive, who),
		made: func(i intent) (bool, error) {
			if err := p.refresh(); err != nil {
				return false, err
			}
			at, ok := p.position(directive)
			if !ok || at.Unit == nil || v.Name == forge.Drop || v.Name == forge.Include {
				return false, nil // those two are made again, to their end
			}
			_, made, err := p.entered(i, "refs/ward/uow/"+at.Unit.ID)
			return made, err
		},
		make: func(i intent) error {
			if why != "" {
				return &refusal{why}
			}
			if v.Name == forge.Retry && b.people != nil {
				if err := b.people(who); err != nil {
					return err
				}
			}
			_, err := p.Ward.as(p.ctx, who, i.Push, "", args...)
			return err
		},
		done: func() ([]git.RefUpdate, error) { return done(v.Name + " " + directive + ": done.") },
	}, why, nil
}
