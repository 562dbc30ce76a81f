package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

// Hook makes a webhook that somebody has already.
func (p *Project) Hook(url string) {
	defer p.s.hold()()
	p.hook(url, nil)
}

func (p *Project) hook(url string, events any) map[string]any {
	h := p.s.d.example("hook")
	set(h["config"].(map[string]any), "url", url, "secret", "********") // GitHub shows none
	if events != nil {
		h["events"] = events
	}
	p.hooks = append(p.hooks, set(h, "id", p.s.id(), "active", true))
	return h
}

// unseen is what GitHub says to whoever does not administer the project.
func (a *asked) unseen() bool { return a.project.rank(a.who) < 3 }

func hooksOf(_ *Server, a *asked) (int, any) {
	if a.unseen() {
		return http.StatusNotFound, message("Not Found")
	}
	return http.StatusOK, anys(a.project.hooks)
}

func addHook(_ *Server, a *asked) (int, any) {
	config, _ := a.body["config"].(map[string]any)
	url, _ := config["url"].(string)
	same := func(h map[string]any) bool { return h["config"].(map[string]any)["url"] == url }
	switch {
	case a.unseen():
		return http.StatusNotFound, message("Not Found")
	case slices.ContainsFunc(a.project.hooks, same):
		return refused("Validation Failed", map[string]any{"resource": "Hook", "code": "custom", "message": "Hook already exists on this repository"})
	}
	return http.StatusCreated, a.project.hook(url, a.body["events"])
}

func removeHook(_ *Server, a *asked) (int, any) {
	is := func(h map[string]any) bool { return fmt.Sprint(h["id"]) == a.params["hook_id"] }
	if a.unseen() || !slices.ContainsFunc(a.project.hooks, is) {
		return http.StatusNotFound, message("Not Found")
	}
	a.project.hooks = slices.DeleteFunc(a.project.hooks, is)
	return http.StatusNoContent, nil
}
