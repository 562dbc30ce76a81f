package loop

// Observed is what was seen of a claim beside how its commands ended.
type Observed struct {
	// Opened and NeverOpened are the changed paths by whether a command opened them, as the
	// host's kernel saw it; that one was opened does not say that it mattered. NotObserved is
	// why some of Opened need not have been, or why nothing was seen (PROOF-2).
	Opened      []string `json:"opened,omitempty"`
	NeverOpened []string `json:"never_opened,omitempty"`
	NotObserved string   `json:"not_observed,omitempty"`
	// Rewritten are the paths that are not work and that a command wrote to while it ran, and
	// does not write to without the work. RewrittenNot is why it may be any of them.
	Rewritten    []string `json:"rewritten,omitempty"`
	RewrittenNot string   `json:"rewritten_not,omitempty"`
	// NotOpened are files of the project's that are no sources and that a command opened without
	// the work, and not with it: the work may lead it past what it checks by. NotOpenedWhy is why
	// it may be more of them.
	NotOpened    []string `json:"not_opened,omitempty"`
	NotOpenedWhy string   `json:"not_opened_why,omitempty"`
	// Lost are tests that ran to their end without the work and, by what their runner prints,
	// do not with it (PROOF-4).
	Lost []string `json:"lost,omitempty"`
	// Checkers are files that the work changed and by which a command checks it: it believes their exit
	// code, asks for their values, or is built and run as they say (PROOF-3). The PM can include them.
	// CheckersMore is how many there are beyond the list.
	Checkers     []Left `json:"checkers,omitempty"`
	CheckersMore int    `json:"checkers_more,omitzero"`
	// Sampled are the criteria of whose tests not each was broken alone, with how many were.
	Sampled []string `json:"sampled,omitempty"`
	// Replaced are functions of a language or a runner's that a test has by their names, and in whose
	// place the work puts others, each behind the test's file (PROOF-3).
	Replaced []string `json:"replaced,omitempty"`
	// Whatever are comparisons of tests that hold with any value, by file, line and value: of
	// Comparisons with a value, Asked were asked by themselves (PROOF-3).
	Whatever    []string `json:"whatever,omitempty"`
	Asked       int      `json:"asked,omitzero"`
	Comparisons int      `json:"comparisons,omitzero"`
}

// Written is o as a verdict has it: each path and each text that is of the work as a line shows it.
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

// each is a list with each of it written anew; nil for none.
func each[T any](list []T, write func(T) T) (written []T) {
	for _, one := range list {
		written = append(written, write(one))
	}
	return written
}

// listed is what a verdict's line keeps of it.
func (o Observed) listed() Observed {
	for _, list := range []*[]string{&o.Opened, &o.NeverOpened, &o.Rewritten, &o.NotOpened, &o.Lost, &o.Whatever} {
		*list = listed(*list)
	}
	o.Replaced = listedTo(maxReplaced, o.Replaced)
	return o
}
