package verifier

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"git-ward/internal/sources"
)

// maxData bounds how many of the work's files are tried with one command.
const maxData = 6

// parses marks attempts that a file of the work's may have ended early, in a language that Ward does not
// know (PROOF-3): a program of an unknown kind, or something that a program of main's interprets. The
// file cannot be read, so the command is observed: it opened the file, and it fails if the file is text
// in no language. Then the attempt counts as not tried, unless one of these shows that the command
// reads the text and does not run it, so that nothing in it can end the command:
//
//   - it holds if the text stands between lines in no language, as with grep and sort: an interpreter
//     parses the whole file, or its beginning first;
//   - it fails if a blank line is added at the end, as with cmp, diff and a checksum: no language
//     has a meaning for that;
//   - the text is JSON, which only has values, and it fails with other values, as with jq;
//   - it is a go.mod that Go's own parser accepts.
//
// A file that the PM included with its blob is not tried if the command was seen to fail with it, where
// the work's programs exit before they do anything.
func (c *controlling) parses(ctx context.Context, attempts []*tried, opened map[*tried][]string) error {
	for _, a := range attempts {
		names := slices.DeleteFunc(slices.Clone(opened[a]), func(name string) bool { return a.silent && included(c.claim, name, c.work.do[name]) })
		if len(names) == 0 || a.untried {
			continue
		}
		files := sources.Tree{}
		for _, name := range names {
			files[name] = c.work.do[name]
		}
		if held, err := c.holdsWith(ctx, c.work.tree, a.Command, files, noLanguage); err != nil {
			return err
		} else if held {
			continue
		}
		for i, name := range names {
			if i == maxData {
				a.untried = true
			}
			if a.untried {
				break
			}
			var err error
			if a.untried, err = c.runs(ctx, a.Command, sources.Tree{name: files[name]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs reports whether a command may run a file of the work's.
func (c *controlling) runs(ctx context.Context, cmd Command, file sources.Tree) (bool, error) {
	read, isJSON, isModule := false, false, false
	for _, how := range []rewriter{noLanguage, amid} {
		held, err := c.holdsWith(ctx, c.work.tree, cmd, file, func(name, text string) (string, bool) {
			read, isJSON = true, json.Valid([]byte(text))
			if path.Base(name) == "go.mod" {
				module, err := modfile.Parse(name, []byte(text), nil)
				isModule = err == nil && module.Module != nil
			}
			return how(name, text)
		})
		if err != nil || held || isModule {
			return false, err
		}
	}
	if !read { // nobody wrote so large a text
		return true, nil
	}
	other := func(_, text string) (string, bool) { return text + "\n", true }
	if isJSON {
		other = otherScalars
	}
	return c.holdsWith(ctx, c.work.tree, cmd, file, other)
}

// nonsense is a line that no language accepts: it closes what nothing opened.
const nonsense = ")]}>\"'`\n"

func noLanguage(string, string) (string, bool) { return strings.Repeat(nonsense, 3), true }

// amid puts a text between lines in no language.
func amid(_, text string) (string, bool) {
	return nonsense + strings.TrimSuffix(text, "\n") + "\n" + nonsense, true
}

// otherScalars changes the numbers, strings and truth values of JSON.
func otherScalars(_, text string) (string, bool) {
	var change func(v any) any
	change = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				v[key] = change(v[key])
			}
		case []any:
			for i := range v {
				v[i] = change(v[i])
			}
		case string:
			return v + "x"
		case float64:
			return v + 1
		case bool:
			return !v
		}
		return v
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", false
	}
	changed, err := json.MarshalIndent(change(v), "", "  ")
	return string(changed) + "\n", err == nil
}

// unknown lists the work's files in a language in which Ward cannot make a program exit at once, except
// tests and known programs.
func (c *controlling) unknown(programs sources.Tree) (names []string) {
	for name, entry := range c.work.do {
		if entry != "" && plain(entry) && programs[name] == "" && !isTest(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
