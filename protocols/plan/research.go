package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/shellword"
	"git-ward/protocols/knowledge"
)

// Places of a research plan that are filled in when it runs (PLAN-8): what it gathered is
// not known when it is written.
const (
	FieldFindings = "{findings}"    // each with its source
	FieldUnknown  = "{unknown}"     // what nothing was found on
	FieldPhases   = "{phases}"      // what each phase did, and came to
	FieldFound    = "{found"        // {found1}: the best page that the searches named
	FieldTopic    = "{topic}"       // what whoever calls the plan does not know
	FieldSlug     = "callers-topic" // the name of that for files: a name itself, which lint knows
)

// NoTopic is the topic of a plan of research that nobody gives one.
const NoTopic = "the open questions of COMMS.md"

// Topic is what a plan that calls research wants to know: the first thing that it says it
// does not know, else the first line of what it sets out to do, else NoTopic.
func Topic(p *Plan) string {
	if list := Unknowns(p); len(list) > 0 {
		return list[0]
	}
	for _, s := range p.Steps {
		if s.Tool == SetPlan {
			first, _, _ := strings.Cut(strings.TrimSpace(s.Text()), "\n")
			if first = strings.TrimSpace(first); first != "" && !strings.Contains(first, FieldTopic) {
				return first
			}
		}
	}
	return NoTopic
}

// On is the steps of a plan of research, with a topic in its places.
func On(topic string, steps []Step) []Step {
	topic = strings.Join(strings.Fields(topic), " ")
	fill := strings.NewReplacer("'"+FieldTopic+"'", shellword.Quote(topic), FieldTopic, topic, FieldSlug, Slug(topic))
	list := slices.Clone(steps)
	for i := range list {
		s := &list[i]
		s.Args, s.Block = fill.Replace(s.Args), fill.Replace(s.Block)
		s.Body = On(topic, s.Body)
	}
	return list
}

// Research is a plan of the five phases of deep research (PLAN-8): a review of the
// documents that are there, scoping, broad gathering, targeted extraction, synthesis. It
// is a word of the machine research. Topic is one line of any text; the report goes to
// research/<slug>.md and the task is research-<slug>.
//
// The phases look in different places: the documents; then what the source declares; then
// the files, the history and what earlier work has learnt, and the web where there is a
// search; then around the best places, and in the pages that the searches named.
func Research(topic, slug string, search bool) *Plan {
	topic = strings.Join(strings.Fields(topic), " ")
	p := &Plan{Form: BlockForm, FSM: "research"}
	step := func(tool, args, block string, comments ...string) {
		p.Steps = append(p.Steps, Step{Comments: comments, Tool: tool, Args: args, Block: block})
	}
	find := func(how string, comments ...string) {
		step(Bash, "git ward knowledge find "+how+" -- "+shellword.Quote(topic), "", comments...)
	}
	step(SetPlan, "", fmt.Sprintf("Research: %s\n\nPhases: review of the documents here, scoping, broad gathering, targeted\nextraction, synthesis.\n", topic), "# FSM: research")
	step(ListFiles, "", "", "# Phase 1: review of the documents that are here")
	find("--in documents")
	find("--in symbols,dependencies", "# Phase 2: scoping; what the source declares about it, and what depends on that")
	find("--in files,history,lessons,post-mortems", "# Phase 3: broad gathering; files, history, and what earlier work has learnt")
	if search {
		step(GoogleSearch, topic, "")
		step(GoogleSearch, strings.Join(knowledge.Words(topic), " ")+" documentation", "")
	}
	find("--deep", "# Phase 4: targeted extraction; what stands around the best places, and what is said in their words")
	if search {
		for i := range 3 {
			step(ViewTextWebsite, fmt.Sprintf("%s%d}", FieldFound, i+1), "")
		}
	}
	step(StepComplete, "gathered; the synthesis follows", "", "# Phase 5: synthesis, of what was gathered")
	step(OverwriteFile, "research/"+slug+".md", fmt.Sprintf("# Research: %s\n\n## Question\n\n%s\n\n## Findings, each with its source\n\n%s\n\n## What the phases did\n\n%s\n\n## What is still not known\n\n%s\n",
		topic, topic, FieldFindings, FieldPhases, FieldUnknown))
	step(Bash, "git ward task close --task-id research-"+slug, "")
	return p
}

// Find is a command `git ward knowledge find`, which a plan's run does itself.
type Find struct {
	In   []string // sources; none: all
	Deep bool     // around what is found, too
	Text string
}

// Find is the step's search for words; false for any other command.
func (s *Step) Find() (f Find, ok bool) {
	if s.Tool != Bash || len(s.Text()) > maxClosing || !strings.Contains(s.Text(), "knowledge") {
		return f, false
	}
	words, ok := shellWords(s.Text())
	if !ok || len(words) < 5 || !slices.Equal(words[:4], []string{"git", "ward", "knowledge", "find"}) {
		return f, false
	}
	for words = words[4:]; len(words) > 0; words = words[1:] {
		switch {
		case words[0] == "--":
			f.Text = strings.Join(words[1:], " ")
			return f, f.Text != ""
		case words[0] == "--deep":
			f.Deep = true
		case words[0] == "--in" && len(words) > 1:
			f.In = strings.Split(words[1], ",")
			words = words[1:]
		case strings.HasPrefix(words[0], "-"):
			return f, false // the program itself says what is wrong with it
		default:
			f.Text = strings.Join(words, " ")
			return f, true
		}
	}
	return f, false
}

// Slug makes a name for files of any text: its ASCII letters and digits. Where that leaves
// out what tells it from other texts, a hash of all of it stands behind.
func Slug(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var b strings.Builder
	lossy := false
	for i, r := range text {
		if b.Len() >= 48 {
			lossy = lossy || i < len(text)
			break
		}
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
			continue
		case !strings.ContainsRune(" .,:;!?'\"()-_/`", r):
			lossy = true
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" {
		slug, lossy = "topic", true
	}
	if lossy {
		return fmt.Sprintf("%s-%x", slug, sha256.Sum256([]byte(text)))[:len(slug)+9]
	}
	return slug
}

// Unknowns are what a plan says that it does not know: its comments that begin with
// "Unknown:" (002, phase 1). They are searched for before it is executed.
func Unknowns(p *Plan) (list []string) {
	var walk func(steps []Step)
	walk = func(steps []Step) {
		for _, s := range steps {
			for _, comment := range s.Comments {
				if text, ok := header(comment, "Unknown"); ok && text != "" {
					list = append(list, text)
				}
			}
			walk(s.Body)
		}
	}
	walk(p.Steps)
	return list
}

// Phase is the phase that begins with the step, "" for none: its comment "# Phase ...".
func (s *Step) Phase() string {
	for _, c := range s.Comments {
		if text := strings.TrimSpace(strings.TrimLeft(c, "# ")); strings.HasPrefix(text, "Phase ") {
			return text
		}
	}
	return ""
}
