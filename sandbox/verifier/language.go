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

// maxData bounds of how many of the work's files a command is asked whether it parses them.
const maxData = 6

// parses marks attempts that a file of the work's may have ended early, in a language that no
// table here knows (PROOF-3): a program of an unknown kind, or what a program of main's interprets.
// What such a file says is not known, so what the command does with it is observed: it opened the
// file, and fails where that is text of no language. Then it counts as not tried, unless one of
// these shows that the command looks at the text and does not run it, so that nothing in it can
// end the command:
//
//   - it holds where the text stands between lines of no language, as grep's and sort's do:
//     whoever runs a program reads all of it, or its beginning first;
//   - it fails for one blank line more at the end, as cmp, diff and a checksum do: no language
//     minds that;
//   - the text is JSON, in which nothing is said but values, and it fails with others, as jq does;
//   - it is a go.mod, and Go's own parser takes it.
//
// A file that the PM took in, with its blob, is not asked if the command was seen to fail with it:
// where the work's programs end before they do anything.
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

// runs reports whether a command may run what a file of the work's says.
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

// nonsense is a line that no language takes: what closes here nothing opened.
const nonsense = ")]}>\"'`\n"

func noLanguage(string, string) (string, bool) { return strings.Repeat(nonsense, 3), true }

// amid is a text between lines of no language.
func amid(_, text string) (string, bool) {
	return nonsense + strings.TrimSuffix(text, "\n") + "\n" + nonsense, true
}

// otherScalars is JSON with other numbers, words and truths.
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

// unknown are the files of the work's in a language of which no program can be made that ends at
// once. Tests are not among them, nor what is known to be a program.
func (c *controlling) unknown(programs sources.Tree) (names []string) {
	for name, entry := range c.work.do {
		if entry != "" && plain(entry) && programs[name] == "" && !isTest(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
