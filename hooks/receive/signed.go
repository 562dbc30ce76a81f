package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/token"
)

const (
	// signersFile says whose keys are good, as allowed_signers of ssh-keygen(1).
	signersFile = "ward/allowed_signers"
	// maxCertificate bounds a push certificate: its ref lines, mostly.
	maxCertificate = 1 << 20
	sshSignature   = "-----BEGIN SSH SIGNATURE-----\n"
	sshEnd         = "\n-----END SSH SIGNATURE-----\n"
)

// signed takes the name from the push certificate, which it verifies itself: git's own result
// depends on git's settings, and a good signature by an unknown key counts as good there, too
// (status G).
func (p *transportProof) signed(ctx context.Context, who pusher) (pusher, error) {
	blob, nonce := p.getenv("GIT_PUSH_CERT"), p.getenv("GIT_PUSH_CERT_NONCE")
	if blob == "" {
		return who, diag.Hint(errors.New("the push is not signed, and [identity] from says that its signature names the pusher"),
			"git push --signed, with gpg.format = ssh and your key in user.signingKey")
	}
	if status := p.getenv("GIT_PUSH_CERT_NONCE_STATUS"); status != "OK" || nonce == "" {
		return who, diag.Hint(fmt.Errorf("the push certificate's nonce is %+q, not OK: it may be an old one, sent again", status),
			"push again; the host admin: git ward init --bare sets receive.certNonceSeed, and behind http receive.certNonceSlop has to be set")
	}
	_, text, err := p.batch.Read(blob, maxCertificate)
	if err != nil {
		return who, fmt.Errorf("the push certificate cannot be read: %w", err)
	}
	options, err := pushOptions(p.getenv)
	if err != nil {
		return who, err
	}
	payload, signature, err := certificate{nonce, options, p.updates}.check(text)
	if err != nil {
		return who, diag.Hint(fmt.Errorf("the push certificate: %w", err), "git push --signed makes a right one")
	}
	if who.name, err = signer(ctx, filepath.Join(p.dir, signersFile), payload, signature); err != nil {
		return who, err
	}
	who.certificate = text
	on := p.on(func(entry string) bool { return entry == who.name })
	return who.listed(on, who.name, "the signer of the push")
}

// certificate is what the text of a push certificate must say
// (gitformat-signature(5), gitprotocol-pack(5)).
type certificate struct {
	nonce   string
	options []string
	updates []push.Update
}

// check compares a certificate's text, byte by byte where it matters, and splits it into the
// signed text and the signature.
func (c certificate) check(text []byte) (payload, signature []byte, err error) {
	at := bytes.Index(text, []byte(sshSignature))
	if at <= 0 || text[at-1] != '\n' {
		return nil, nil, errors.New("holds no ssh signature (gpg.format = ssh)")
	}
	if end := bytes.Index(text, []byte(sshEnd)); end+len(sshEnd) != len(text) {
		return nil, nil, errors.New("goes on after its signature")
	}
	payload, signature = text[:at], text[at:]
	head, body, ok := strings.Cut(string(payload), "\n\n")
	lines := strings.Split(head, "\n")
	if !ok || lines[0] != "certificate version 0.1" {
		return nil, nil, errors.New("is not of version 0.1")
	}
	values := map[string][]string{}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, " ")
		if !slices.Contains([]string{"pusher", "pushee", "nonce", "push-option"}, key) {
			return nil, nil, fmt.Errorf("has the line %+q, which git does not write", key)
		}
		values[key] = append(values[key], value)
	}
	switch {
	case len(values["pusher"]) != 1 || len(values["pushee"]) > 1:
		return nil, nil, errors.New("names not one pusher and one repository")
	case !slices.Equal(values["nonce"], []string{c.nonce}):
		return nil, nil, errors.New("has another nonce than this push")
	case !slices.Equal(values["push-option"], c.options) && len(values["push-option"])+len(c.options) > 0:
		return nil, nil, errors.New("has other push options than this push")
	}
	var want []string
	for _, u := range c.updates {
		want = append(want, u.Old+" "+u.New+" "+u.Ref)
	}
	got := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return nil, nil, errors.New("names other refs, or other values of them, than this push")
	}
	return payload, signature, nil
}

// signer is whose signature it is: the one name that allowed_signers gives the
// key, for the namespace git and now.
func signer(ctx context.Context, signers string, payload, signature []byte) (string, error) {
	refused := func(err error) error {
		return diag.Hint(fmt.Errorf("the push's signature: %w", err), "let the host admin add `NAME namespaces=\"git\" KEY` to %s", signersFile)
	}
	out, err := keygen(ctx, signature, nil, "-Y", "find-principals", "-f", signers)
	if err != nil {
		return "", refused(err)
	}
	names := strings.Fields(string(out))
	if len(names) != 1 {
		return "", refused(fmt.Errorf("%s gives its key to %d names, and a key belongs to one", signersFile, len(names)))
	}
	if err := token.CheckName(names[0]); err != nil {
		return "", refused(err)
	}
	if _, err := keygen(ctx, signature, payload, "-Y", "verify", "-f", signers, "-I", names[0], "-n", "git"); err != nil {
		return "", refused(err)
	}
	return names[0], nil
}

// keygen runs ssh-keygen with the signature on descriptor 3 and more on standard
// input. It sees nothing of the pusher's environment.
func keygen(ctx context.Context, signature, stdin []byte, args ...string) ([]byte, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	go func() {
		write.Write(signature)
		write.Close()
	}()
	cmd := exec.CommandContext(ctx, "ssh-keygen", append(args, "-s", "/dev/fd/3")...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.Stdin, cmd.ExtraFiles = bytes.NewReader(stdin), []*os.File{read}
	var errs bytes.Buffer
	cmd.Stderr = &limited{&errs, 1024}
	out, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, diag.Hint(errors.New("ssh-keygen is not installed here"), "the host admin: apt-get install openssh-client")
	case err != nil:
		return nil, fmt.Errorf("ssh-keygen %s: %w: %s", args[1], err, strings.ReplaceAll(strings.TrimSpace(errs.String()), "\n", "; "))
	}
	return out, nil
}

// limited writes the first n bytes and lets the rest go.
type limited struct {
	w io.Writer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	kept := p[:min(l.n, len(p))]
	l.n -= len(kept)
	if _, err := l.w.Write(kept); err != nil {
		return 0, err
	}
	return len(p), nil
}
