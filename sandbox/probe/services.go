package probe

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func services(p *Surroundings) []attempt {
	list := []attempt{
		{"SBX-4", "the door answers with one repository's refs", doorAnswers},
		{"SBX-4", "the door obeys nobody's verb", doorIgnoresVerbs},
		{"SBX-7", "no key in any environment that can be read", noKeys},
	}
	if p.Gateway != "" {
		list = append(list,
			gatewayRefuses("POST", "/anthropic/v1/files", "uploading a file to the provider"),
			gatewayRefuses("POST", "/openai/v1/fine_tuning/jobs", "a provider's other service"),
			gatewayRefuses("GET", "/", "no path"))
	}
	return list
}

func dial(socket string) (net.Conn, error) {
	conn, err := net.DialTimeout("unix", socket, atOnce)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(10 * time.Second))
	}
	return conn, err
}

// doorAnswers reads the first pkt-line of receive-pack's advertisement (gitprotocol-pack(5)):
// four hex digits, an object id, a ref.
func doorAnswers(_ context.Context, p *Surroundings) (bool, string) {
	conn, err := dial(p.Door)
	if err != nil {
		return false, err.Error()
	}
	defer conn.Close()
	line := make([]byte, 50)
	if _, err := io.ReadFull(conn, line); err != nil {
		return false, err.Error()
	}
	return bytes.HasPrefix(line[45:], []byte("refs/")), "it advertises refs"
}

// doorIgnoresVerbs asks for another service and repository, as one would ask git's daemon; the
// door must send its own advertisement, and refuse what is not a push.
func doorIgnoresVerbs(_ context.Context, p *Surroundings) (bool, string) {
	conn, err := dial(p.Door)
	if err != nil {
		return false, err.Error()
	}
	defer conn.Close()
	request := "git-upload-pack /etc\x00host=x\x00"
	fmt.Fprintf(conn, "%04x%s", len(request)+4, request)
	conn.(*net.UnixConn).CloseWrite()
	answer, _ := io.ReadAll(io.LimitReader(conn, 1<<20))
	if bytes.Contains(answer, []byte("PACK")) || bytes.Contains(answer, []byte("root:")) {
		return false, "it SERVED something"
	}
	return true, fmt.Sprintf("%d bytes: the advertisement, then the end", len(answer))
}

// noKeys searches every environment that this user can read: those of all its processes, and
// the parent's.
func noKeys(context.Context, *Surroundings) (bool, string) {
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return false, err.Error()
	}
	read := 0
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		read++
		for v := range strings.SplitSeq(string(data), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			upper := strings.ToUpper(name)
			if (strings.Contains(upper, "KEY") || strings.Contains(upper, "TOKEN") || strings.Contains(upper, "SECRET")) && len(value) > 8 {
				return false, name + " is set in " + path
			}
		}
	}
	return read > 0, fmt.Sprintf("%d environments read", read)
}

func gatewayRefuses(method, path, what string) attempt {
	return attempt{"SBX-7", "the gateway refuses " + what, func(_ context.Context, p *Surroundings) (bool, string) {
		conn, err := dial(p.Gateway)
		if err != nil {
			return false, err.Error()
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: gateway\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", method, path)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound, answer.Status
	}}
}
