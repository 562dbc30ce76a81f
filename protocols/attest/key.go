package attest

import (
	"bytes"
	"context"
	"crypto"
	"errors"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// KeyFile is where the key is that a host signs verdicts with, below the repository's
// directory, and PublicFile its other half. Only the owner reads the first.
const (
	KeyFile    = "ward/verdict.key"
	PublicFile = "ward/verdict.pub"
)

// Namespace is what the signatures are for (ssh-keygen(1), -n).
const Namespace = "ward-verdict"

// signer gives DSSE signatures as ssh-keygen makes and verifies them.
type signer struct{ key ssh.Signer }

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	sig, err := sshsig.Sign(bytes.NewReader(data), s.key, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(sig), nil
}

func (s signer) KeyID() (string, error) { return ssh.FingerprintSHA256(s.key.PublicKey()), nil }

type verifier struct{ key ssh.PublicKey }

func (v verifier) Verify(_ context.Context, data, armored []byte) error {
	sig, err := sshsig.Unarmor(armored)
	if err != nil {
		return err
	}
	return sshsig.Verify(bytes.NewReader(data), sig, v.key, sig.HashAlgorithm, Namespace)
}

func (v verifier) KeyID() (string, error) { return ssh.FingerprintSHA256(v.key), nil }

func (v verifier) Public() crypto.PublicKey {
	if key, ok := v.key.(ssh.CryptoPublicKey); ok {
		return key.CryptoPublicKey()
	}
	return nil
}

// ParsePublic reads public keys, a line each, as ssh-keygen writes them.
func ParsePublic(data []byte) (keys []ssh.PublicKey, err error) {
	for len(bytes.TrimSpace(data)) > 0 {
		key, _, _, rest, bad := ssh.ParseAuthorizedKey(data)
		if bad != nil {
			return keys, errors.New("a line is no public key")
		}
		keys, data = append(keys, key), rest
	}
	return keys, nil
}
