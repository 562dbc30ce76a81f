package plan

import (
	"fmt"
	"strings"
)

// Research is a plan of the five phases of deep research (PLAN-8): a review of the
// documents that are there, scoping, broad gathering, targeted extraction,
// synthesis. It is a word of the machine research. Topic is one line of any text;
// the report goes to research/<slug>.md and the task is research-<slug>.
//
// What the search finds is not known before it runs, so the pages of the fourth
// phase are for its author to fill in, as is the report.
func Research(topic, slug string, search bool) *Plan {
	topic = strings.Join(strings.Fields(topic), " ")
	p := &Plan{Form: BlockForm, FSM: "research"}
	step := func(tool, args, block string, comments ...string) {
		p.Steps = append(p.Steps, Step{Comments: comments, Tool: tool, Args: args, Block: block})
	}
	step(SetPlan, "", fmt.Sprintf("Research: %s\n\nPhases: review of the documents here, scoping, broad gathering, targeted\nextraction, synthesis.\n", topic), "# FSM: research")
	step(ListFiles, "", "", "# Phase 1: review of the documents that are here")
	p.Steps = append(p.Steps, Step{Tool: ForEachFile, Args: "**/*.md", Body: []Step{{Tool: ReadFile, Args: "{file1}"}}})
	words := keywords(topic)
	step(Grep, "(?i)"+strings.Join(words, "|"), "", "# Phase 2: scoping; the words of the topic, as they stand in the repository")
	if search {
		step(GoogleSearch, topic, "", "# Phase 3: broad gathering")
		step(GoogleSearch, strings.Join(words, " ")+" documentation", "")
		step(GoogleSearch, strings.Join(words, " ")+" known problems", "", "# Phase 4: targeted extraction; add view_text_website URL for the best of what was found")
	} else {
		step(Grep, "(?i)(why|because|todo|fixme|decided).*("+strings.Join(words, "|")+")", "", "# Phase 3 and 4, without a search: what the repository itself says about it")
	}
	step(StepComplete, "gathered; the synthesis follows", "", "# Phase 5: synthesis")
	step(OverwriteFile, "research/"+slug+".md", fmt.Sprintf("# Research: %s\n\n## Question\n\n%s\n\n## Findings, each with its source\n\n## What is still not known\n", topic, topic))
	step(Bash, "git ward task close --task-id research-"+slug, "")
	return p
}

// keywords are the words of a topic that a search would use.
func keywords(topic string) []string {
	var list []string
	for _, w := range strings.FieldsFunc(topic, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if len(w) > 3 && len(list) < 8 {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return []string{"TODO"}
	}
	return list
}

// Slug makes a name for files of any text.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 48 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "topic"
}

// Unknowns are what a plan says that it does not know: its comments that begin with
// "Unknown:" (002, phase 1). They are searched for before it is executed.
func Unknowns(p *Plan) (list []string) {
	var walk func(steps []Step)
	walk = func(steps []Step) {
		for _, s := range steps {
			for _, comment := range s.Comments {
				text := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(comment), "#"))
				if key, value, ok := strings.Cut(text, ":"); ok && strings.EqualFold(strings.TrimSpace(key), "unknown") && strings.TrimSpace(value) != "" {
					list = append(list, strings.TrimSpace(value))
				}
			}
			walk(s.Body)
		}
	}
	walk(p.Steps)
	return list
}
