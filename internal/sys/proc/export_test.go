package proc

import "time"

// ProcargsHasEnv and Procargs let the tests reach what only macOS uses.
var (
	ProcargsHasEnv = procargsHasEnv
	Procargs       = procargs
)

// ReadLate is what Run gets of the text that a program wrote, when the time to read it is over before the reading begins, and
// another process keeps the pipe open.
func ReadLate(text string) (string, error) {
	p, err := openPlumbing(Cmd{StdoutLimit: len(text) + 1})
	if err != nil {
		return "", err
	}
	defer p.closeChildEnds()
	if _, err := p.stdout.child.WriteString(text); err != nil {
		return "", err
	}
	if err := p.stdout.ours.SetDeadline(time.Now()); err != nil {
		return "", err
	}
	p.flow(nil)
	p.drain(0)
	return string(p.out.kept), nil
}
