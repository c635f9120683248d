package proc

import (
	"bytes"
	"encoding/binary"
)

// procargsHasEnv looks for an entry in the environment part of what macOS answers to kern.procargs2: the number of arguments
// as four bytes, the program's path, padding, the arguments, the environment, each ended by a zero byte.
func procargsHasEnv(b []byte, entry string) bool {
	if len(b) < 4 {
		return false
	}
	argc := binary.NativeEndian.Uint32(b)
	_, rest, ok := bytes.Cut(b[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for ; ok && argc > 0; argc-- {
		_, rest, ok = bytes.Cut(rest, []byte{0})
	}
	for have := range bytes.SplitSeq(rest, []byte{0}) {
		if ok && string(have) == entry {
			return true
		}
	}
	return false
}
