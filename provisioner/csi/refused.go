package csi

import (
	"errors"
	"syscall"
)

// refused reports whether nobody listens on the socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
