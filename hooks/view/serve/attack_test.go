package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"git-ward/internal/await"
)

// send sends bytes as they are, and reads the status of the answer, "" where there is none.
func (r *running) send(t testing.TB, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(await.Deadline(t))
	go io.WriteString(c, request) // what it does not read must not stop us
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return ""
	}
	return res.Status[:3] // what a HEAD's answer would hold does not come
}

// No request but a plain one by the server's own name reaches a page. HOST stands for the
// name and the port, COOKIE for a session's cookie, which all of them bring.
func TestForgedRequests(t *testing.T) {
	r := start(t, nil)
	c := r.signedIn(t)
	host := r.listener.Addr().String()
	_, port, _ := net.SplitHostPort(host)
	at, _ := http.NewRequest("GET", r.URL(), nil)
	cookie := c.Jar.Cookies(at.URL)[0].String()
	for _, row := range []struct{ what, request, want string }{
		{"a plain request", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "200"},
		{"by the name localhost", "GET / HTTP/1.1\nHost: LocalHost:PORT\nCookie: COOKIE\n\n", "200"},
		{"HTTP/1.0 with a host", "GET / HTTP/1.0\nHost: HOST\nCookie: COOKIE\n\n", "200"},
		{"a range", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nRange: bytes=0-0,1-1,2-2\n\n", "200"},
		{"a rebound name", "GET / HTTP/1.1\nHost: evil.example:PORT\nCookie: COOKIE\n\n", "421"},
		{"a name that ends in ours", "GET / HTTP/1.1\nHost: evil.localhost:PORT\nCookie: COOKIE\n\n", "421"},
		{"our name with a dot behind", "GET / HTTP/1.1\nHost: localhost.:PORT\nCookie: COOKIE\n\n", "421"},
		{"another port", "GET / HTTP/1.1\nHost: 127.0.0.1:1\nCookie: COOKIE\n\n", "421"},
		{"no port", "GET / HTTP/1.1\nHost: 127.0.0.1\nCookie: COOKIE\n\n", "421"},
		{"a number for an address", "GET / HTTP/1.1\nHost: 2130706433:PORT\nCookie: COOKIE\n\n", "421"},
		{"another loopback", "GET / HTTP/1.1\nHost: [::1]:PORT\nCookie: COOKIE\n\n", "421"},
		{"a user before it", "GET / HTTP/1.1\nHost: a@HOST\nCookie: COOKIE\n\n", "400"},
		{"an empty host", "GET / HTTP/1.1\nHost:\nCookie: COOKIE\n\n", "421"},
		{"HTTP/1.0 without a host", "GET / HTTP/1.0\nCookie: COOKIE\n\n", "421"},
		{"HTTP/1.1 without a host", "GET / HTTP/1.1\nCookie: COOKIE\n\n", "400"},
		{"two hosts", "GET / HTTP/1.1\nHost: HOST\nHost: evil.example\nCookie: COOKIE\n\n", "400"},
		{"absolute form, ours", "GET http://HOST/ HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "421"},
		{"absolute form, ours before another", "GET http://HOST/ HTTP/1.1\nHost: evil.example\nCookie: COOKIE\n\n", "421"},
		{"absolute form, another's", "GET http://evil.example/ HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "421"},
		{"a host in the path", "GET //HOST/ HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"CONNECT", "CONNECT HOST HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "421"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "421"},
		{"forwarded host", "GET / HTTP/1.1\nHost: evil.example\nX-Forwarded-Host: HOST\nForwarded: host=HOST\nCookie: COOKIE\n\n", "421"},
		{"HTTP/2 by prior knowledge", "PRI * HTTP/2.0\n\nSM\n\n", "421"},

		{"TRACE", "TRACE / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "405"},
		{"OPTIONS", "OPTIONS / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "405"},
		{"PUT", "PUT /d/D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\nContent-Length: 0\n\n", "405"},
		{"DELETE", "DELETE /d/D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "405"},
		{"PROPFIND", "PROPFIND / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "405"},
		{"a method of our own", "get / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "405"},
		{"POST to a page", "POST /d/D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\nContent-Length: 0\n\n", "405"},
		{"POST that says it is GET", "POST / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nX-HTTP-Method-Override: GET\nContent-Length: 0\n\n", "405"},
		{"HEAD", "HEAD / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "200"},
		{"HEAD of events ends", "HEAD /events HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "200"},
		{"GET with a body", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nContent-Length: 5\n\nhello", "400"},
		{"GET with chunks", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nTransfer-Encoding: chunked\n\n0\n\n", "400"},
		{"two lengths", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nContent-Length: 5\nContent-Length: 6\n\nhello", "400"},

		{"up", "GET /../../etc/passwd HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"up, escaped", "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a slash, escaped", "GET /d%2fD-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a letter, escaped", "GET /d/%44-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"NUL", "GET /d/D-1%00 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"two slashes", "GET //d//D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a backslash", "GET /d\\D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a hidden file", "GET /.git/config HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"an option", "GET /d/--upload-pack=x HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a semicolon", "GET /d/D-1;x=1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"a slash behind", "GET /d/D-1/ HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"bytes that are no text", "GET /d/\xff\xfe HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "404"},
		{"no slash", "GET d/D-1 HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},
		{"a long path", "GET /" + strings.Repeat("a", 3000) + " HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "414"},
		{"a long query", "GET /audit?q=" + strings.Repeat("a", 3000) + " HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "414"},
		{"10 MB of query", "GET /audit?q=" + strings.Repeat("a", 10<<20) + " HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "431"},
		{"a control character asked for", "GET /audit?q=%1b%5b31m HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},
		{"no text asked for", "GET /audit?q=%ff HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},
		{"a broken escape asked for", "GET /audit?q=%zz HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},
		{"one thing asked for twice", "GET /audit?q=a&q=b HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},
		{"a thousand things asked for", "GET /audit?" + strings.Repeat("a", 20) + "=&" + many("a%d=", 17, "&") + " HTTP/1.1\nHost: HOST\nCookie: COOKIE\n\n", "400"},

		{"100,000 headers", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\n" + many("X-%d: a\n", 100000, "") + "\n", "431"},
		{"a header of 1 MB", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nX: " + strings.Repeat("a", 1<<20) + "\n\n", "431"},
		{"a header over two lines", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nX: a\n b\n\n", "200"},
		{"a header without a name", "GET / HTTP/1.1\nHost: HOST\n: a\n\n", "400"},

		{"an image of another site", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors\nSec-Fetch-Dest: image\n\n", "403"},
		{"a frame on another port", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: iframe\n\n", "403"},
		{"a link on another site", "GET / HTTP/1.1\nHost: HOST\nCookie: COOKIE\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n\n", "200"},
		{"another port's stream", "GET /events HTTP/1.1\nHost: HOST\nCookie: COOKIE\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: cors\nSec-Fetch-Dest: empty\n\n", "403"},
		{"sign in from another site", "POST /login HTTP/1.1\nHost: HOST\nSec-Fetch-Site: cross-site\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 6\n\ncode=a", "403"},
		{"sign in from another origin", "POST /login HTTP/1.1\nHost: HOST\nOrigin: http://evil.example\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 6\n\ncode=a", "403"},
		{"sign out from another site", "POST /logout HTTP/1.1\nHost: HOST\nCookie: COOKIE\nSec-Fetch-Site: same-site\nContent-Length: 0\n\n", "403"},
		{"a code that is no form", "POST /login HTTP/1.1\nHost: HOST\nContent-Type: text/plain\nContent-Length: 6\n\ncode=a", "400"},
		{"a code of 1 MB", fmt.Sprintf("POST /login HTTP/1.1\nHost: HOST\nContent-Type: application/x-www-form-urlencoded\nContent-Length: %d\n\ncode=%s", 5+1<<20, strings.Repeat("a", 1<<20)), "400"},
		{"a code in the address", "POST /login?code=x HTTP/1.1\nHost: HOST\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 0\n\n", "403"},

		{"no request at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\n\n", "400"},
	} {
		head, body, _ := strings.Cut(row.request, "\n\n")
		request := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + strings.ReplaceAll(body, "\n", "\r\n")
		request = strings.NewReplacer("HOST", host, "PORT", port, "COOKIE", cookie).Replace(request)
		if got := r.send(t, request); got != row.want {
			t.Errorf("%s: %s, want %s", row.what, got, row.want)
		}
	}
	if status, _, _ := get(t, c, r.URL()); status != http.StatusOK {
		t.Errorf("after all of them: %d", status)
	}
}

func many(format string, n int, between string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format+between, i)
	}
	return out.String()
}

// Where a session may go after signing in is a place of this server.
func TestNextIsLocal(t *testing.T) {
	for next, want := range map[string]string{
		"/": "/", "/d/D-1": "/d/D-1", "/audit?who=agent": "/audit?who=agent", "": "/",
		"//evil.example/": "/", "/\\evil.example": "/", "http://evil.example/": "/", "javascript:alert(1)": "/",
		"/%2f%2fevil.example": "/", "/d/..": "/", "/\tevil": "/", "/login\r\nSet-Cookie: a=b": "/", "/?a=\r\nX: y": "/",
		"https:/evil.example": "/", "/" + strings.Repeat("a", 2000): "/",
	} {
		if got := local(next); got != want {
			t.Errorf("%q: %q, want %q", next, got, want)
		}
	}
}
