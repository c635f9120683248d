package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Getenv looks up a variable of the environment, "" where it is not set. os.Getenv is one.
type Getenv = func(string) string

// Place is where the configuration file is looked for.
type Place struct {
	File  string // absolute
	Named bool   // a person named it, so it must exist
}

// Path finds the place of the configuration file: the flag's value, else $LOOP_CONFIG, else loop/loop.toml in
// $XDG_CONFIG_HOME or ~/.config. It never looks in the current folder on its own: the file decides what programs run.
func Path(flag string, getenv Getenv) (Place, error) {
	for _, file := range []string{flag, getenv("LOOP_CONFIG")} {
		if file == "" {
			continue
		}
		abs, err := filepath.Abs(file)
		if err != nil {
			return Place{}, fmt.Errorf("find configuration %s: %w", file, err)
		}
		return Place{File: abs, Named: true}, nil
	}
	dir, err := baseDir(getenv, "XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Place{}, fmt.Errorf("find configuration: %w: name the file with --config", err)
	}
	return Place{File: filepath.Join(dir, "loop", "loop.toml")}, nil
}

// Loaded is a configuration together with where it came from.
type Loaded struct {
	Place
	Config   Config
	Warnings []Warning
	Missing  bool // there is no file and none was named: these are the defaults, which a daemon should say

	tried digest // of what was read; zero for no file
}

// Load reads the configuration at a place. A file that was named and does not exist is an error, like every problem in it;
// the caller ends with exit code 2.
func Load(place Place, getenv Getenv) (Loaded, error) {
	data, err := os.ReadFile(place.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !place.Named:
		cfg := Default()
		return Loaded{Place: place, Config: cfg, Warnings: warnings(cfg), Missing: true}, nil
	case err != nil:
		return Loaded{}, unreadable(place, err)
	}
	cfg, warns, err := Decode(data, place.File, getenv("HOME"))
	if err != nil {
		return Loaded{}, err
	}
	warns = append(warns, exposures(place.File, cfg)...)
	return Loaded{Place: place, Config: cfg, Warnings: warns, tried: digestOf(data)}, nil
}

// digest tells one content of the file from another. The zero digest is that of no file.
type digest [sha256.Size]byte

func digestOf(data []byte) digest { return sha256.Sum256(data) }
