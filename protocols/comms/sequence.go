package comms

// maxJump bounds the difference between the ids of two entries. It is more than the entries of any
// document. Without it, one entry could use the last id, and no report could follow.
const maxJump = MaxBytes / len("### Q-1 2026-11-21T09:00:00Z -\n")

// sequence compares the entries of part p: old ones must be unedited and in order, and new ones follow
// them with larger ids. It returns the removed and the added entries.
func (c *agentCheck) sequence(p part, rule string) (removed, added []entry) {
	old, new := &c.old.layout, &c.new.layout
	if old.head(p) != new.head(p) {
		c.f.add(new.parts[p].line, 0, rule, "restore the lines between the heading and its first entry",
			"the agent may not change the text directly below %s", headings[p])
	}
	entries := new.parts[p].entries
	place := make(map[int]int, len(entries)) // id -> its last place in new
	for i, e := range entries {
		place[e.id] = i
	}
	next := 0 // index of the first entry of new that is not yet accounted for
	for _, e := range old.parts[p].entries {
		if next < len(entries) && old.raw(e) == new.raw(entries[next]) {
			next++
			continue
		}
		at, found := place[e.id]
		if e.id == 0 || !found || at < next {
			removed = append(removed, e)
			continue
		}
		for _, between := range entries[next:at] {
			c.f.add(between.line, 0, ruleAgentAppend, "move it to the end under the next id", "a new entry may not stand above old ones of %s", headings[p])
			added = append(added, between)
		}
		if old.raw(e) != new.raw(entries[at]) {
			c.f.add(entries[at].line, 0, rule, "restore it; append a new entry that says what is right",
				"%s was edited; entries are never edited", name(letters[p], e.id))
		}
		next = at + 1
	}
	c.appended(p, nextID(old.parts[p].entries)-1, entries[next:])
	return removed, append(added, entries[next:]...)
}

// appended requires that the entries after the old ones have ids above last, the largest old id.
func (c *agentCheck) appended(p part, last int, entries []entry) {
	hint := "append it again under the next id, " + name(letters[p], last+1)
	for _, e := range entries {
		switch {
		case e.id == 0: // Parse has said so
		case e.id <= last:
			c.f.add(e.line, 5, ruleAgentAppend, hint, "the new %s is not above %s", name(letters[p], e.id), name(letters[p], last))
		case e.id > last+maxJump:
			c.f.add(e.line, 5, ruleAgentAppend, hint, "%s is too far above %s", name(letters[p], e.id), name(letters[p], last))
		default:
			last = e.id
		}
	}
}
