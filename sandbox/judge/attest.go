package judge

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/envelope"
	"git-ward/protocols/attest"
	"git-ward/protocols/loop"
)

// attest signs a verdict and notes the envelope. It does so before writing the verdict, which
// ends the claim: a judge that was killed in between judges again, and signs that verdict,
// too.
func (j *Judge) attest(ctx context.Context, v loop.Verdict) error {
	if j.key == nil {
		key, err := signingKey(j.Repo.Dir)
		if err != nil {
			return fmt.Errorf("the verdict cannot be signed: %w", err)
		}
		j.key = key
	}
	s, err := attest.Of(v)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(s)
	if err != nil {
		return err
	}
	line, err := envelope.Verdicts.Sign(ctx, payload, j.key)
	if err != nil {
		return err
	}
	return j.add(ctx, attest.Ref, v.Commit, line)
}

// signingKey is the host's signing key for verdicts in a repository, made if missing. The
// launch lock keeps a second judge from making another.
func signingKey(bare string) (ssh.Signer, error) {
	path, public := filepath.Join(bare, attest.KeyFile), filepath.Join(bare, attest.PublicFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return nil, err
		}
		block, err := ssh.MarshalPrivateKey(key, "the verdicts of Ward")
		if err != nil {
			return nil, err
		}
		data = pem.EncodeToMemory(block)
		if err := atomicfile.WritePrivate(path, data, 0o600); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(data)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s: %w", path, err), "put back the key, or make one without a passphrase: ssh-keygen -t ed25519 -N '' -f %s", path)
	}
	// Earlier keys stay, for what they signed.
	known, err := os.ReadFile(public)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	keys, err := envelope.PublicKeys(known)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s: %w", public, err), "its lines are public keys, as ssh-keygen writes them")
	}
	for _, k := range keys {
		if string(k.Marshal()) == string(key.PublicKey().Marshal()) {
			return key, nil
		}
	}
	return key, atomicfile.Write(public, append(known, ssh.MarshalAuthorizedKey(key.PublicKey())...), 0o644)
}
