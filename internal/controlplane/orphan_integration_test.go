//go:build integration

package controlplane_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/donewhen/donewhen/internal/controlplane"
)

// These make the test binary start a server, print where it is, and wait to be killed.
const (
	starterEnv  = "CONTROLPLANE_TEST_STARTER"
	detachedEnv = "CONTROLPLANE_TEST_DETACHED"
)

// started is what a starter prints about its server.
type started struct{ url, dir, pid string }

func TestOrphanedServerStopsAndRemovesItsDirectory(t *testing.T) {
	beStarter(t)
	server := startAndKillStarter(t)
	eventually(t, "the orphaned server ends", func() error {
		if _, err := os.Stat(server.dir); err == nil {
			return fmt.Errorf("%s is still there", server.dir)
		}
		return refuses(server.url)
	})
}

func TestDetachedServerGoesOn(t *testing.T) {
	beStarter(t)
	server := startAndKillStarter(t, detachedEnv+"="+t.TempDir())
	cfg, err := controlplane.LoadConfig(controlplane.KubeconfigIn(server.dir, controlplane.Admin))
	if err == nil {
		err = createConfigMap(t.Context(), clientFor(t, cfg), "default", "x")
	}
	if err != nil {
		t.Errorf("after the end of its starter: %v", err)
	}
	pid, err := strconv.Atoi(server.pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It holds its lock as long as it lives. A process id would not do: nobody may collect an orphan's.
	lock, err := os.Open(filepath.Join(server.dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	eventually(t, "the server ends", func() error {
		return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	})
}

func refuses(url string) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		return nil
	}
	conn.Close()
	return fmt.Errorf("%s still answers", url)
}

// beStarter doesn't return in a process that is a starter, unless the server fails.
func beStarter(t *testing.T) {
	t.Helper()
	program := os.Getenv(starterEnv)
	if program == "" {
		return
	}
	dir := os.Getenv(detachedEnv)
	server, err := controlplane.Start(context.Background(), controlplane.Options{Binary: program, Dir: dir, Detached: dir != ""})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("STARTED", server.URL(), server.Dir(), server.PID())
	<-server.Done() // never: this process is killed first
	t.FailNow()
}

func startAndKillStarter(t *testing.T, env ...string) started {
	t.Helper()
	starter := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	starter.Env = append(append(os.Environ(), starterEnv+"="+binary(t)), env...)
	starter.Stderr = os.Stderr
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for sc := bufio.NewScanner(out); len(fields) != 4 && sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "STARTED ") {
			fields = strings.Fields(sc.Text())
		}
	}
	killErr := starter.Process.Kill()
	_ = starter.Wait() // says that it was killed
	if killErr != nil || len(fields) != 4 {
		t.Fatalf("the starter said %q, kill: %v", fields, killErr)
	}
	return started{url: fields[1], dir: fields[2], pid: fields[3]}
}
