package github_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

// The pair that GitHub publishes for receivers to check themselves with.
const (
	knownSecret    = "It's a Secret to Everybody"
	knownBody      = "Hello, World!"
	knownSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	upper := "sha256=" + strings.ToUpper(strings.TrimPrefix(knownSignature, "sha256="))
	for _, tc := range []struct {
		name    string
		secrets []string
		header  []string
		ok      bool
	}{
		{"the published pair", []string{knownSecret}, []string{knownSignature}, true},
		{"upper-case digits", []string{knownSecret}, []string{upper}, true},
		{"the new secret while the old one is valid", []string{"old", knownSecret}, []string{knownSignature}, true},
		{"the old secret while the new one is valid", []string{knownSecret, "new"}, []string{knownSignature}, true},
		{"another secret", []string{"other"}, []string{knownSignature}, false},
		{"no secret", nil, []string{knownSignature}, false},
		{"an empty secret signs nothing", []string{""}, []string{github.Sign(nil, []byte(knownBody))}, false},
		{"no header", []string{knownSecret}, nil, false},
		{"an empty header", []string{knownSecret}, []string{""}, false},
		{"two headers", []string{knownSecret}, []string{knownSignature, knownSignature}, false},
		{"a list in one header", []string{knownSecret}, []string{knownSignature + "," + knownSignature}, false},
		{"bare digits", []string{knownSecret}, []string{strings.TrimPrefix(knownSignature, "sha256=")}, false},
		{"upper-case prefix", []string{knownSecret}, []string{"SHA256=" + strings.TrimPrefix(knownSignature, "sha256=")}, false},
		{"space", []string{knownSecret}, []string{" " + knownSignature}, false},
		{"short", []string{knownSecret}, []string{knownSignature[:len(knownSignature)-2]}, false},
		{"long", []string{knownSecret}, []string{knownSignature + "00"}, false},
		{"the prefix alone", []string{knownSecret}, []string{"sha256="}, false},
		{"no digits", []string{knownSecret}, []string{"sha256=" + strings.Repeat("z", 64)}, false},
		{"one digit changed", []string{knownSecret}, []string{knownSignature[:len(knownSignature)-1] + "8"}, false},
		{"a good SHA-1", []string{knownSecret}, []string{sha1Signature()}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var secrets [][]byte
			for _, s := range tc.secrets {
				secrets = append(secrets, []byte(s))
			}
			err := github.Verify(secrets, []byte(knownBody), tc.header)
			if tc.ok != (err == nil) || err != nil && !errors.Is(err, loop.ErrDenied) {
				t.Fatalf("Verify(%q) = %v, want ok %v", tc.header, err, tc.ok)
			}
			if err != nil && (strings.Contains(err.Error(), "757107ea") || strings.Contains(err.Error(), "Everybody")) {
				t.Errorf("the error says what was expected: %v", err)
			}
		})
	}
}

func TestVerifyLooksAtTheBytesAsTheyCame(t *testing.T) {
	t.Parallel()
	secrets := [][]byte{[]byte("s")}
	body := []byte("{ \"a\" :\t1.0e0, \"b\": \"\\u00e9 \xf0\x9f\x98\x80\" }\n")
	header := []string{github.Sign(secrets[0], body)}
	if err := github.Verify(secrets, body, header); err != nil {
		t.Error(err)
	}
	if err := github.Verify(secrets, append(body, ' '), header); err == nil {
		t.Error("a body with one more byte is accepted")
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(knownBody), knownSignature)
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		err := github.Verify([][]byte{[]byte(knownSecret)}, body, []string{header})
		if good := strings.EqualFold(header, github.Sign([]byte(knownSecret), body)) && strings.HasPrefix(header, "sha256="); good != (err == nil) {
			t.Fatalf("Verify(%q, %q) = %v", body, header, err)
		}
	})
}

func sha1Signature() string {
	mac := hmac.New(sha1.New, []byte(knownSecret))
	mac.Write([]byte(knownBody))
	return "sha1=" + hex.EncodeToString(mac.Sum(nil))
}
