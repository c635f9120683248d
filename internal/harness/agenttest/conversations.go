package agenttest

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// conversations is a folder with a file for each, a quoted prompt a line. Without a folder, which is "", there is every
// conversation that is asked for.
type conversations string

// know reports whether there is a conversation; wanted is what it says without a folder.
func (dir conversations) know(id string, wanted bool) (bool, error) {
	if dir == "" {
		return wanted, nil
	}
	said, err := dir.read(id)
	return said != "", err
}

// add adds a prompt to a conversation and returns how many it has now.
func (dir conversations) add(id, prompt string) (turn int, err error) {
	if dir == "" {
		return 1, nil
	}
	said, err := dir.read(id)
	if err != nil {
		return 0, err
	}
	folder, err := os.OpenRoot(string(dir))
	if err != nil {
		return 0, err
	}
	defer folder.Close() //nolint:errcheck // a folder that was only looked into
	said += strconv.Quote(prompt) + "\n"
	return strings.Count(said, "\n"), folder.WriteFile(id, []byte(said), 0o600)
}

func (dir conversations) read(id string) (string, error) {
	folder, err := os.OpenRoot(string(dir))
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // a folder that was only looked into
	said, err := folder.ReadFile(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(said), err
}
