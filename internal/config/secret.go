package config

import (
	"bytes"
	"fmt"
	"slices"
)

const secretRemedy = "put the secret there that GitHub has too (`openssl rand -hex 32` makes one), or set webhook.enabled = false"

// Secrets reads the webhook's secrets, several of which may be valid at once while one replaces the other: one a line in
// webhook.secret_file, where that is set, else in the variable that webhook.secret_env names. Blank lines and the space
// around a secret do not count. Without any secret it is an error, unless the webhook is off or takes unsigned deliveries.
func Secrets(cfg Config, getenv Getenv, readFile func(string) ([]byte, error)) ([][]byte, error) {
	w := cfg.Webhook
	if !w.Enabled {
		return nil, nil
	}
	key, source, lines := "webhook.secret_env", "$"+w.SecretEnv, []byte(getenv(w.SecretEnv))
	if w.SecretFile != "" {
		key, source = "webhook.secret_file", w.SecretFile
		var err error
		if lines, err = readFile(w.SecretFile); err != nil {
			return nil, &Error{Key: key, Msg: fmt.Sprintf("%v: %s", err, secretRemedy)}
		}
	}
	var secrets [][]byte
	for line := range bytes.Lines(lines) {
		secret := bytes.TrimSpace(line)
		known := slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Equal(s, secret) })
		if len(secret) > 0 && !known {
			secrets = append(secrets, secret)
		}
	}
	if len(secrets) == 0 && !(w.AllowUnsigned && w.Loopback()) {
		return nil, &Error{Key: key, Msg: fmt.Sprintf("no webhook secret in %s: %s", source, secretRemedy)}
	}
	return secrets, nil
}
