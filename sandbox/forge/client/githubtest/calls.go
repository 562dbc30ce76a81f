package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// handlers answer the calls that are used, by GitHub's names of them.
var handlers map[string]func(*Server, *asked) (int, any)

// needs are the rights of tokens, in GitHub's words.
var needs = map[string]string{
	"repos/get-collaborator-permission-level": "metadata=read", "repos/create-commit-status": "statuses=write",
	"pulls/merge": "contents=write", "pulls/update": "pull_requests=write", "issues/create-comment": "issues=write", "issues/create-label": "issues=write",
	"repos/create-webhook": "repository_hooks=write", "checks/create": "checks=write",
}

func init() {
	handlers = map[string]func(*Server, *asked) (int, any){
		"users/get-authenticated": func(s *Server, a *asked) (int, any) {
			u := s.d.example("private-user-response-with-public-and-private-profile-information")
			return http.StatusOK, set(u, "login", a.who, "id", s.users[a.who].id, "type", s.users[a.who].kind)
		},
		"repos/get": func(s *Server, a *asked) (int, any) { return http.StatusOK, s.repository(a.project, a.who) },
		"repos/get-collaborator-permission-level": permission,
		"repos/create-fork":                       fork,
		"repos/list-forks":                        forks,
		"repos/create-commit-status":              setStatus,
		"repos/list-commit-statuses-for-ref": func(s *Server, a *asked) (int, any) {
			all := []any{}
			for _, one := range slices.Backward(a.project.statuses[a.params["ref"]]) {
				all = append(all, one)
			}
			return http.StatusOK, all
		},
		"issues/list-for-repo": listIssues,
		"issues/list-labels-for-repo": func(s *Server, a *asked) (int, any) {
			all := []any{}
			for _, name := range a.project.labels {
				all = append(all, s.label(name))
			}
			return http.StatusOK, all
		},
		"issues/create-label": func(s *Server, a *asked) (int, any) {
			a.project.labels = append(a.project.labels, a.text("name"))
			return http.StatusCreated, s.label(a.text("name"))
		},
		"issues/get": func(s *Server, a *asked) (int, any) {
			return s.found(a, "issue_number", func(i *issue) any { return s.issue(a.project, i) })
		},
		"issues/update": func(s *Server, a *asked) (int, any) {
			return s.found(a, "issue_number", func(i *issue) any {
				i.state = a.text("state")
				return s.issue(a.project, i)
			})
		},
		"repos/get-branch":       branch,
		"repos/get-branch-rules": rules,
		"issues/list-comments": func(s *Server, a *asked) (int, any) {
			return s.found(a, "issue_number", func(i *issue) any { return anys(i.comments) })
		},
		"issues/list-events": func(s *Server, a *asked) (int, any) {
			return s.found(a, "issue_number", func(i *issue) any { return anys(i.events) })
		},
		"issues/create-comment": func(s *Server, a *asked) (int, any) {
			code, answer := s.found(a, "issue_number", func(i *issue) any { return a.project.say(i.number, a.who, a.text("body")) })
			if code == http.StatusOK {
				code = http.StatusCreated
			}
			return code, answer
		},
		"pulls/list":   listRequests,
		"pulls/create": create,
		"pulls/get": func(s *Server, a *asked) (int, any) {
			return s.found(a, "pull_number", func(i *issue) any {
				if i.from.gone {
					return undescribed{s.pull(a.project, i, false)}
				}
				return s.pull(a.project, i, false)
			})
		},
		"pulls/list-reviews": func(s *Server, a *asked) (int, any) {
			return s.found(a, "pull_number", func(i *issue) any { return anys(i.reviews) })
		},
		"pulls/list-comments-for-review": func(s *Server, a *asked) (int, any) {
			return s.found(a, "pull_number", func(i *issue) any { return anys(i.remarks[a.params["review_id"]]) })
		},
		"pulls/update":         update,
		"pulls/merge":          merge,
		"repos/list-webhooks":  hooksOf,
		"repos/create-webhook": addHook,
		"repos/delete-webhook": removeHook,

		"apps/get-repo-installation":            installation,
		"apps/create-installation-access-token": appToken,
		"checks/create":                         createCheck,
		"checks/list-for-ref":                   listChecks,
	}
}

func (s *Server) label(name string) map[string]any {
	return set(s.d.example("label"), "name", name, "color", "00aabb")
}

// undescribed is an answer that GitHub gives and does not describe: the repository of a head is
// null where the fork is gone.
type undescribed struct{ any }

func (a *asked) text(name string) string {
	text, _ := a.body[name].(string)
	return text
}

func anys(list []map[string]any) []any {
	out := []any{}
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// found answers with what is made of an issue, or of a request.
func (s *Server) found(a *asked, name string, make func(*issue) any) (int, any) {
	n, _ := strconv.Atoi(a.params[name])
	if n < 1 || n > len(a.project.issues) || name == "pull_number" && a.project.issues[n-1].request == nil {
		return http.StatusNotFound, message("Not Found")
	}
	return http.StatusOK, make(a.project.issues[n-1])
}

func refused(text string, errors ...map[string]any) (int, any) {
	m := message(text)
	if len(errors) > 0 {
		m["errors"] = anys(errors)
	}
	return http.StatusUnprocessableEntity, m
}

func (s *Server) repository(p *Project, who string) map[string]any {
	r := s.d.example("full-repository")
	rank := p.rank(who)
	set(r, "id", p.id, "name", p.Name, "full_name", p.Owner+"/"+p.Name, "owner", s.person(p.Owner), "private", p.Private, "archived", p.Archived,
		"default_branch", "main", "fork", p.parent != nil, "html_url", s.URL+"/"+p.Owner+"/"+p.Name, "clone_url", s.URL+"/"+p.Owner+"/"+p.Name+".git",
		"allow_merge_commit", !p.SquashOnly && !p.RebaseOnly, "allow_squash_merge", !p.RebaseOnly, "allow_rebase_merge", p.RebaseOnly, "has_discussions", false, // which the example lacks
		"permissions", map[string]any{"admin": rank == 3, "push": rank >= 2, "pull": true})
	delete(r, "parent")
	delete(r, "source")
	if p.parent != nil {
		r["parent"] = s.repository(p.parent, who)
		r["source"] = r["parent"]
	}
	return r
}

func permission(s *Server, a *asked) (int, any) {
	if a.project.rank(a.who) < 2 {
		return http.StatusForbidden, message("Must have push access to view collaborator permission.")
	}
	of := a.params["username"]
	if s.person(of) == nil {
		return http.StatusNotFound, message("Not Found")
	}
	right := a.project.rights[of]
	if right == "" {
		right = map[bool]string{true: "none", false: "read"}[a.project.Private]
	}
	r := s.d.example("repository-collaborator-permission-response-if-user-has-admin-permissions")
	set(r["user"].(map[string]any), "login", of, "id", s.users[of].id, "role_name", right) // which the example lacks
	return http.StatusOK, set(r, "permission", right, "role_name", right)
}

// fork makes one, or answers with the one that there is.
func fork(s *Server, a *asked) (int, any) {
	name := a.project.Name
	for _, p := range s.projects {
		if p.gone || p.Owner != a.who {
			continue
		}
		if p.parent == a.project {
			return http.StatusAccepted, s.repository(p, a.who)
		}
		if p.Name == name {
			name += "-1"
		}
	}
	return http.StatusAccepted, s.repository(s.make(a.who, name, a.project), a.who)
}

func forks(s *Server, a *asked) (int, any) {
	all := []any{}
	for _, p := range s.projects {
		if p.parent == a.project && !p.gone {
			all = append(all, s.repository(p, a.who))
		}
	}
	return http.StatusOK, all
}

func setStatus(s *Server, a *asked) (int, any) {
	if a.project.rank(a.who) < 2 {
		return http.StatusForbidden, message("Resource not accessible by personal access token")
	}
	if len(a.text("description")) > 140 {
		return refused("Validation Failed", map[string]any{"resource": "Status", "code": "custom", "field": "description", "message": "description is too long (maximum is 140 characters)"})
	}
	if strings.Trim(a.params["sha"], "0") == "" {
		return refused("No commit found for SHA: " + a.params["sha"])
	}
	one := s.d.example("status")
	set(one, "id", s.id(), "state", a.text("state"), "context", a.text("context"), "description", a.text("description"), "target_url", a.body["target_url"], "creator", s.person(a.who))
	a.project.statuses[a.params["sha"]] = append(a.project.statuses[a.params["sha"]], one)
	return http.StatusCreated, one
}

// issue is an issue as GitHub shows it, a request too.
func (s *Server) issue(p *Project, i *issue) any {
	out := s.d.example("issue")
	labels := []any{}
	for _, l := range i.labels {
		labels = append(labels, map[string]any{"id": 1, "name": l, "color": "00aabb", "default": false})
	}
	set(out, "number", i.number, "title", i.title, "body", i.body, "state", i.state, "user", s.person(i.author), "labels", labels,
		"created_at", i.created, "updated_at", i.update, "html_url", fmt.Sprintf("%s/%s/%s/issues/%d", s.URL, p.Owner, p.Name, i.number))
	if i.request == nil {
		delete(out, "pull_request")
	}
	if i.body == "" {
		out["body"] = nil
	}
	return out
}

func listIssues(s *Server, a *asked) (int, any) {
	all := []any{}
	for _, i := range slices.Backward(a.project.issues) {
		has := func(l string) bool { return strings.EqualFold(l, a.query("labels")) }
		if (i.state == a.query("state") || a.query("state") == "all") && (a.query("labels") == "" || slices.ContainsFunc(i.labels, has)) {
			all = append(all, s.issue(a.project, i))
		}
	}
	return http.StatusOK, all
}

// pull is a request as GitHub shows it, in a listing with less.
func (s *Server) pull(p *Project, i *issue, short bool) map[string]any {
	name := "pull-request"
	if short {
		name = "pull-request-simple-items"
	}
	out := s.d.example(name)
	head, base := out["head"].(map[string]any), out["base"].(map[string]any)
	set(head, "ref", i.branch, "sha", i.head, "label", i.from.Owner+":"+i.branch, "user", s.person(i.from.Owner), "repo", s.repository(i.from, ""))
	set(base, "ref", i.base, "sha", p.branches[i.base], "label", p.Owner+":"+i.base, "user", s.person(p.Owner), "repo", s.repository(p, ""))
	if i.from.gone {
		head["repo"] = nil
	}
	set(out, "number", i.number, "node_id", i.node, "title", i.title, "body", i.body, "state", i.state, "draft", i.draft, "user", s.person(i.author),
		"requested_teams", []any{}, // whose example lacks a type
		"merged_at", nil, "html_url", fmt.Sprintf("%s/%s/%s/pull/%d", s.URL, p.Owner, p.Name, i.number), "merge_commit_sha", Commit("trial"+i.head))
	if i.merged != "" {
		set(out, "merged_at", i.update, "merge_commit_sha", i.merged)
	}
	if !short {
		set(out, "merged", i.merged != "", "merged_by", s.person(i.mergedBy))
	}
	return out
}

// branch is one with its protection.
func branch(s *Server, a *asked) (int, any) {
	b := s.d.example("branch-get")
	if p := a.project; !p.Ruled && p.Required != "" {
		checks := map[string]any{"enforcement_level": "non_admins", "contexts": []any{p.Required}, "checks": []any{map[string]any{"context": p.Required, "app_id": p.pin()}}}
		set(b, "protected", true, "protection", map[string]any{"enabled": true, "required_status_checks": checks})
	}
	return http.StatusOK, set(b, "name", a.params["branch"])
}

// rules are those that rulesets have for a branch.
func rules(s *Server, a *asked) (int, any) {
	all := []any{s.d.example("repository-rule-items")}
	if p := a.project; p.Ruled && p.Required != "" {
		all = append(all, map[string]any{"type": "required_status_checks", "ruleset_source_type": "Repository", "ruleset_source": p.Owner + "/" + p.Name, "ruleset_id": 42,
			"parameters": map[string]any{"strict_required_status_checks_policy": false, "required_status_checks": []any{p.pinned(map[string]any{"context": p.Required})}}})
	}
	return http.StatusOK, all
}

func listRequests(s *Server, a *asked) (int, any) {
	all := []any{}
	for _, i := range slices.Backward(a.project.issues) {
		if i.request == nil || a.query("state") != "all" && i.state != a.query("state") {
			continue
		}
		// A head that does not say whose it is filters nothing.
		if head := a.query("head"); strings.Contains(head, ":") && head != i.from.Owner+":"+i.branch {
			continue
		}
		if base := a.query("base"); base != "" && base != i.base {
			continue
		}
		if i.lag > 0 {
			i.lag--
			continue
		}
		all = append(all, s.pull(a.project, i, true))
	}
	return http.StatusOK, all
}

func create(s *Server, a *asked) (int, any) {
	owner, branch, _ := strings.Cut(a.text("head"), ":")
	var from *Project
	for _, p := range s.projects {
		if p.Owner == owner && !p.gone && (p == a.project || p.parent == a.project) {
			from = p
		}
	}
	if from == nil || from.branches[branch] == "" {
		return refused("Validation Failed", map[string]any{"resource": "PullRequest", "field": "head", "code": "invalid"})
	}
	for _, i := range a.project.issues {
		if i.request != nil && i.state == "open" && i.from == from && i.branch == branch {
			return refused("Validation Failed", map[string]any{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for " + a.text("head") + "."})
		}
	}
	draft, _ := a.body["draft"].(bool)
	if draft && a.project.NoDrafts {
		return refused("Validation Failed", map[string]any{"resource": "PullRequest", "code": "custom", "message": "Draft pull requests are not supported in this repository."})
	}
	i := a.project.issue(a.who, a.text("title"), a.text("body"))
	i.request = &request{base: a.text("base"), branch: branch, head: from.branches[branch], from: from, draft: draft, node: fmt.Sprint("PR_", s.last), lag: s.Lag}
	return http.StatusCreated, s.pull(a.project, i, false)
}

func update(s *Server, a *asked) (int, any) {
	return s.found(a, "pull_number", func(i *issue) any {
		if title, ok := a.body["title"].(string); ok {
			i.title = title
		}
		if body, ok := a.body["body"].(string); ok {
			i.body = body
		}
		return s.pull(a.project, i, false)
	})
}

// graph is GitHub's other API, by which alone a draft becomes none.
func (s *Server) graph(who string, body []byte) any {
	var q struct {
		Query     string
		Variables struct{ ID string }
	}
	if err := json.Unmarshal(body, &q); err != nil {
		s.t.Error(err)
	}
	ready := strings.Contains(q.Query, "markPullRequestReadyForReview(input: {pullRequestId: $id})")
	if !ready && !strings.Contains(q.Query, "convertPullRequestToDraft(input: {pullRequestId: $id})") {
		s.t.Errorf("the stand-in does not know the mutation %s", q.Query)
	}
	for _, p := range s.projects {
		for _, i := range p.issues {
			if i.request == nil || i.node != q.Variables.ID {
				continue
			}
			if p.rank(who) < 2 && i.author != who {
				return map[string]any{"data": map[string]any{"done": nil}, "errors": []any{map[string]any{"type": "FORBIDDEN", "message": who + " does not have permission"}}}
			}
			if !ready && p.NoDrafts {
				return map[string]any{"data": map[string]any{"done": nil}, "errors": []any{map[string]any{"type": "UNPROCESSABLE", "message": "Draft pull requests are not supported in this repository."}}}
			}
			i.draft = !ready
			return map[string]any{"data": map[string]any{"done": map[string]any{"pullRequest": map[string]any{"isDraft": i.draft}}}}
		}
	}
	return map[string]any{"data": map[string]any{"done": nil}, "errors": []any{map[string]any{"type": "NOT_FOUND", "message": "Could not resolve to a node"}}}
}
