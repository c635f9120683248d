package config

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Locate reads of the configuration at a place what tells where its daemon is, for [Sockets] and [Config.Folders]:
// daemon.socket and daemon.state_dir. All else is as in [Default]. Mistakes in other keys are no error here, because the
// daemon goes on with the last good configuration, and a client must reach it there. A mistake about these two is one, and
// so is a file that is no TOML, or that was named and does not exist.
func Locate(place Place, getenv Getenv) (Config, error) {
	data, err := os.ReadFile(place.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !place.Named:
		return Default(), nil
	case err != nil:
		return Config{}, unreadable(place, err)
	}
	d := decoder{problems: problems{file: place.File}, home: getenv("HOME")}
	doc, err := d.parse(data)
	if err != nil {
		return Config{}, err
	}
	whole, cfg := Default(), Default()
	d.table("", doc, reflect.ValueOf(&whole).Elem())
	d.list = slices.DeleteFunc(d.list, func(e *Error) bool { return !aboutPlace(e.Key) })
	cfg.Daemon.Socket, cfg.Daemon.StateDir = whole.Daemon.Socket, whole.Daemon.StateDir
	return cfg, d.err()
}

// aboutPlace tells whether a mistake in key may have been meant to say where the daemon is.
func aboutPlace(key string) bool {
	table, _, _ := strings.Cut(key, ".")
	return nearest(table, fieldsNamed([]string{"daemon"})) != "" && !strings.HasPrefix(key, "daemon.log_")
}

// unreadable is the error of a file that cannot be read.
func unreadable(place Place, err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{File: place.File, Msg: "there is no such file (it was named with --config or $LOOP_CONFIG)"}
	default:
		return &Error{File: place.File, Msg: "it cannot be read: " + reason(err)}
	}
}

// reason is an error without the name of the file, which the message has already.
func reason(err error) string {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err.Error()
	}
	return err.Error()
}
