package serve

import (
	"net/http"
)

// from is who sends a request.
func from(r *http.Request) peer {
	p, _ := r.Context().Value(peerKey{}).(peer)
	return p
}

// cookieName differs by port, since browsers send a cookie to every port of a host: two
// servers on one machine each have their own.
func (s *Server) cookieName() string {
	if s.secure {
		return "__Host-ward-" + s.names.port
	}
	return "ward-" + s.names.port
}

// session returns the token of a signed-in request. It tries several cookies of the name, because another
// port's page may have set some.
func (s *Server) session(r *http.Request) (token string, inside bool) {
	for i, c := range r.CookiesNamed(s.cookieName()) {
		if i == 4 {
			break
		}
		if s.logins.inside(c.Value, from(r)) {
			return c.Value, true
		}
	}
	return "", false
}

// setCookie gives the browser a token; with age -1 it takes it away.
func (s *Server) setCookie(w http.ResponseWriter, token string, age int) {
	http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: token, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteStrictMode})
}
