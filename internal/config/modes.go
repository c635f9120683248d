package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	readable = 0o044 // by the group or by others
	writable = 0o022
)

// exposures warns of what other people of this machine could read or change: the configuration decides which programs run.
func exposures(file string, cfg Config) []Warning {
	var ws []Warning
	if mode := modeOf(file); mode&writable != 0 {
		ws = append(ws, Warning{Msg: fmt.Sprintf("others can write %s (mode %04o), and so decide which programs run: chmod 600 %[1]s",
			file, mode.Perm())})
	}
	folder := filepath.Dir(file)
	if mode := modeOf(folder); mode&writable != 0 && mode&fs.ModeSticky == 0 {
		ws = append(ws, Warning{Msg: fmt.Sprintf("others can write the folder %s (mode %04o), and so replace the configuration in it: "+
			"chmod go-w %[1]s", folder, mode.Perm())})
	}
	secret := cfg.Webhook.SecretFile
	if mode := modeOf(secret); cfg.Webhook.Enabled && mode&readable != 0 {
		ws = append(ws, Warning{"webhook.secret_file", fmt.Sprintf("others can read %s (mode %04o), and with the secret sign deliveries: "+
			"chmod 600 %[1]s", secret, mode.Perm())})
	}
	r := cfg.Routing
	for _, t := range []struct{ key, file string }{
		{"routing.prompt_template", r.PromptTemplate}, {"routing.spawn_prompt_template", r.SpawnPromptTemplate},
	} {
		if mode := modeOf(t.file); mode&writable != 0 {
			ws = append(ws, Warning{t.key, fmt.Sprintf("others can write %s (mode %04o), and so tell agents what to do: chmod go-w %[1]s",
				t.file, mode.Perm())})
		}
	}
	return ws
}

// modeOf is 0 where there is nothing.
func modeOf(file string) fs.FileMode {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Mode()
}
