package proc

import (
	"bytes"
	"encoding/binary"
)

// What macOS answers to kern.procargs2: the number of arguments as four bytes, the program's path, padding, the arguments, the
// environment, each ended by a zero byte.

// procargsHasEnv looks for an entry in the environment.
func procargsHasEnv(b []byte, entry string) bool {
	_, environ := procargs(b)
	for have := range bytes.SplitSeq(environ, []byte{0}) {
		if string(have) == entry {
			return true
		}
	}
	return false
}

// procargs takes it apart.
func procargs(b []byte) (args []string, environ []byte) {
	if len(b) < 4 {
		return nil, nil
	}
	argc := binary.NativeEndian.Uint32(b)
	_, rest, ok := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for ; ok && argc > 0; argc-- {
		var arg []byte
		arg, rest, ok = bytes.Cut(rest, []byte{0})
		args = append(args, string(arg))
	}
	if !ok {
		return args, nil
	}
	return args, rest
}
