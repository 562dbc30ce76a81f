package comms

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Hash identifies the directive's text: the SHA-256, in lower-case hex, of the bytes from `### D-`
// through the last non-blank line, with exactly one final LF even if the file has none (COMMS-3). The
// PM's decisions on a claim (isWordOnClaim) are left out. Blank lines below a directive do not count,
// so that adding another directive changes no hash.
func (d Directive) Hash() string {
	sum := sha256.Sum256([]byte(withoutWords(d.Raw)))
	return hex.EncodeToString(sum[:])
}

// DirectiveHash returns the hash of the directive that the report answers, from the first line of its
// text of the form `Directive: <64 lowercase hex digits>`, with or without `sha256:` before the digits;
// "" if there is none (COMMS-3). The first line counts, so that a model's text below cannot replace it.
func (r Report) DirectiveHash() string {
	for line := range strings.SplitSeq(r.Text, "\n") {
		rest, ok := strings.CutPrefix(line, "Directive:")
		if !ok {
			continue
		}
		if hash := strings.TrimPrefix(strings.Trim(rest, " \t\r"), "sha256:"); validHash(hash) {
			return hash
		}
	}
	return ""
}

// droppedKey begins the line of a report that drops its directive.
const droppedKey = "Dropped: "

// Dropped reports whether the report drops its directive, in the text that the directive had then.
// NewReport.Dropped writes such a report.
func (r Report) Dropped() bool {
	first, rest, _ := strings.Cut(r.Text, "\n")
	return r.Status == Done && strings.HasPrefix(first, "Directive:") && strings.HasPrefix(rest, droppedKey)
}

// Dropped reports whether a report drops the directive's present text.
func (doc *Document) Dropped(d Directive) bool {
	hash := d.Hash()
	return slices.ContainsFunc(doc.Reports, func(r Report) bool { return r.drops(d.Name(), hash) })
}

// drops reports whether the report drops the directive with this name and hash.
func (r Report) drops(name, hash string) bool {
	return r.Directive == name && r.Dropped() && r.DirectiveHash() == hash
}

func validHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// State is a directive's state by its reports (COMMS-3).
type State int

// The states. Closed takes precedence over Suspended, whichever was reported last.
const (
	Open      State = iota
	Suspended       // EXIT_BLOCKED, EXIT_NEED_INFO or EXIT_CANCELLED carries its present hash
	Closed          // another EXIT or DONE carries its present hash
)

func (s State) String() string { return [...]string{"open", "suspended", "closed"}[s] }

// stateTable has the state of every version of a directive that a report names.
type stateTable map[version]State

type version struct{ directive, hash string }

func (doc *Document) states() stateTable {
	t := make(stateTable)
	for _, r := range doc.Reports {
		v := version{r.Directive, r.DirectiveHash()}
		switch {
		case v.hash == "":
		case r.Status.Closes():
			t[v] = Closed
		case r.Status.Suspends():
			t[v] = max(t[v], Suspended)
		}
	}
	return t
}

func (t stateTable) of(d Directive) State { return t[version{d.Name(), d.Hash()}] }

// State returns a directive's state. An ACTIVE unit of work reopens a suspended directive (COMMS-3);
// callers must check that, because this package does not know units.
func (doc *Document) State(d Directive) State { return doc.states().of(d) }

// Said is what a document says about a directive besides its text.
type Said struct {
	Hash    string // of its text; "" if it is not listed
	State   State
	Dropped bool     // a report drops this text
	Waits   []string // see Document.Waits
	Newest  *Report  // the newest report, on any version of its text; nil for none
}

// Said returns a Said for every directive that is listed or has a report, by name. It reads the reports
// once, for callers that ask about many directives.
func (doc *Document) Said() map[string]Said {
	states, waits := doc.states(), doc.waiting()
	list := make(map[string]Said, len(doc.Directives))
	for _, d := range doc.Directives {
		hash := d.Hash()
		list[d.Name()] = Said{Hash: hash, State: states[version{d.Name(), hash}], Waits: waits(d)}
	}
	for i := range doc.Reports {
		r := &doc.Reports[i]
		said := list[r.Directive]
		said.Newest = r
		said.Dropped = said.Dropped || said.Hash != "" && r.drops(r.Directive, said.Hash)
		list[r.Directive] = said
	}
	return list
}

// Open lists the open directives in the order of Compare (COMMS-3, MANY-1). Some of them may still wait
// for others: see Said.
func (doc *Document) Open() []Directive {
	states := doc.states()
	var list []Directive
	for _, d := range doc.Directives {
		if states.of(d) == Open {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, Compare)
	return list
}
