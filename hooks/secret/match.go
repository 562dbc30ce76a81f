package secret

// apply runs a rule where its tracker says. A rule without a regex only checks the path, and
// the secret is the whole file.
func (s *Scanner) apply(r *rule, t *tracker, path string, c *candidates) error {
	if r.regex == "" {
		if len(c.data) > 0 && expression(r.path).MatchString(path) {
			c.add(r, span{0, len(c.data)})
		}
		return nil
	}
	if r.value != nil {
		return s.applyAssignments(r, t.assignments, c)
	}
	for _, sp := range t.spans {
		if !s.spend(sp.to - sp.from) {
			return ErrBudget
		}
		for _, m := range expression(r.regex).FindAllIndex(sp.of(c.data), -1) {
			match := trim(span{sp.from + m[0], sp.from + m[1]}, c.data)
			s.spend(match.to - match.from)
			// As in gitleaks the groups are those of the match alone.
			groups := expression(r.regex).FindSubmatchIndex(match.of(c.data))
			if s.judge(r, match, pick(groups, r.group, match), c); s.budget < 0 {
				return ErrBudget
			}
		}
	}
	return nil
}

// applyAssignments runs the regex only where a match can begin; otherwise it would try each
// byte of the value, microseconds for each.
func (s *Scanner) applyAssignments(r *rule, as []assignment, c *candidates) error {
	done := 0 // where the last match ended
	for _, a := range as {
		from := max(a.from, done)
		if from > a.anchor {
			continue
		}
		if !s.spend(a.to - from) {
			return ErrBudget
		}
		groups := expression("^(?:" + r.regex + ")").FindSubmatchIndex(c.data[from:a.to])
		if groups == nil {
			continue
		}
		match := span{from, from + groups[1]}
		done = match.to
		if s.judge(r, trim(match, c.data), pick(groups, r.group, match), c); s.budget < 0 {
			return ErrBudget
		}
	}
	return nil
}

// judge adds the secret of a match to the candidates, unless it is excused.
func (s *Scanner) judge(r *rule, match, secret span, c *candidates) {
	if r.entropy != 0 && entropy(secret.of(c.data)) <= r.entropy {
		return
	}
	if !s.excused(r, c.data, secret, match) {
		c.add(r, secret)
	}
}

// pick gives the n-th group of a match, or for 0 the first that is not empty. A
// match without such a group is the secret itself.
func pick(groups []int, n int, match span) span {
	for i := 1; i < len(groups)/2; i++ {
		from, to := groups[2*i], groups[2*i+1]
		if from < to && (n == 0 || n == i) {
			return span{match.from + from, match.from + to}
		}
	}
	return match
}

// spend takes n from the budget and reports whether that much was left.
func (s *Scanner) spend(n int) bool {
	s.budget -= int64(n)
	return s.budget >= 0
}

func (sp span) of(data []byte) []byte { return data[sp.from:sp.to] }

// trim takes line ends off both ends of a match.
func trim(m span, data []byte) span {
	for m.from < m.to && data[m.to-1] == '\n' {
		m.to--
	}
	for m.from < m.to && data[m.from] == '\n' {
		m.from++
	}
	return m
}
