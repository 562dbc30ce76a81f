package checks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// A fixture is one push, as a file of package txtar. Lines that begin with # say what
// it shows; the other lines before the first file are
//
//	by WHO [DIRECTIVE]   pm (when left out), agent, member or watcher; an agent with a directive
//	                     is the worker whose lease has the id that the fixture's leases have
//	lease DIRECTIVE [IS] the directive has a lease: live (when left out), ended, free, other (somebody
//	                     else's), ahead (of the clock), broken, or a commit in its place
//	push REF [COMMIT]    the push moves the ref to the commit, the newest that it brings
//	                     when left out, or to the file COMMIT:PATH; ` from COMMIT` says
//	                     another old value than the ref's. Without such a line
//	                     refs/heads/main is pushed
//	delete REF           the push deletes the ref
//	ref REF COMMIT       the server has the ref
//	parents COMMIT ...   the commit has these parents, or none
//	message COMMIT TEXT  the commit's message
//	author COMMIT TEXT   the commit's author, instead of Pat <pat@example.org>
//	committer COMMIT TEXT
//	header COMMIT TEXT   one more line in the commit's header
//	config KEY = VALUE   a setting of the host's, such as limits.blob_size = 10
//	option TEXT          a push option
//	redacted COMMIT:PATH that file's content was redacted
//	used N               every second directive id up to N was used and is gone
//	want TEXT            a finding of the push: [PATH:[LINE:]] RULE: MESSAGE, or how that begins
//	wants N TEXT         N findings that begin so
//	warn TEXT            a finding that is a warning
//
// and files are
//
//	COMMIT/PATH [AS]     what a commit has and its first parent has not: AS is exec, link,
//	                     directory (an empty tree), submodule, deleted, a mode in octal, or jsonl
//	                     (JSON values, which the file has one a line); with *N behind it
//	                     what stands there N times, {n} being the number from 1
//	tag NAME             an annotated tag of the push: its message, behind a first line
//	                     "name TEXT", "tagger TEXT" or "object COMMIT:PATH" if one of these
//	                     is not as it should be
//	unit COMMITS D-1.1 [AT]
//	                     records of a unit's journal on top of one another, one line each:
//	                     EVENT ACTOR [layout=2 where its papers go to a record from then
//	                     on, commit=COMMIT record=COMMIT for a claim, expired=COMMIT, or
//	                     KEY=VALUE for what the record says wrong]; COMMITS is main or
//	                     push; AT is another unit at whose ref they are put
//
// Commits are `main`, on top of it `main2`, `main3`; `push`, `push2` on top of main (the
// last of each is the tip); `stray`, which comes along with the push; and any others, which
// the server has. They have no parents but those that are said. A text, a path or a
// file that begins with a quotation mark is a Go string, a file one a line, so that hidden
// characters can be seen.
type fixture struct {
	who      push.Principal
	worker   string      // its directive
	lines    [][2]string // the other directives: word and rest
	commits  map[string]*fixtureCommit
	order    []string
	tags     []fixtureTag
	units    []fixtureUnit
	want     []string
	settings string
	used     comms.Set // directive ids that are gone
}

type fixtureCommit struct {
	parents                             []string
	message, author, committer, headers string
	files                               map[string]git.Entry // changes by path; ID "" for deleted
	data                                map[string][]byte
}

type fixtureTag struct{ name, message string }

type fixtureUnit struct {
	pushed bool
	id, at string // the unit, and the one whose ref it is put at
	steps  []string
}

// unquoted is a text as it is meant.
func unquoted(text string) string {
	if s, err := strconv.Unquote(text); err == nil {
		return s
	}
	return text
}

// unquotedLines is a file as it is meant.
func unquotedLines(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(`"`)) {
		return data
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(data)) {
		for part := range strings.SplitSeq(strings.TrimSpace(line), `" "`) { // two strings in a line are one
			out.WriteString(unquoted(`"` + strings.Trim(part, `"`) + `"`))
		}
	}
	return out.Bytes()
}

func repeated(data []byte, times int) []byte {
	var out bytes.Buffer
	for n := range times {
		out.Write(bytes.ReplaceAll(data, []byte("{n}"), strconv.AppendInt(nil, int64(n+1), 10)))
	}
	return out.Bytes()
}

// jsonLines writes JSON values one a line, as they stand but for blanks.
func jsonLines(t *testing.T, data []byte) []byte {
	var out bytes.Buffer
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var value json.RawMessage
		if err := dec.Decode(&value); err == io.EOF {
			return out.Bytes()
		} else if err != nil {
			t.Fatal(err)
		}
		if err := json.Compact(&out, value); err != nil {
			t.Fatal(err)
		}
		out.WriteByte('\n')
	}
}

func parseFixture(t *testing.T, file string) *fixture {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{who: push.PM, commits: map[string]*fixtureCommit{}}
	f.commit("main")
	for _, file := range archive.Files {
		f.file(t, file)
	}
	if f.commits["main"].files == nil {
		f.commits["main"].put("README.md", git.ModeFile, []byte("A project.\n"))
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			f.directive(t, line)
		}
	}
	slices.SortStableFunc(f.order, strings.Compare) // main before main2, push before push2
	return f
}

const pat = "Pat <pat@example.org>"

func (f *fixture) commit(name string) *fixtureCommit {
	if c, ok := f.commits[name]; ok {
		return c
	}
	c := &fixtureCommit{message: "a commit\n", author: pat, committer: pat}
	base := strings.TrimRight(name, "0123456789")
	number, _ := strconv.Atoi(name[len(base):])
	switch {
	case number > 2:
		c.parents = []string{base + strconv.Itoa(number-1)}
	case number == 2:
		c.parents = []string{base}
	case base == "push":
		c.parents = []string{"main"}
	}
	f.commits[name], f.order = c, append(f.order, name)
	return c
}

func (c *fixtureCommit) put(path string, mode git.Mode, data []byte) {
	if c.files == nil {
		c.files, c.data = map[string]git.Entry{}, map[string][]byte{}
	}
	c.files[path], c.data[path] = git.Entry{Mode: mode, ID: "?"}, data
}

var fixtureModes = map[string]git.Mode{"": git.ModeFile, "exec": git.ModeExec, "link": git.ModeSymlink, "directory": git.ModeDir, "submodule": git.ModeGitlink}

func (f *fixture) file(t *testing.T, file txtar.File) {
	data := unquotedLines(file.Data)
	words := strings.Fields(file.Name)
	switch words[0] {
	case "tag":
		f.tags = append(f.tags, fixtureTag{unquoted(words[1]), string(data)})
		return
	case "unit":
		f.units = append(f.units, fixtureUnit{words[1] == "push", words[2], words[len(words)-1], strings.Split(strings.TrimSpace(string(file.Data)), "\n")})
		return
	}
	name, as := file.Name, ""
	if i := strings.LastIndex(name, " "); i > 0 && !strings.HasSuffix(name, `"`) {
		name, as = name[:i], name[i+1:]
	}
	commit, path, _ := strings.Cut(name, "/")
	c, path := f.commit(commit), unquoted(path)
	as, times, _ := strings.Cut(as, "*")
	mode, known := fixtureModes[as]
	octal, err := strconv.ParseUint(as, 8, 32)
	switch {
	case as == "deleted":
		c.put(path, 0, nil)
		c.files[path] = git.Entry{}
		return
	case as == "jsonl":
		mode, data = git.ModeFile, jsonLines(t, data)
	case !known && err == nil:
		mode = git.Mode(octal)
	case !known:
		t.Fatalf("%q is none of the ways to commit a file", as)
	case mode == git.ModeSymlink:
		data = bytes.TrimSuffix(data, []byte("\n"))
	}
	if n, err := strconv.Atoi(times); err == nil {
		data = repeated(data, n)
	}
	c.put(path, mode, data)
}

func (f *fixture) directive(t *testing.T, line string) {
	word, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	switch word {
	case "by":
		f.who = push.Principal(name)
		f.worker = text
	case "parents":
		f.commit(name).parents = strings.Fields(text)
	case "message":
		f.commit(name).message = unquoted(text)
	case "author":
		f.commit(name).author = unquoted(text)
	case "committer":
		f.commit(name).committer = unquoted(text)
	case "used":
		n, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		for id := 1; id <= n; id += 2 {
			if err := f.used.Add(id); err != nil {
				t.Fatal(err)
			}
		}
	case "header":
		f.commit(name).headers += unquoted(text) + "\n"
	case "config":
		f.settings += rest + "\n"
	case "want":
		f.want = append(f.want, unquoted(rest))
	case "wants":
		times, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		f.want = append(f.want, slices.Repeat([]string{unquoted(text)}, times)...)
	case "warn":
		f.want = append(f.want, "warning: "+unquoted(rest))
	case "push", "delete", "ref", "symbolic", "lease", "option", "redacted":
		f.lines = append(f.lines, [2]string{word, unquoted(rest)})
	default:
		t.Fatalf("%q is no directive of a fixture", word)
	}
}

// last is the newest commit of a series: push3 of push, push2, push3.
func (f *fixture) last(base string) string {
	last := ""
	for _, name := range f.order {
		if strings.TrimRight(name, "0123456789") == base {
			last = name
		}
	}
	return last
}

// make makes what the server has and what the push brings, and returns the push.
func (f *fixture) make(t *testing.T) (*server, *checks.Push) {
	s := newServer(t)
	p := &checks.Push{Principal: f.who, Branches: "refs/heads/", Received: true, Config: config.Default(),
		Retired: func() (comms.Set, error) { return f.used, nil }}
	s.leases(f, p)
	if f.settings != "" {
		var err error
		p.Config, err = config.Parse([]byte(f.settings), "config")
		s.must(err)
	}
	pushed := func(name string) bool { return name == "stray" || strings.TrimRight(name, "0123456789") == "push" }
	for _, name := range f.order {
		if !pushed(name) {
			s.commit(name, f.commits[name])
		}
	}
	s.setRef("refs/heads/main", s.ids[f.last("main")])
	for _, line := range f.lines {
		if ref, commit, _ := strings.Cut(line[1], " "); line[0] == "ref" {
			s.setRef(ref, s.id(commit))
		} else if line[0] == "symbolic" {
			s.setRef(ref, "ref: "+commit)
		} else if line[0] == "lease" {
			s.lease(ref, commit)
		}
	}
	f.journals(s, p, false)
	s.objects = s.quarantine
	for _, name := range f.order {
		if pushed(name) {
			s.commit(name, f.commits[name])
		}
	}
	tags := map[string]string{}
	for _, tag := range f.tags {
		name, tagger, message, object := tag.name, pat, tag.message, s.id(f.last("push"))
		line, rest, _ := strings.Cut(message, "\n")
		switch word, text, _ := strings.Cut(line, " "); word {
		case "name":
			name, message = text, rest
		case "tagger":
			tagger, message = text, rest
		case "object":
			object, message = s.id(text), rest
		}
		tags["refs/tags/"+tag.name] = s.write("tag", fmt.Appendf(nil, "object %s\ntype commit\ntag %s\ntagger %s 1700000000 +0000\n\n%s",
			object, name, tagger, message))
	}
	p.Redacted = map[string]bool{}
	for _, line := range f.lines {
		if line[0] == "redacted" {
			p.Redacted[s.id(line[1])] = true
		}
	}
	f.updates(s, p, tags)
	return s, p
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// updates lists what the push moves.
func (f *fixture) updates(s *server, p *checks.Push, tags map[string]string) {
	for _, line := range f.lines {
		ref, commit, _ := strings.Cut(line[1], " ")
		switch line[0] {
		case "push":
			commit, from, forged := strings.Cut(commit, " from ")
			u := push.Update{Ref: ref, Old: s.ref(ref), New: or(tags[ref], s.id(or(commit, f.last("push"))))}
			if forged {
				u.Old = s.id(from)
			}
			p.Updates = append(p.Updates, u)
		case "delete":
			p.Updates = append(p.Updates, push.Update{Ref: ref, Old: s.ref(ref), New: git.Zero})
		case "option":
			p.Options = append(p.Options, line[1])
		}
	}
	f.journals(s, p, true)
	if len(p.Updates) == 0 {
		main := "refs/heads/main"
		p.Updates = []push.Update{{Ref: main, Old: s.ref(main), New: s.ids[f.last("push")]}}
	}
}

// rendered is a finding as fixtures write it.
func rendered(d diag.Diagnostic) string {
	text := d.Rule + ": " + d.Message
	if d.Path != "" {
		place := d.Path
		if d.Line > 0 {
			place += ":" + strconv.Itoa(d.Line)
		}
		text = place + ": " + text
	}
	if !d.IsError() {
		text = "warning: " + text
	}
	return text
}

// name is a fixture's name in test output: CHECK/FILE.
func name(file string) string {
	return path.Join(filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".txtar"))
}
