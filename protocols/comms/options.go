package comms

import (
	"slices"
	"strings"
)

// Certificate is a way in which a loop may halt (003, section 3).
type Certificate string

// The certificates that a directive may declare. TIMEOUT and BACKPRESSURE apply to every directive and
// are never declared.
const (
	Exact     Certificate = "EXACT"
	Converged Certificate = "CONVERGED"
	Diverged  Certificate = "DIVERGED"
)

var (
	certificates = []Certificate{Exact, Converged, Diverged}
	profiles     = []string{"strict", "fast", "benchmark_adapt"} // 003, section 6.2
	rungs        = []string{"641", "274177", "65537"}            // 003, section 11; ascending in strength
)

// Options are the `- key: value` lines of a directive (COMMS-2). All are
// optional: a zero field was not given, and config.toml decides.
type Options struct {
	Residual     string        // command that prints the residual, without backticks
	Certificates []Certificate // what the directive may end by
	Rp           string        // key R_p: decimal > 0 as written; a string, because no float may touch it (LOOP-2)
	Profile      string        // strict, fast or benchmark_adapt
	Rung         int           // 641, 274177 or 65537
	Frozen       []string      // globs relative to the root of the tree
	Work         []string      // globs, as Frozen: what is work (PROOF-1)
	Included     []Included    // paths that also are work, each with its blob (PROOF-1)
	Held         Held          // criteria that are held out (PROOF-5)
	Guards       string        // guardsEnough if criteria that held before the work are enough (PROOF-3)
	MayHold      string        // mayHoldYes if the criteria may hold before any work (PROOF-3)
	Alone        string        // aloneYes if commands of a verdict may not run in parallel (PROOF-3)
	Breaks       string        // command that breaks the project's tests, for a control, without backticks (PROOF-3)
	After        []string      // the directives that it waits for, as "D-3"; see Document.Waits (MANY-1)
	Priority     int           // -1000..1000: of two, the higher one is worked on first; see Compare (MANY-1)
	Unknowns     []string      // open questions, one per line; orientation searches for them (ORI-1)

	// The budget, in 003's names; each at least 1.
	MaxIterations            int // iterations
	MaxToolCallsPerIteration int // calls
	MaxSecondsPerIteration   int // seconds
	MaxTotalSeconds          int // seconds
	MaxTotalToolCalls        int // calls
	// Limits for the models over all units of the directive, by the gateway's count (LOOP-4).
	MaxTokens int    // tokens
	MaxCost   string // dollars, a decimal as written
}

func (o Options) declares(c Certificate) bool { return slices.Contains(o.Certificates, c) }

// Applicable lists the certificates that the directive may end with: those it declares, else
// EXACT if a criterion has a command. None means EXIT_NEED_INFO (COMMS-2, LOOP-1).
func (d Directive) Applicable() []Certificate {
	if len(d.Options.Certificates) > 0 {
		return slices.Clone(d.Options.Certificates)
	}
	if slices.ContainsFunc(d.Criteria, func(c Criterion) bool { return c.Command != "" }) {
		return []Certificate{Exact}
	}
	return nil
}

// optionTable has each key with the parser of its value.
var optionTable = []struct {
	key string
	set func(v *valueReader, o *Options)
}{
	{"residual", func(v *valueReader, o *Options) { v.command(&o.Residual) }},
	{"certificates", func(v *valueReader, o *Options) { v.certificates(&o.Certificates) }},
	{"R_p", func(v *valueReader, o *Options) { v.decimal(&o.Rp) }},
	{"max_iterations", func(v *valueReader, o *Options) { v.count(&o.MaxIterations) }},
	{"max_tool_calls_per_iteration", func(v *valueReader, o *Options) { v.count(&o.MaxToolCallsPerIteration) }},
	{"max_seconds_per_iteration", func(v *valueReader, o *Options) { v.count(&o.MaxSecondsPerIteration) }},
	{"max_total_seconds", func(v *valueReader, o *Options) { v.count(&o.MaxTotalSeconds) }},
	{"max_total_tool_calls", func(v *valueReader, o *Options) { v.count(&o.MaxTotalToolCalls) }},
	{KeyMaxTokens, func(v *valueReader, o *Options) { v.count(&o.MaxTokens) }},
	{KeyMaxCost, func(v *valueReader, o *Options) { v.dollars(&o.MaxCost) }},
	{"profile", func(v *valueReader, o *Options) { v.word(&o.Profile, profiles) }},
	{"rung", func(v *valueReader, o *Options) { v.rung(&o.Rung) }},
	{"frozen", func(v *valueReader, o *Options) { v.globs(&o.Frozen) }},
	{"work", func(v *valueReader, o *Options) { v.globs(&o.Work) }},
	{keyInclude, func(v *valueReader, o *Options) { v.include(&o.Included) }},
	{keyHeld, func(v *valueReader, o *Options) { v.held(&o.Held) }},
	{keyGuards, func(v *valueReader, o *Options) { v.word(&o.Guards, []string{guardsEnough}) }},
	{keyMayHold, func(v *valueReader, o *Options) { v.word(&o.MayHold, []string{mayHoldYes}) }},
	{"alone", func(v *valueReader, o *Options) { v.word(&o.Alone, []string{aloneYes}) }},
	{"breaks", func(v *valueReader, o *Options) { v.command(&o.Breaks) }},
	{keyAfter, func(v *valueReader, o *Options) { v.directives(&o.After) }},
	{"priority", func(v *valueReader, o *Options) { v.priority(&o.Priority) }},
	{keyUnknown, func(v *valueReader, o *Options) { v.unknown(&o.Unknowns) }},
}

// The keys of limits on a directive's use of models. When one is spent, its name tells the PM
// what to raise.
const (
	KeyMaxTokens = "max_tokens"
	KeyMaxCost   = "max_cost"
)

// keyAfter is the key by which a directive waits for others.
const keyAfter = "after"

// ExampleCriterion is the criterion that messages show. It fails before the work, as at least
// one criterion of a directive must.
const ExampleCriterion = "- [ ] it greets (`grep -q hello greeting.txt`)"

// keyGuards is the key by which the PM accepts claims whose criteria all held before the work;
// guardsEnough is its only value.
const (
	keyGuards    = "guards"
	guardsEnough = "enough"
)

// keyMayHold is the key by which the PM says that a claim may change nothing; mayHoldYes is
// its one value.
const (
	keyMayHold = "may-hold"
	mayHoldYes = "yes"
)

// aloneYes is the only value of the key that forbids running commands in parallel, for commands such as
// those that measure time.
const aloneYes = "yes"

// The keys that may stand in more than one line.
const (
	keyUnknown = "unknown"
	keyInclude = "include"
)

// keyAdditions is a key of earlier versions. It has no effect, but old directives stay valid.
const keyAdditions = "additions"

// Keys lists the keys that a directive may set, in the order of the manual.
func Keys() []string {
	keys := make([]string, len(optionTable))
	for i, o := range optionTable {
		keys[i] = o.key
	}
	return keys
}

func setterOf(key string) func(*valueReader, *Options) {
	for _, o := range optionTable {
		if o.key == key {
			return o.set
		}
	}
	if key == keyAdditions {
		return func(v *valueReader, _ *Options) { v.globs(new([]string)) }
	}
	return nil
}

// option takes `- key: value`; false leaves the line to the goal.
func (b *bodyReader) option(l line, it item) bool {
	key, after, ok := strings.Cut(it.text, ":")
	if !ok || !isKey(key) {
		return false
	}
	set := setterOf(key)
	value := strings.TrimSpace(after)
	spaced := after != "" && (after[0] == ' ' || after[0] == '\t')
	if set == nil {
		// "- Steps:" and "- http://x" are prose, "- max_iteration: 3" is not.
		if spaced && value != "" && it.marker == '-' {
			b.unknownKey(l, it, key)
		}
		return false
	}
	switch {
	case it.marker != '-' || value != "" && !spaced:
		b.f.add(l.num, it.col, ruleKey, `write "- `+key+`: value"; `+indentHint, "%s is not quite an option", quote(l.text))
	case b.keys[key] != 0 && key != keyUnknown && key != keyInclude:
		b.f.add(l.num, it.col, ruleKey, "keep one of the two lines", "%s is set in line %d already", key, b.keys[key])
	default:
		b.keys[key] = l.num
		col := it.col + len(key) + 1 + len(after) - len(strings.TrimLeft(after, " \t"))
		v := &valueReader{key: key, text: value, line: l.num, col: col, f: b.f}
		if value == "" {
			v.bad(-1, "give it a value or delete the line", "there is no value")
			return true
		}
		set(v, &b.d.Options)
	}
	return true
}

func (b *bodyReader) unknownKey(l line, it item, key string) {
	if b.f.full() {
		return // searching for the nearest key is expensive
	}
	b.f.add(l.num, it.col, ruleKey, nearestHint(key, Keys())+"; "+indentHint,
		"%s is not an option of a directive", quote(key))
}

// isKey reports whether s is the kind of word that an option starts with.
func isKey(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}
