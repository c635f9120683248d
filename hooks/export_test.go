package hooks

// The laws are tried on texts, which is many times faster than on files.

// Merge is what Install does to a text.
func (f Fragment) Merge(text []byte) ([]byte, error) { return f.merge(text) }

// Strip is what Uninstall does to one.
func Strip(text []byte) ([]byte, error) {
	rest, _, err := strip(text)
	return rest, err
}

// Calls finds the loopctl that a command calls.
var Calls = calls
