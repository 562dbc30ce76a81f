package setup

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"git-ward/internal/diag"
	"git-ward/sandbox/forge/client"
	"git-ward/sandbox/gateway"
)

// Hook is the webhook that a guarded repository wants on its forge. A mark in its URL says which
// repository's it is, and which URL and secret it was made with: no forge shows a secret again, so
// that a webhook with another mark is replaced, and one with the same stays.
type Hook struct {
	Of     string // the repository: the first commit of its control branch
	To     string // the URL where the forge sends it; "" wants none
	Listen string // where `git ward forge` hears it
	Secret gateway.Key
}

// markName is the name of the mark in the URL's query, which whoever hears the webhook ignores.
const markName = "ward"

// whose begins the marks of all webhooks of this repository.
func (h Hook) whose() string { return h.Of[:16] + "." }

func (h Hook) mark() string {
	mac := hmac.New(sha256.New, []byte(h.Secret.Reveal()))
	mac.Write([]byte(h.To))
	return h.whose() + hex.EncodeToString(mac.Sum(nil)[:4])
}

// marked is the URL with the mark.
func (h Hook) marked() string {
	to, _, _ := strings.Cut(h.To, "#")
	join := "?"
	if strings.Contains(to, "?") {
		join = "&"
	}
	return to + join + markName + "=" + h.mark()
}

// markOf is the mark of a webhook's URL.
func markOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Query().Get(markName)
}

// usable reports what is wrong with a wanted webhook before the forge is asked.
func (h Hook) usable() error {
	u, err := url.Parse(h.To)
	switch {
	case err == nil && u.User != nil:
		return errors.New("[forge] webhook_url has a user name or password in it; leave it out")
	case err != nil || u.Host == "": // whose words may have a password
		return errors.New("[forge] webhook_url is no URL, as https://ward.example.org/ is")
	case u.Query().Has(markName):
		return fmt.Errorf("[forge] webhook_url has a value %q in its query, which is Ward's mark", markName)
	case u.Scheme != "https" && (u.Scheme != "http" || !gateway.IsLoopback(u.Hostname())):
		return diag.Hint(fmt.Errorf("[forge] webhook_url is %q: what the forge sends would not be encrypted", h.To), "let a proxy with TLS take it, at a URL that begins with https://")
	case h.Listen == "":
		return diag.Hint(fmt.Errorf("nobody hears what the forge sends to %s", h.To), "git ward config forge.webhook=127.0.0.1:PORT, on the host")
	case h.Secret.IsZero():
		return diag.Hint(errors.New("there is no secret for the webhook"), "git ward init --forge again makes one")
	}
	return nil
}

// Agree has the forge have this webhook once, or none where none is wanted, and says what it did.
// It leaves all webhooks alone that are not of this repository.
func (h Hook) Agree(ctx context.Context, f client.Forge) (did string, err error) {
	if h.To != "" {
		if err := h.usable(); err != nil {
			return "", err
		}
	}
	there, stale, err := h.find(ctx, f)
	if err != nil {
		return "", err
	}
	for _, old := range stale {
		if err := f.RemoveHook(ctx, old.ID); err != nil {
			return "", err
		}
	}
	if len(stale) > 0 { // GitHub says of a webhook that the token may not remove that there is none
		switch _, left, err := h.find(ctx, f); {
		case err != nil:
			return "", err
		case len(left) > 0:
			return "", diag.Hint(errors.New("the forge still has a webhook of this repository that was to be removed"),
				"give the token the right to remove webhooks, or remove it on the forge's page: its URL has %s=%s", markName, h.whose())
		}
	}
	switch {
	case there:
		return "was there", nil
	case h.To != "":
		return "is made", f.AddHook(ctx, h.marked(), h.Secret)
	case len(stale) > 0:
		return "is removed", nil
	}
	return "", nil
}

// find looks for the webhook, and for older ones of this repository.
func (h Hook) find(ctx context.Context, f client.Forge) (there bool, stale []client.Hook, err error) {
	all, err := f.Hooks(ctx)
	for _, one := range all {
		mark := markOf(one.URL)
		switch {
		case !strings.HasPrefix(mark, h.whose()):
		case h.To != "" && mark == h.mark() && one.Active && !there:
			there = true
		default:
			stale = append(stale, one)
		}
	}
	return there, stale, err
}

// SecretFile is where the webhook's secret is kept where [forge] webhook_secret_file names no
// other place: beside the token.
func SecretFile(tokenFile string) string { return strings.TrimSuffix(tokenFile, ".token") + ".webhook" }

// Secret is the secret that a file has, which is made where there is none.
func Secret(file string) (gateway.Key, error) {
	key, err := Kept(file)
	if err != nil || !key.IsZero() {
		return key, err
	}
	if key, err = gateway.NewKey(rand.Text()); err == nil {
		err = Keep(file, key)
	}
	return key, err
}
