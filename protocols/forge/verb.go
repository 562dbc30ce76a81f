package forge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// The verbs that a comment may have. A forge can send no other commands (FORGE-2).
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

// Verb is the command in a comment. The caller checks the author's rights when it acts on it.
type Verb struct {
	Name string // one of the verbs
	// Argument is the rest of the line. For approve it is a proposal's hash, or "" to approve what
	// a unit asked for; for clarify the text; for include "", paths (see Paths) or Guards.
	Argument string
}

// Guards is the argument of include that accepts criteria which held before the work.
const Guards = "--guards"

// prefix is the beginning of a comment with a verb.
const prefix = "/ward"

// maxVerb bounds the line of a verb, in bytes.
const maxVerb = 4 << 10

// form describes the syntax of a verb.
type form struct {
	name, usage string
	refuses     func(argument string) string // what is wrong with the argument, or ""
}

// verbs lists all verbs.
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

// ParseVerb parses a comment as it was created. Only its first line, from column 0, can be a verb;
// other lines are ignored. finding describes a malformed verb without quoting the comment.
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

// Paths parses include's argument. It returns no paths for Guards and for "", which includes
// everything left out. A path with a space is a quoted Go string, as reviews show it.
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

// Comment is a comment with the facts that keep it from being a verb.
type Comment struct {
	Body   diag.Untrusted
	Bot    bool // its author is no human account
	Edited bool // it was edited after its creation
}

// Verb parses the verb of a comment. It ignores a bot's comment, and refuses an edited one.
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

// Remark is a review's comment on a line of a file, or on the whole file.
type Remark struct {
	Path  diag.Untrusted
	Line  int64 // 0 for the whole file
	Words diag.Untrusted
}

// Told returns what a person's review tells the agent, or "". It drops quoted lines, which are
// somebody else's words, and makes invisible characters visible.
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

// own drops the quoted lines of a text.
func own(text diag.Untrusted) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lineEnds.Replace(diag.CutWord(text.Raw(), maxVerb)), "\n") {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), ">") {
			b.WriteString(strings.TrimRight(diag.Clean(line), " ") + "\n")
		}
	}
	return strings.TrimSpace(b.String())
}
