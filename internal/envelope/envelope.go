// Package envelope signs a payload with an ssh key, in a DSSE envelope that is one line, and
// verifies one. The signatures are those of ssh-keygen(1), -Y.
package envelope

import (
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hiddeco/sshsig"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/crypto/ssh"
)

// MaxSize bounds one envelope, in bytes.
const MaxSize = 256 << 10

// Use says what a signature is for: the payload's type, and the ssh namespace, so that the
// signature counts for nothing else.
type Use struct{ PayloadType, Namespace string }

// Verdicts is the Use of a host's verdicts: in-toto statements, in the namespace for
// ssh-keygen(1) -n.
var Verdicts = Use{PayloadType: "application/vnd.in-toto+json", Namespace: "ward-verdict"}

// Sign returns the signed envelope of a payload, on one line.
func (u Use) Sign(ctx context.Context, payload []byte, key ssh.Signer) ([]byte, error) {
	s, err := dsse.NewEnvelopeSigner(signer{u, key})
	if err != nil {
		return nil, err
	}
	e, err := s.SignPayload(ctx, u.PayloadType, payload)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(e)
	if err == nil && len(line) > MaxSize {
		err = fmt.Errorf("the envelope has %d bytes, more than %d", len(line), MaxSize)
	}
	return line, err
}

// Verify returns the payload of an envelope that one of the keys signed for this use.
// Otherwise the error says what does not hold.
func (u Use) Verify(ctx context.Context, line []byte, keys []ssh.PublicKey) (payload []byte, err error) {
	if len(line) > MaxSize {
		return nil, fmt.Errorf("an envelope of more than %d bytes", MaxSize)
	}
	var e dsse.Envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("no envelope: %w", err)
	}
	if e.PayloadType != u.PayloadType {
		return nil, fmt.Errorf("the payload is %.60q, and not %s", e.PayloadType, u.PayloadType)
	}
	var all []dsse.Verifier
	for _, key := range keys {
		all = append(all, verifier{u, key})
	}
	if len(all) == 0 {
		return nil, errors.New("no key is known to verify it with")
	}
	v, err := dsse.NewEnvelopeVerifier(all...)
	if err != nil {
		return nil, err
	}
	if _, err := v.Verify(ctx, &e); err != nil {
		return nil, errors.New("no known key signed it")
	}
	return e.DecodeB64Payload()
}

type signer struct {
	Use
	key ssh.Signer
}

func (s signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	sig, err := sshsig.Sign(bytes.NewReader(data), s.key, sshsig.HashSHA512, s.Namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(sig), nil
}

func (s signer) KeyID() (string, error) { return ssh.FingerprintSHA256(s.key.PublicKey()), nil }

type verifier struct {
	Use
	key ssh.PublicKey
}

func (v verifier) Verify(_ context.Context, data, armored []byte) error {
	sig, err := sshsig.Unarmor(armored)
	if err != nil {
		return err
	}
	return sshsig.Verify(bytes.NewReader(data), sig, v.key, sig.HashAlgorithm, v.Namespace)
}

func (v verifier) KeyID() (string, error) { return ssh.FingerprintSHA256(v.key), nil }

func (v verifier) Public() crypto.PublicKey {
	if key, ok := v.key.(ssh.CryptoPublicKey); ok {
		return key.CryptoPublicKey()
	}
	return nil
}

// PublicKeys reads public keys, a line each, as ssh-keygen writes them.
func PublicKeys(data []byte) (keys []ssh.PublicKey, err error) {
	for len(bytes.TrimSpace(data)) > 0 {
		key, _, _, rest, bad := ssh.ParseAuthorizedKey(data)
		if bad != nil {
			return keys, errors.New("a line is no public key")
		}
		keys, data = append(keys, key), rest
	}
	return keys, nil
}
