package hosting

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// newHTTP is nginx with fcgiwrap and git http-backend on the loopback interface,
// all run by the repository's owner, with two users and their passwords.
func newHTTP(t *testing.T, h *host, owner *account) (url string) {
	t.Helper()
	dir := openDir(t)
	if err := os.Chown(dir, int(owner.cred.Uid), int(owner.cred.Gid)); err != nil {
		t.Fatal(err)
	}
	backend, err := lookIn("git-http-backend")
	if err != nil {
		t.Fatal(err)
	}
	port, sock := gittest.Port(t), filepath.Join(dir, "fcgi.sock")
	config := fmt.Sprintf(`worker_processes 1; pid %[1]s/nginx.pid; error_log stderr; daemon off;
events { worker_connections 64; }
http {
	access_log off; underscores_in_headers on; client_max_body_size 0;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server {
		listen 127.0.0.1:%[2]d;
		location / {
			auth_basic "git"; auth_basic_user_file %[1]s/users;
			fastcgi_pass unix:%[3]s;
			fastcgi_param SCRIPT_FILENAME %[4]s;
			fastcgi_param GIT_PROJECT_ROOT %[5]s;
			fastcgi_param GIT_HTTP_EXPORT_ALL "";
			fastcgi_param PATH_INFO $uri;
			fastcgi_param QUERY_STRING $query_string;
			fastcgi_param REQUEST_METHOD $request_method;
			fastcgi_param CONTENT_TYPE $content_type;
			fastcgi_param CONTENT_LENGTH $content_length;
			fastcgi_param GATEWAY_INTERFACE CGI/1.1;
			fastcgi_param SERVER_PROTOCOL $server_protocol;
			fastcgi_param REMOTE_ADDR $remote_addr;
			fastcgi_param REMOTE_USER $remote_user;
		}
	}
}
`, dir, port, sock, backend, h.dir)
	for name, text := range map[string]string{"nginx.conf": config, "users": "pat:{PLAIN}open-sesame\nmo:{PLAIN}let-mo-in\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start(t, owner, dir, "fcgiwrap", "-f", "-s", "unix:"+sock)
	start(t, owner, dir, "nginx", "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	await.True(t, "nginx", listening(port))
	await.True(t, "fcgiwrap", func() bool { _, err := os.Stat(sock); return err == nil })
	return fmt.Sprintf("127.0.0.1:%d/%s", port, filepath.Base(h.bare))
}

// HTTP with basic authentication: the name is the server's, whatever headers a
// client sends; the password reaches neither a chained hook nor a record.
func TestHTTPBackend(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	needs(t, "nginx", "fcgiwrap", "git-http-backend")
	_, users := newAccounts(t, "git", "cli")
	owner, client := users["git"], users["cli"]
	h := newHost(t)
	h.give(owner)
	owner.script(t, filepath.Join(h.bare, "hooks.chained/pre-receive"), "#!/bin/sh\nenv >\"$GIT_DIR\"/chained.env\ncat >\"$GIT_DIR\"/chained.in\npwd >\"$GIT_DIR\"/chained.pwd\n")
	owner.script(t, filepath.Join(h.bare, "hooks/update"), "#!/bin/sh\nenv >\"$GIT_DIR\"/update.env\n")
	must(t, "chown", owner.name, filepath.Join(h.bare, "hooks.chained"))
	at := newHTTP(t, h, owner)
	push := func(credentials, ref string, config ...string) (string, error) {
		script := `set -e; rm -rf w; git init -q -b main w; cd w; git pull -q "$0" main; date +%N%s >f; git add .; git commit -qm f; shift; git "$@" push -q "http://$URL" HEAD:"$REF"`
		line := append([]string{"sh", "-c", script, h.bare, "-"}, config...)
		if out, err := client.run(t, nil, "git", "config", "--global", "safe.directory", h.bare); err != nil {
			t.Fatal(out)
		}
		return client.run(t, []string{"URL=" + credentials + at, "REF=" + ref, "REMOTE_USER=pat"}, line...)
	}
	if out, err := push("pat:open-sesame@", "main"); err == nil || !strings.Contains(out, `write from = "REMOTE_USER"`) {
		t.Fatalf("%v\n%s", err, out)
	}
	h.identity("from = \"REMOTE_USER\"\npm = [\"pat\"]\nmembers = [\"mo\"]")
	before := must(t, "git-ward", "log", h.bare)
	header := []string{"-c", "http.extraHeader=REMOTE_USER: pat", "-c", "http.extraHeader=Remote-User: pat", "-c", "http.extraHeader=X-Remote-User: pat"}
	for what, credentials := range map[string]string{"no password": "", "a wrong one": "pat:sesame@", "an unknown name": "eve:open-sesame@"} {
		if out, err := push(credentials, "main", header...); err == nil {
			t.Errorf("%s: %s", what, out)
		}
	}
	if after := must(t, "git-ward", "log", h.bare); after != before {
		t.Errorf("a push without a password came as far as the hooks:\n%s", after)
	}
	for _, c := range []struct{ credentials, ref, want string }{
		{"mo:let-mo-in@", "topic", "member mo accepted topic"},
		{"mo:let-mo-in@", "main", "member mo refused main"},
		{"pat:open-sesame@", "main", "pm pat accepted main"},
	} {
		out, err := push(c.credentials, c.ref, append(header, "-c", "http.extraHeader=Private-Token: glpat-secret", "-c", "http.extraHeader=Cookie: session=secret")...)
		if got := h.last().String(); got != c.want || (err == nil) != strings.Contains(c.want, "accepted") {
			t.Errorf("audit has %q, want %q: %v\n%s", got, c.want, err, out)
		}
	}
	// The header did come: git's own update hook, which is not ours, sees it.
	const basic = "cGF0Om9wZW4tc2VzYW1l" // pat:open-sesame
	if env := h.read("update.env"); !strings.Contains(env, "HTTP_AUTHORIZATION=Basic "+basic) {
		t.Errorf("the transport left no credential, so this test proves nothing:\n%s", env)
	}
	env := h.read("chained.env")
	for _, secret := range []string{basic, "open-sesame", "glpat-secret", "session=secret"} {
		if strings.Contains(env, secret) {
			t.Errorf("the chained hook sees %s:\n%s", secret, env)
		}
	}
	if !strings.Contains(env, "REMOTE_USER=pat\n") || !strings.Contains(env, "GIT_QUARANTINE_PATH=") || !strings.Contains(h.read("chained.in"), " refs/heads/main\n") ||
		strings.TrimSpace(h.read("chained.pwd")) != h.bare {
		t.Errorf("the chained hook misses something:\n%s%s%s", env, h.read("chained.in"), h.read("chained.pwd"))
	}
	// Nothing that Ward wrote has it either: every object, every file of ward/.
	all := must(t, "sh", "-c", `cd "$0"; git --git-dir=. cat-file --batch --batch-all-objects --buffer | cat; cat ward/* ward/*/* 2>/dev/null || true`, h.bare)
	for _, secret := range []string{basic, "open-sesame", "glpat-secret"} {
		if strings.Contains(all, secret) {
			t.Errorf("the repository holds %s", secret)
		}
	}
	// A request of one's own making, without git: no password, the header alone.
	request, err := http.NewRequest("GET", "http://"+at+"/info/refs?service=git-receive-pack", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header["REMOTE_USER"] = []string{"pat"}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	h.whole()
}

// read is a file of the repository.
func (h *host) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(h.bare, name))
	return string(data)
}
