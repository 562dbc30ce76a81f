package forge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// The verbs that a comment may be: the closed path of commands from a forge (FORGE-2).
const (
	Approve = "approve"
	Clarify = "clarify"
	Retry   = "retry"
	Pause   = "pause"
	Resume  = "resume"
	Cancel  = "cancel"
	Drop    = "drop"
	Include = "include"
)

// Verb is what a comment asks for. Whether its author may is for the caller to look up, when
// it is acted on.
type Verb struct {
	Name string // one of the verbs
	// Argument is what follows it on the line: of approve the hash, or nothing for a unit's
	// question; of clarify the text; of include nothing, paths (see Paths) or Guards.
	Argument string
}

// Guards is the argument of include by which criteria that held before the work are enough.
const Guards = "--guards"

// prefix begins a comment that is a verb.
const prefix = "/ward"

// maxVerb bounds the line of a verb, in bytes.
const maxVerb = 4 << 10

// form is how a verb is written.
type form struct {
	name, usage string
	refuses     func(argument string) string // what is wrong with it, "" for nothing
}

// verbs is the whole list.
var verbs = []form{
	{Approve, "/ward approve HASH", refusesHash},
	{Clarify, "/ward clarify TEXT", func(text string) string {
		if text == "" {
			return "it has no text: write it on the same line"
		}
		return ""
	}},
	{Retry, "/ward retry", refusesAny},
	{Pause, "/ward pause", refusesAny},
	{Resume, "/ward resume", refusesAny},
	{Cancel, "/ward cancel", refusesAny},
	{Drop, "/ward drop", refusesAny},
	{Include, "/ward include [PATH...]", func(argument string) string {
		if _, err := (Verb{Include, argument}).Paths(); err != nil {
			return err.Error()
		}
		return ""
	}},
}

func refusesAny(argument string) string {
	if argument != "" {
		return "nothing may follow it on its line"
	}
	return ""
}

func refusesHash(argument string) string {
	if argument != "" && (len(argument) != 64 || strings.Trim(argument, "0123456789abcdef") != "") {
		return "what follows it is the whole hash of the proposal, 64 digits"
	}
	return ""
}

// ParseVerb reads a comment as it was created. Only the first line, from column 0, can be a
// verb; the other lines are ignored. A finding, in Ward's words alone, reports a first line that
// looks like a verb and is malformed.
func ParseVerb(comment diag.Untrusted) (v Verb, ok bool, finding string) {
	first, rest, _ := strings.Cut(comment.Raw(), "\n")
	line, meant := strings.CutPrefix(strings.TrimSuffix(first, "\r"), prefix)
	if !meant || line != "" && line[0] != ' ' {
		return Verb{}, false, ""
	}
	refuse := func(format string, args ...any) (Verb, bool, string) {
		return Verb{}, false, "first line: " + fmt.Sprintf(format, args...)
	}
	if len(line) > maxVerb {
		return refuse("it has more than %d bytes: write less", maxVerb)
	}
	if h, found := diag.FindHidden(line, false); found {
		return refuse("column %d is %s, which nobody sees: type the line anew", len(prefix)+h.At+1, h.What)
	}
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	i := slices.IndexFunc(verbs, func(known form) bool { return known.name == name })
	if i < 0 {
		return refuse("that is no verb of Ward's; it is one of: %s", usages())
	}
	v = Verb{name, strings.TrimSpace(argument)}
	if why := verbs[i].refuses(v.Argument); why != "" {
		return refuse("%s: %s", verbs[i].usage, why)
	}
	for below := range strings.Lines(rest) {
		if after, again := strings.CutPrefix(strings.TrimRight(below, "\r\n"), prefix); again && (after == "" || after[0] == ' ') {
			return refuse("a comment is one verb, and this one has another line that begins with %s: write a comment for each", prefix)
		}
	}
	return v, true, ""
}

func usages() string {
	var list []string
	for _, v := range verbs {
		list = append(list, v.usage)
	}
	return strings.Join(list, ", ")
}

// Paths are the paths of include's argument, none for all that was left out and for Guards. A
// path with a space stands in Go's quotes, as reviews show it.
func (v Verb) Paths() (paths []string, err error) {
	if v.Argument == Guards {
		return nil, nil
	}
	for rest := v.Argument; rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, after, _ := strings.Cut(rest, " ")
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("a path in quotes does not end")
			}
			word, after = quoted, rest[len(quoted):]
			if word, err = strconv.Unquote(quoted); err != nil || after != "" && after[0] != ' ' {
				return nil, errors.New("a path in quotes is not as a review shows it")
			}
		}
		if word == "" || word[0] == '-' {
			return nil, errors.New("it takes paths, or " + Guards + " alone")
		}
		paths, rest = append(paths, word), after
	}
	return paths, nil
}

// Comment is a comment with what speaks against taking it for a verb.
type Comment struct {
	Body   diag.Untrusted
	Bot    bool // its author is no human account
	Edited bool // it is not as it was created
}

// Verb is ParseVerb for a comment of a person that nobody edited.
func (c Comment) Verb() (v Verb, ok bool, finding string) {
	if c.Bot {
		return Verb{}, false, ""
	}
	v, ok, finding = ParseVerb(c.Body)
	if c.Edited && (ok || finding != "") {
		return Verb{}, false, "the comment was edited, and counts only as it was created: write a new one"
	}
	return v, ok, finding
}

// Remark is what a review says of a line of a file, or of all of it.
type Remark struct {
	Path  diag.Untrusted
	Line  int64 // 0 for all
	Words diag.Untrusted
}

// Told is what a person tells the agent in a review, "" for nothing: without the lines that
// quote, which are somebody else's words, and with what nobody sees shown.
func Told(review diag.Untrusted, remarks ...Remark) string {
	parts := []string{own(review)}
	for _, r := range remarks {
		if words := own(r.Words); words != "" {
			at := diag.Cut(r.Path.String(), maxWords)
			if r.Line > 0 {
				at += fmt.Sprintf(":%d", r.Line)
			}
			parts = append(parts, at+": "+words)
		}
	}
	return diag.CutWord(strings.TrimSpace(strings.Join(parts, "\n\n")), maxVerb)
}

// own is a person's own words of a text.
func own(text diag.Untrusted) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lineEnds.Replace(diag.CutWord(text.Raw(), maxVerb)), "\n") {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), ">") {
			b.WriteString(strings.TrimRight(diag.Clean(line), " ") + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}
