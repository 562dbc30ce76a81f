package loop

// Observed is what the host saw while a claim's commands ran, beyond their exit codes.
type Observed struct {
	// Opened and NeverOpened divide the changed paths by whether a command opened them, as the
	// host's kernel saw it. An opened file need not have mattered. NotObserved says why Opened may
	// list files that no command opened, or why nothing was observed (PROOF-2).
	Opened      []string `json:"opened,omitempty"`
	NeverOpened []string `json:"never_opened,omitempty"`
	NotObserved string   `json:"not_observed,omitempty"`
	// Rewritten are paths that are not work, and that a command writes to with the work but not
	// without it. RewrittenNot says why it is unknown whether a command wrote to any of them.
	Rewritten    []string `json:"rewritten,omitempty"`
	RewrittenNot string   `json:"rewritten_not,omitempty"`
	// NotOpened are project files other than sources that a command opened without the work but not
	// with it: the work may make the command skip what it checks with. NotOpenedWhy says why there
	// may be more.
	NotOpened    []string `json:"not_opened,omitempty"`
	NotOpenedWhy string   `json:"not_opened_why,omitempty"`
	// Lost are tests that ran to their end without the work but, according to their runner's output,
	// not with it (PROOF-4).
	Lost []string `json:"lost,omitempty"`
	// Checkers are files that the work changed and that a command checks the work with: it relies on
	// their exit code, reads values from them, or is built and run by them (PROOF-3). The PM can
	// include them. CheckersMore counts those beyond the list.
	Checkers     []Left `json:"checkers,omitempty"`
	CheckersMore int    `json:"checkers_more,omitzero"`
	// Sampled are criteria with tests that were not broken one at a time, each with the number that was.
	Sampled []string `json:"sampled,omitempty"`
	// Replaced are functions of the language or the test runner that a test calls by name and that the
	// work replaces, each after the test's file (PROOF-3).
	Replaced []string `json:"replaced,omitempty"`
	// Whatever are comparisons in tests that hold with any value, as file, line and value. Comparisons
	// counts those with a value; Asked counts those tried one at a time (PROOF-3).
	Whatever    []string `json:"whatever,omitempty"`
	Asked       int      `json:"asked,omitzero"`
	Comparisons int      `json:"comparisons,omitzero"`
}

// Written returns o for a verdict: path and text escape each path and each text from the work, so
// that it fits on a line.
func (o Observed) Written(path, text func(string) string) Observed {
	for list, write := range map[*[]string]func(string) string{
		&o.Opened: path, &o.NeverOpened: path, &o.Rewritten: path, &o.NotOpened: path, &o.Sampled: path,
		&o.Lost: text, &o.Replaced: text, &o.Whatever: text,
	} {
		*list = each(*list, write)
	}
	o.Checkers = each(o.Checkers, func(l Left) Left { l.Path = path(l.Path); return l })
	o.NotObserved, o.RewrittenNot, o.NotOpenedWhy = text(o.NotObserved), text(o.RewrittenNot), text(o.NotOpenedWhy)
	return o
}

// each applies write to each element; it returns nil for an empty list.
func each[T any](list []T, write func(T) T) (written []T) {
	for _, one := range list {
		written = append(written, write(one))
	}
	return written
}

// listed cuts o's lists to the lengths that a verdict allows.
func (o Observed) listed() Observed {
	for _, list := range []*[]string{&o.Opened, &o.NeverOpened, &o.Rewritten, &o.NotOpened, &o.Lost, &o.Whatever} {
		*list = listed(*list)
	}
	o.Replaced = listedTo(maxReplaced, o.Replaced)
	return o
}
