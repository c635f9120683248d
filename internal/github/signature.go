package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// SignatureHeader is the one header whose signature counts. The older SHA-1 header is never looked at.
const SignatureHeader = "X-Hub-Signature-256"

// Verify checks the signature of a webhook's body: header holds all values of SignatureHeader, of which there must be
// exactly one, made with any of the secrets. An empty secret matches nothing. The error is ErrDenied; it says what is
// wrong with the header's shape, never what was expected.
func Verify(secrets [][]byte, body []byte, header []string) error {
	if len(header) != 1 {
		return fmt.Errorf("%d values of %s, want one: %w", len(header), SignatureHeader, loop.ErrDenied)
	}
	digits, ok := strings.CutPrefix(header[0], "sha256=")
	got, err := hex.DecodeString(digits)
	if !ok || err != nil || len(got) != sha256.Size {
		return fmt.Errorf("%s is not sha256= and 64 hexadecimal digits: %w", SignatureHeader, loop.ErrDenied)
	}
	matched := false
	for _, secret := range secrets {
		if len(secret) > 0 && hmac.Equal(got, sum(secret, body)) {
			matched = true // the others are tried all the same: the time says nothing about which
		}
	}
	if !matched {
		return fmt.Errorf("signature matches no configured secret: %w", loop.ErrDenied)
	}
	return nil
}

// Sign returns the value of SignatureHeader for a body, as GitHub makes it.
func Sign(secret, body []byte) string { return "sha256=" + hex.EncodeToString(sum(secret, body)) }

func sum(secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return mac.Sum(nil)
}
