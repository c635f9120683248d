package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// configs is the noun.
type configs struct {
	Check checkConfig `cmd:"" help:"Read the configuration as loopd would, and report every problem."`
	Show  showConfig  `cmd:"" help:"Print every key with the value that holds."`
	Path  pathConfig  `cmd:"" help:"Print which file is read."`
}

type checkConfig struct{}

// Help is shown below the flags.
func (checkConfig) Help() string {
	return `
The exit code is 2 when there is a problem. Warnings do not change it.

Example:

  loopctl config check --config ./loop.toml
`
}

type problemShape struct {
	File    *string `json:"file"`
	Line    *int    `json:"line"`
	Column  *int    `json:"column"`
	Key     *string `json:"key"`
	Message string  `json:"message"`
}

// Run checks the configuration.
func (checkConfig) Run(out *printer, flags globals, who caller) error {
	place, err := config.Path(flags.ConfigFile, who.getenv)
	if err != nil {
		return err
	}
	loaded, loadErr := config.Load(place, who.getenv)
	if loadErr == nil {
		loaded.Warnings = append(loaded.Warnings, secretWarnings(loaded.Config, who)...)
		loaded.Warnings = append(loaded.Warnings, notifyWarnings(loaded.Config, who)...)
	}
	if out.json {
		return errors.Join(reportCheck(out, place, loaded.Warnings, loadErr), loadErr)
	}
	if loadErr != nil {
		return loadErr
	}
	for _, w := range loaded.Warnings {
		out.warn(w.String())
	}
	if loaded.Missing {
		return out.line("there is no %s: the defaults hold", place.File)
	}
	return out.line("%s is right", place.File)
}

// secretWarnings tells of a secret that loopd would miss if it were started from here. A service may have another environment
// and folders of its own, so it is no error.
func secretWarnings(cfg config.Config, who caller) []config.Warning {
	_, err := config.Secrets(cfg, who.getenv, os.ReadFile)
	if missing, ok := errors.AsType[*config.Error](err); ok {
		return []config.Warning{{Key: missing.Key, Msg: "a loopd that is started here would refuse to start: " + missing.Msg}}
	}
	return nil
}

// notifyWarnings tells of a program that notifies and is not to be found from here.
func notifyWarnings(cfg config.Config, who caller) []config.Warning {
	if len(cfg.Notify.Command) == 0 {
		return nil
	}
	if _, err := proc.LookPath(cfg.Notify.Command[0], []string{"PATH=" + who.getenv("PATH")}); err != nil {
		return []config.Warning{{Key: "notify.command", Msg: "nobody would be told of anything: " + err.Error()}}
	}
	return nil
}

func reportCheck(out *printer, place config.Place, warnings []config.Warning, loadErr error) error {
	shape := struct {
		File     string         `json:"file"`
		Valid    bool           `json:"valid"`
		Problems []problemShape `json:"problems"`
		Warnings []problemShape `json:"warnings"`
	}{place.File, loadErr == nil, problemsOf(loadErr), []problemShape{}}
	for _, w := range warnings {
		shape.Warnings = append(shape.Warnings, problemShape{Key: orNull(w.Key), Message: w.Msg})
	}
	return out.printJSON(shape, "  ")
}

// problemsOf takes a joined error apart.
func problemsOf(err error) []problemShape {
	shapes := []problemShape{}
	joined, ok := err.(interface{ Unwrap() []error })
	errs := []error{err}
	if ok {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		if p, ok := errors.AsType[*config.Error](err); ok {
			shapes = append(shapes, problemShape{orNull(p.File), orZero(p.Line), orZero(p.Column), orNull(p.Key), p.Msg})
		} else if err != nil {
			shapes = append(shapes, problemShape{Message: err.Error()})
		}
	}
	return shapes
}

func orZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

type showConfig struct{}

// Help is shown below the flags.
func (showConfig) Help() string {
	return `
The values of harness environments are masked. This is what the file says now: the status tells whether loopd took it.
`
}

// Run prints the configuration.
func (showConfig) Run(out *printer, flags globals, who caller) error {
	place, err := config.Path(flags.ConfigFile, who.getenv)
	if err != nil {
		return err
	}
	loaded, err := config.Load(place, who.getenv)
	if err != nil {
		return err
	}
	shown := loaded.Config.Redacted()
	if !out.json {
		return out.write(safeText(string(config.Render(shown))))
	}
	tree, err := config.Tree(shown)
	if err != nil {
		return fmt.Errorf("show %s: %w", place.File, err)
	}
	return out.printJSON(tree, "  ")
}

type pathConfig struct{}

// Run prints the path.
func (pathConfig) Run(out *printer, flags globals, who caller) error {
	place, err := config.Path(flags.ConfigFile, who.getenv)
	if err != nil {
		return err
	}
	_, statErr := os.Stat(place.File)
	if out.json {
		return out.printJSON(struct {
			File   string `json:"file"`
			Exists bool   `json:"exists"`
		}{place.File, statErr == nil}, "  ")
	}
	if err := out.line("%s", place.File); err != nil {
		return err
	}
	if statErr != nil {
		out.note("there is no such file: the defaults hold")
	}
	return nil
}
