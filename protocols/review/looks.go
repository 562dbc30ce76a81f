package review

import (
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// A Remark is something that a reader should look at first. Path is what it is about, "" for the
// whole work.
type Remark struct {
	Look Look
	What string
	Path diag.Untrusted
}

// String is the remark in a line.
func (m Remark) String() string {
	if m.Path == "" {
		return diag.Clean(m.What)
	}
	return m.What + ": " + m.Path.String()
}

// leftOut describes changes of a claim that do not count as work.
const leftOut = "not work, so left out of the deciding run"

// Looks lists changed files that decide on the work, the verdict's doubts, merge conflicts, and
// changed files that configure other tools. Each path is listed once, with its most serious remark.
func (r *Review) Looks() (list []Remark) {
	named := map[string]bool{}
	add := func(look Look, what string, paths ...string) {
		for _, path := range paths {
			if name, _, _ := strings.Cut(path, " ("); !named[name] {
				named[name] = true
				list = append(list, Remark{look, what, diag.Untrusted(path)})
			}
		}
	}
	whole := func(is bool, what string) {
		if is {
			list = append(list, Remark{Warn, what, ""})
		}
	}
	v := r.Word
	if v == nil {
		v = &loop.Verdict{}
	}
	add(Warn, leftOut, v.LeftWords()...)
	add(Warn, "frozen, so restored for the verdict", v.Deviations...)
	for _, d := range v.Against() {
		whole(len(d.Of) == 0, d.One)
		for _, of := range d.Of { // criteria, tests and lines are no paths, so they are never duplicates
			list = append(list, Remark{Warn, d.One, diag.Untrusted(of)})
		}
	}
	whole(v.Shared != "", "the commands shared /tmp and could reach each other: "+v.Shared)
	whole(v.Fence == loop.FenceNone, "judged without a fence")
	whole(r.Claimed && r.Branch != "" && r.Branch != r.Commit && r.Record != "", // without a record, Ward's commits follow the claim
		"agent/"+r.Directive+" is at "+diag.Short(r.Branch)+" by now, which nobody judged")
	whole(r.Merge.Unrelated, "it shares no history with the project")
	whole(r.Merge.Unjudged(), "the project has moved on, so the merged tree is not judged")
	whole(r.Omitted > 0, "the difference is too large to be shown whole")
	add(Warn, "conflicts with the project", raw(r.Merge.Conflicts)...)
	add(Warn, "instructs coding agents", raw(r.Touched.Instructions)...)
	add(Warn, "protected, because it runs code or steers tools", raw(r.Touched.Protected)...)
	add(Warn, "new at the root", raw(r.Touched.NewAtRoot)...)
	add(Plain, "work by your word", v.Included...)
	add(Plain, "a test, or what is frozen", raw(r.Touched.Tests)...)
	add(Plain, "opened by no command", v.NeverOpened...)
	if v.Cache != "" && v.Verdict == loop.None { // the cache may lack what the work needs
		list = append(list, Remark{Plain, "dependencies from the cache", diag.Untrusted(v.Cache)})
	}
	return list
}

func raw(paths []diag.Untrusted) (list []string) {
	for _, p := range paths {
		list = append(list, p.Raw())
	}
	return list
}

// maxHeard bounds the lines of each of the agent's texts in a review; Said.Where has the rest.
const maxHeard = 12

// Heard returns the agent's texts without repetitions: Ward's report on the unit repeats the texts
// before it, and a commit's message may repeat the agent's last message.
func (r *Review) Heard() (list []Said) {
	for _, s := range r.Said {
		text := s.Text.Raw()
		switch {
		case strings.HasPrefix(s.Where, "R-") && r.Unit != "" && len(list) > 0:
			continue
		case strings.HasPrefix(s.Where, "commit "):
			text = withoutTrailers(text)
		}
		if text = strings.TrimSpace(text); text == "" || slices.ContainsFunc(list, func(h Said) bool { return strings.Contains(h.Text.Raw(), text) }) {
			continue
		}
		list = append(list, Said{s.Where, diag.Untrusted(text)})
	}
	return list
}

// withoutTrailers removes Ward's trailers from the end of a commit's message.
func withoutTrailers(message string) string {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[len(lines)-1], "Ward-") {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
