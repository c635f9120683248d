package unixsock

import "golang.org/x/sys/unix"

// pathLimit is the longest path of a socket: sun_path has 108 bytes and the last one is zero.
const pathLimit = 107

func peerOf(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
