package docs_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// block is one fenced block of a document.
type block struct {
	line  int               // of its opening fence, from 1
	kind  string            // the first word behind the fence
	attrs map[string]string // the words after it, key=value
	text  string            // without the fences; ends in a newline unless empty
}

// kinds are what a fence may say, with the attributes that each takes.
//
//	console  lines `$ command` (more of a command behind `> `), each with what it prints
//	sh       commands whose output is not shown; each must exit with 0; with at=clone they
//	         run where Ward's source is
//	plan, udc, json, toml, yaml, comms, markdown
//	         text for Ward, linted; file=PATH is also written there, and what has no
//	         file= is what the next $EDITOR writes
//	go       source that gofmt takes
//	text     a picture or a line that is no command
var kinds = map[string][]string{
	"console": {"needs", "exit"}, "sh": {"needs", "at"},
	"plan": {"file"}, "udc": {"file"}, "json": {"file"}, "toml": {}, "yaml": {"file"}, "comms": {}, "markdown": {"file"}, "go": {}, "text": {},
}

// tiers are what a block may need beyond git and Ward's binaries. See CONTRIBUTING.md.
var tiers = []string{"fence", "ci", "npm", "kube", "gitea"}

// blocks reads the fences of a document, and says what is wrong with them: a fence
// without a kind, an unknown word behind one, and code in another form, which nothing
// would try.
func blocks(document string) (all []block, problems []string) {
	var open *block
	list := false
	for i, line := range strings.Split(document, "\n") {
		bad := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%d: %s", i+1, fmt.Sprintf(format, args...)))
		}
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			b, err := header(info)
			if err != "" {
				bad("%s", err)
			}
			b.line = i + 1
			open = &b
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case otherFence.MatchString(line):
			bad("a fence is three backticks at the begin of a line: nothing would try another")
		case strings.Contains(line, "<pre") || strings.Contains(line, "<code"):
			bad("code in HTML: put it behind a fence that says its kind")
		case item.MatchString(line):
			list = true
		case strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t"):
			if !list {
				bad("indented code: put it behind a fence that says its kind")
			}
		case line != "" && line[0] != ' ':
			list = false
		}
	}
	if open != nil {
		problems = append(problems, fmt.Sprintf("%d: this fence is never closed", open.line))
	}
	return all, problems
}

// otherFence is what Markdown takes for a fence, too.
var otherFence = regexp.MustCompile("^[ >*+-]*(~~~|```)")

// item begins an entry of a list, whose further lines may be indented.
var item = regexp.MustCompile(`^ *([-*]|[0-9]+\.) `)

// header reads the words behind an opening fence.
func header(info string) (b block, problem string) {
	words := strings.Fields(info)
	if len(words) == 0 {
		return b, "a fence without a kind"
	}
	allowed, known := kinds[words[0]]
	if !known {
		return b, fmt.Sprintf("unknown kind %q; the kinds are %v", words[0], slices.Sorted(maps.Keys(kinds)))
	}
	b = block{kind: words[0], attrs: map[string]string{}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		if !slices.Contains(allowed, key) || value == "" {
			return b, fmt.Sprintf("%q does not stand behind %q", word, b.kind)
		}
		if key == "at" && value != "clone" {
			return b, fmt.Sprintf("unknown place %q; the place is clone", value)
		}
		if key == "needs" && !slices.Contains(tiers, value) {
			return b, fmt.Sprintf("unknown tier %q; the tiers are %v", value, tiers)
		}
		b.attrs[key] = value
	}
	return b, ""
}

// example is a command of a document.
type example struct {
	line    int // of the command
	command string
	want    string // what it prints; nil-like "" with compare false
	compare bool
}

// console cuts a console block into its commands and what each prints.
func (b block) console() (all []example, problem string) {
	for i, line := range strings.SplitAfter(b.text, "\n") {
		if line == "" {
			break
		}
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, example{line: b.line + 1 + i, command: command, compare: true})
			continue
		}
		if len(all) == 0 {
			return nil, "a console block begins with `$ command`"
		}
		last := &all[len(all)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && last.want == "" {
			last.command += more
		} else {
			last.want += line
		}
	}
	return all, ""
}
