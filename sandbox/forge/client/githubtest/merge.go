package githubtest

import "net/http"

// merge merges a request whose status allows it, in one of the ways that the project has.
func merge(s *Server, a *asked) (int, any) {
	if a.project.rank(a.who) < 2 {
		return http.StatusForbidden, message("Resource not accessible by personal access token")
	}
	code, answer := s.found(a, "pull_number", func(i *issue) any { return i })
	i, ok := answer.(*issue)
	if !ok {
		return code, answer
	}
	last := ""
	for _, one := range a.project.statuses[i.head] {
		if one["context"] == a.project.Required {
			last = one["state"].(string)
		}
	}
	switch {
	case i.state != "open" || i.draft || a.project.Required != "" && last != "success":
		return http.StatusMethodNotAllowed, message("Pull Request is not mergeable")
	case a.project.SquashOnly && a.text("merge_method") != "squash":
		return http.StatusMethodNotAllowed, message("Merge commits are not allowed on this repository.")
	case a.project.RebaseOnly && a.text("merge_method") != "rebase":
		return http.StatusMethodNotAllowed, message("Squash merges are not allowed on this repository.")
	case a.text("sha") != "" && a.text("sha") != i.head:
		return http.StatusConflict, message("Head branch was modified. Review and try the merge again.")
	}
	s.id()
	i.state, i.merged, i.mergedBy, i.update = "closed", Commit(a.text("merge_method")+i.head), a.who, s.date()
	if s.Merges != nil {
		i.merged = s.Merges(a.project, i.base, i.head, a.text("commit_title")+"\n\n"+a.text("commit_message"))
	}
	a.project.branches[i.base] = i.merged
	return http.StatusOK, map[string]any{"sha": i.merged, "merged": true, "message": "Pull Request successfully merged"}
}
