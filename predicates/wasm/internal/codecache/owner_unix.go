//go:build unix

package codecache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted returns why what the file holds isn't to be believed, nil if it is.
func trusted(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch me := os.Geteuid(); {
	case !ok:
		return fmt.Errorf("whose it is isn't known")
	case stat.Uid != 0 && int(stat.Uid) != me:
		return fmt.Errorf("it belongs to user %d, not to user %d or root; name a directory that isn't there yet", stat.Uid, me)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("its mode is %04o, so others can write it and decide what runs here; name a directory in it that isn't there yet, or take the right away (chmod go-w)", info.Mode().Perm())
	}
	return nil
}

// trustedPlace returns why what lies in the directory may be replaced by others, nil if
// it can't be. Where all may write, as among temporary files, the sticky bit keeps each
// user's from the others.
func trustedPlace(dir fs.FileInfo) error {
	if stat, ok := dir.Sys().(*syscall.Stat_t); ok && dir.Mode()&fs.ModeSticky != 0 && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid()) {
		return nil
	}
	return trusted(dir)
}
