package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// read returns the file's bytes, if nobody else can have written them.
func (f *LastGoodFile) read() ([]byte, error) {
	data, info, err := readRegular(f.path, maxTotal*2, syscall.O_NOFOLLOW) // in JSON it is a third larger
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link: name the file itself", f.path)
	}
	if err != nil {
		return nil, err
	}
	f.last = info
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return data, nil // no such thing as an owner
	}
	groups, err := os.Getgroups()
	if err != nil {
		return nil, fmt.Errorf("find out which groups this program is in: %w", err)
	}
	return data, f.trust(info.Mode().Perm(), int(stat.Uid), int(stat.Gid), os.Geteuid(), append(groups, os.Getegid()))
}

// trust says why a file of this mode and owner isn't believed by a process of this user
// and these groups.
func (f *LastGoodFile) trust(mode fs.FileMode, owner, group, user int, groups []int) error {
	const remedy = "remove the file, or see who wrote it and chmod 600"
	own := slices.Contains(groups, group)
	switch {
	case owner != user && owner != 0:
		return fmt.Errorf("%s isn't believed: it belongs to user %d, and this program runs as %d; %s", f.path, owner, user, remedy)
	case mode&0o002 != 0:
		return fmt.Errorf("%s isn't believed: anybody may write it (mode %04o); %s", f.path, mode, remedy)
	case mode&0o020 != 0 && !own:
		return fmt.Errorf("%s isn't believed: group %d may write it (mode %04o); %s", f.path, group, mode, remedy)
	case mode&0o020 != 0:
		f.warn(fmt.Errorf("everybody in group %d may write the last good predicates in %s (mode %04o), and so decide when operations end", group, f.path, mode))
	}
	return nil
}
